// Sliders tell their value, work tells its progress; all else is links, forms and htmx.
"use strict";

function showValues(root) {
  root.querySelectorAll("input[type=range][data-shown]").forEach((slider) => {
    const shown = document.getElementById(slider.dataset.shown);
    if (shown) shown.textContent = Number(slider.value).toFixed(2);
  });
}

// Only the options that the chosen criterion and the columns' roles have.
function fitForm(form) {
  const criterion = form.elements.criterion.value;
  form.querySelectorAll("[data-for]").forEach((part) => {
    const fits = part.dataset.for.split(" ").includes(criterion);
    part.hidden = !fits;
    part.querySelectorAll("input").forEach((input) => { input.disabled = !fits; });
  });
}

// A listener keeps its job alive: when this tab closes, the job ends.
function listen(root) {
  const found = root.matches && root.matches("[data-events]") ? [root] : [];
  [...found, ...root.querySelectorAll("[data-events]")].forEach((part) => {
    if (part.dataset.heard) return;
    part.dataset.heard = "yes";
    const source = new EventSource(part.dataset.events);
    source.addEventListener("step", (event) => {
      if (!part.isConnected) { source.close(); return; }
      const progress = part.querySelector(".progress");
      progress.innerHTML = event.data;
      // A search that has found something can be stopped.
      const stop = part.querySelector("[data-stop]");
      if (stop && progress.querySelector(".search")) stop.hidden = false;
    });
    source.addEventListener("done", () => {
      source.close();
      if (part.getAttribute("hx-get")) htmx.trigger(part, "done");
      else location.reload();
    });
    const end = () => {
      source.close();
      part.querySelectorAll("form").forEach((form) => { form.hidden = true; });
    };
    source.addEventListener("end", end);
    // Cancel holds from the click on: what the work gives meanwhile is not shown.
    const cancel = part.querySelector("[data-cancel]");
    if (cancel) cancel.addEventListener("submit", () => {
      end();
      htmx.trigger(part, "htmx:abort");
    });
    document.addEventListener("htmx:beforeCleanupElement", (event) => {
      if (event.target === part) source.close();
    });
    // An answer to what was replaced meanwhile is of another setting: nothing is to be filled.
    part.addEventListener("htmx:beforeOnLoad", (event) => {
      if (!part.isConnected) event.preventDefault();
    });
  });
}

function checkSize(event) {
  const input = event.target;
  if (input.type !== "file" || !input.dataset.limit) return;
  const file = input.files[0];
  const note = document.getElementById("upload-note");
  const isLarge = file && file.size > Number(input.dataset.limit);
  input.setCustomValidity(isLarge ? input.dataset.tooLarge : "");
  note.textContent = isLarge ? input.dataset.tooLarge : "";
}

document.addEventListener("DOMContentLoaded", () => {
  showValues(document);
  listen(document);
  const form = document.getElementById("choices");
  if (form) {
    fitForm(form);
    form.addEventListener("change", () => fitForm(form));
    // A slider that was moved before this script had run.
    const moved = [...form.elements].some((e) => e.type === "range" && e.value !== e.defaultValue);
    if (moved) setTimeout(() => form.dispatchEvent(new Event("change", { bubbles: true })), 0);
  }
  document.addEventListener("input", () => showValues(document));
  document.addEventListener("change", checkSize);
  document.addEventListener("htmx:load", (event) => listen(event.target));
});

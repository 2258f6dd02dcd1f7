// The step Protection: stops, number, criterion and the points of the chart say the same limit.
"use strict";

(() => {
  const form = document.getElementById("setting");
  const { limit, criterion, epsilon } = form.elements;
  const stops = [...form.querySelectorAll("[name=stop]")];
  let former = "";

  function agree() {
    const isLimit = criterion.value === "";
    stops.forEach((stop) => { stop.checked = isLimit && Number(stop.value) === Number(limit.value); });
    const nats = document.getElementById("nats");
    const number = Math.log(Number(limit.value));
    nats.textContent = number > 0 ? `The limit of ${limit.value} times is ${number.toFixed(3)} nats on each side.` : "";
    nats.hidden = !isLimit;
    document.getElementById("in-force").hidden = isLimit;
    form.querySelectorAll("[data-nats]").forEach((part) => {
      part.hidden = isLimit;
      part.querySelectorAll("input").forEach((input) => { input.disabled = isLimit; });
    });
  }

  // Before the frame sends the form: what is set here is sent with it.
  form.addEventListener("change", (event) => {
    const field = event.target;
    if (field.name === "stop") limit.value = field.value;
    if (field.name === "confidence") form.querySelector("#sample").checked = true;  // of nothing else
    if (field.name === "stop" || field === limit) criterion.value = "";
    if (field === criterion && field.value !== "" && field.dataset.before === "") {
      const isSingle = ["lip", "ldp", "max-lift"].includes(field.value);
      epsilon.value = ((isSingle ? 1 : 2) * Math.log(Number(limit.value) || 2)).toFixed(4);
      former = limit.value;
      limit.value = "";  // it is not in force: no number of it is shown
    }
    if (field === criterion && field.value === "" && limit.value === "") limit.value = former || "2";
    criterion.dataset.before = criterion.value;
    agree();
  }, true);
  form.addEventListener("input", (event) => {
    if (event.target === limit) { criterion.value = ""; agree(); }
  }, true);

  // A point of the chart sets its limit here; without this script it is a link.
  form.addEventListener("click", (event) => {
    const point = event.target.closest && event.target.closest(".trade a[data-limit]");
    if (!point || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const field = criterion.value === "" ? limit : epsilon;
    field.value = point.dataset.limit;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  });

  form.addEventListener("click", (event) => {
    if (!event.target.closest("[data-alike]")) return;
    const normal = [...form.querySelectorAll("[name^='weight:'][value=normal]")];
    normal.forEach((radio) => { radio.checked = true; });
    if (!normal.length) return;
    normal[0].dispatchEvent(new Event("change", { bubbles: true }));
    normal[0].focus();  // the button goes
  });

  // Many weights are folded: the fold says those that are not normal, and has a filter.
  const fold = document.getElementById("weights-fold");
  if (fold) {
    form.addEventListener("change", () => {
      const chosen = [...fold.querySelectorAll("[name^='weight:']:checked:not([value=normal])")];
      const words = chosen.map((radio) => `${radio.name.slice("weight:".length)} ${radio.value}`);
      document.getElementById("weights-said").textContent = words.join(", ") || "all alike";
    });
    document.getElementById("filter-weights").addEventListener("input", (event) => {
      const word = event.target.value.trim().toLowerCase();
      const items = [...fold.querySelectorAll("[data-name]")];
      items.forEach((item) => { item.hidden = !item.dataset.name.toLowerCase().includes(word); });
      document.getElementById("no-weight").hidden = items.some((item) => !item.hidden);
    });
  }

  // Of more than four columns, rows before and after stand side by side where both fit. On a phone
  // one side is shown.
  const IS_PHONE = window.matchMedia("(max-width: 44rem)");
  function placeRows() {
    const pane = document.querySelector("#rows-part .pane:has(> template)");
    if (!pane) return;
    const now = pane.querySelector("table");
    if (now.classList.contains("stacked")) pane.stacked = now;
    if (!pane.stacked) return;
    const beside = pane.querySelector("template").content.firstElementChild.cloneNode(true);
    now.replaceWith(beside);
    if (IS_PHONE.matches || pane.scrollWidth > pane.clientWidth) beside.replaceWith(pane.stacked);
  }
  document.addEventListener("htmx:afterSwap", placeRows);
  window.addEventListener("resize", placeRows);

  // Which limits would help is known with the chart: the answer is asked for once more.
  document.addEventListener("htmx:afterSwap", () => {
    const chart = document.getElementById("trade-part");
    const isDrawn = chart.querySelector(".curve") && !chart.querySelector("[data-events]");
    const ways = document.querySelector("#answer:not([aria-busy]) .ways[data-pending]");
    if (!isDrawn || !ways) return;
    ways.removeAttribute("data-pending");
    htmx.trigger(form, "settled");
  });

  criterion.dataset.before = criterion.value;
  // A stop that was chosen before this script had run; the frame asks for its answer.
  const early = stops.find((stop) => stop.checked && !stop.defaultChecked);
  if (early) {
    limit.value = early.value;
    criterion.value = "";
  }
  agree();
})();

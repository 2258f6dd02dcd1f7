// The step Protection: stops, number, criterion and the points of the chart say the same limit.
"use strict";

(() => {
  const form = document.getElementById("setting");
  const { limit, criterion, epsilon } = form.elements;
  const stops = [...form.querySelectorAll("[name=stop]")];

  function agree() {
    const isLimit = criterion.value === "";
    stops.forEach((stop) => { stop.checked = isLimit && Number(stop.value) === Number(limit.value); });
    const nats = document.getElementById("nats");
    const number = Math.log(Number(limit.value));
    nats.textContent = number > 0 ? `The limit of ${limit.value} times is ${number.toFixed(3)} nats on each side.` : "";
    nats.hidden = !isLimit;
    form.querySelectorAll("[data-nats]").forEach((part) => {
      part.hidden = isLimit;
      part.querySelectorAll("input").forEach((input) => { input.disabled = isLimit; });
    });
  }

  // Before the frame sends the form: what is set here is sent with it.
  form.addEventListener("change", (event) => {
    const field = event.target;
    if (field.name === "stop") limit.value = field.value;
    if (field.name === "stop" || field === limit) criterion.value = "";
    if (field === criterion && field.value !== "" && field.dataset.before === "") {
      const isSingle = ["lip", "ldp", "max-lift"].includes(field.value);
      epsilon.value = ((isSingle ? 1 : 2) * Math.log(Number(limit.value) || 2)).toFixed(4);
    }
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
    if (normal.length) normal[0].dispatchEvent(new Event("change", { bubbles: true }));
  });

  // What a change would keep is known with the chart.
  document.addEventListener("htmx:afterSwap", () => {
    document.querySelectorAll(".ways a[data-limit]").forEach((way) => {
      const point = document.querySelector(`.trade a[data-limit="${CSS.escape(way.dataset.limit)}"]`);
      if (point && point.dataset.kept) way.lastElementChild.textContent = `keeps ${point.dataset.kept}`;
    });
  });

  criterion.dataset.before = criterion.value;
  agree();
})();

// Publish: a warning is settled when its safe choice is made; commands and addresses are copied.
"use strict";

// The button says by itself what the form would refuse: a box that is not ticked, or to wait.
const settle = () => {
  const draw = document.getElementById("draw");
  if (!draw) return;
  const isWaiting = Boolean(document.querySelector('#asks [name="ledger"][value="wait"]:checked'));
  const open = document.querySelectorAll("#asks .pick [required]:not(:checked)");
  draw.disabled = isWaiting || open.length > 0;
  for (const [id, isShown] of [["undecided", isWaiting], ["unticked", open.length > 0]]) {
    const hint = document.getElementById(id);
    if (hint) hint.hidden = !isShown;
  }
  leadTo(open);
};

// The hint's link leads to the first box that is not ticked, and says how many are left.
const leadTo = (open) => {
  if (!open.length) return;
  document.getElementById("first-open")?.removeAttribute("id");
  open[0].id = "first-open";
  document.querySelector("#unticked a").textContent = open.length === 1 ? "Tick the box" : "Tick the boxes";
};

document.addEventListener("change", (event) => {
  const ask = event.target.closest(".ask");
  if (!ask || !event.target.closest(".pick")) return;
  const safe = ask.querySelector("[data-safe]");
  if (safe) ask.classList.toggle("done", safe.checked);
  settle();
});
document.addEventListener("htmx:afterSwap", settle);
window.addEventListener("pageshow", settle);
settle();

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.previousElementSibling.textContent);
  button.textContent = "Copied";
});

// A second click while the first is on its way sends nothing.
document.addEventListener("submit", (event) => {
  if (event.target.id !== "publish") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  const form = document.getElementById("publish");
  if (form) delete form.dataset.sent;
});

// Publish: a warning is settled when its safe choice is made; commands and addresses are copied.
"use strict";

document.addEventListener("change", (event) => {
  const ask = event.target.closest(".ask");
  if (!ask || !event.target.closest(".pick")) return;
  const safe = ask.querySelector("[data-safe]");
  if (safe) ask.classList.toggle("done", safe.checked);
  if (ask.dataset.ask !== "ledger") return;
  // Publishing what cannot be audited takes this very choice.
  const isWaiting = event.target.value === "wait";
  document.getElementById("draw").disabled = isWaiting;
  document.getElementById("undecided").hidden = !isWaiting;
});

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

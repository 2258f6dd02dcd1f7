// Publish: a warning is settled when its safe choice is made; commands and addresses are copied.
"use strict";

// The cards for which something was changed that they do not know of yet.
let changed;

// As the ledger compares names.
const folded = (name) => name.normalize("NFKC").toLowerCase().split(/\s+/).filter(Boolean).join(" ") || "everybody";

// Whether the cards are those of the recipient that is written above.
const isFor = (asks) => {
  const to = document.getElementById("to"), shown = asks.querySelector('[name="shown"]');
  return Boolean(to && shown) && folded(to.value) === folded(shown.dataset.to);
};

// The panel is green only while nothing is open: with the last decision the answer comes, and goes again.
let undecided, read, isAsking = false;
const reflect = (asks, isOpen) => {
  const panel = document.getElementById("answer");
  if (read !== asks) undecided = undefined;
  read = asks;
  const isMarked = Boolean(panel && panel.querySelector("[data-undecided]"));
  if (isMarked && !isOpen && !isAsking) {
    undecided = panel;
    isAsking = true;
    htmx.ajax("GET", asks.dataset.answer, { target: "#answer", swap: "outerHTML" }).finally(() => { isAsking = false; settle(); });
  } else if (panel && !isMarked && isOpen && undecided) {
    panel.replaceWith(undecided);
  }
};

// What will be written follows what is chosen above it.
const list = (choice) => {
  if (choice.name === "codebook") {
    const file = document.querySelector('[data-file="codebook"]'), isKept = choice.value === "withheld";
    if (isKept) document.getElementById("hold-back").append(file);
    else document.querySelector('#hand-out [data-file="table"]').after(file);
  }
  if (choice.name === "formulas") document.querySelector("[data-ending]").textContent = choice.value;
};

// Enter in the recipient asks for their cards; it does not draw.
document.addEventListener("keydown", (event) => {
  if (event.target.id !== "to" || event.key !== "Enter") return;
  event.preventDefault();
  event.target.blur();
  event.target.focus();
});
document.addEventListener("input", (event) => {
  if (event.target.id === "to") settle();
});
document.addEventListener("click", (event) => {
  const chip = event.target.closest("button[data-to]");
  if (!chip) return;
  const to = document.getElementById("to");
  to.value = chip.dataset.to;
  to.dispatchEvent(new Event("change", { bubbles: true }));
});

// The button says by itself what the form would refuse: a box that is not ticked, or to wait.
const settle = () => {
  const asks = document.getElementById("asks"), panel = document.getElementById("answer");
  const isUnread = Boolean(asks && asks.querySelector('[name="shown"]')) && (changed === asks || !isFor(asks));
  // What the panel says is of the former recipient, too.
  if (panel) isUnread ? panel.setAttribute("aria-busy", "true") : panel.removeAttribute("aria-busy");
  const draw = document.getElementById("draw");
  if (!draw) return;
  const isWaiting = Boolean(document.querySelector('#asks [name="ledger"][value="wait"]:checked'));
  const open = document.querySelectorAll("#asks .pick [required]:not(:checked)");
  draw.disabled = isUnread || isWaiting || open.length > 0;
  for (const [id, isShown] of [["unread", isUnread], ["undecided", isWaiting], ["unticked", open.length > 0]]) {
    const hint = document.getElementById(id);
    if (hint) hint.hidden = !isShown;
  }
  leadTo(open);
  reflect(asks, isWaiting || open.length > 0);
};

// The hint's link leads to the first box that is not ticked, and says how many are left.
const leadTo = (open) => {
  if (!open.length) return;
  document.getElementById("first-open")?.removeAttribute("id");
  open[0].id = "first-open";
  document.querySelector("#unticked a").textContent = open.length === 1 ? "Tick the box" : "Tick the boxes";
  // What some of them are about can be left out instead.
  const others = [...open].map((box) => box.closest(".ask").querySelector("[data-instead]")).filter(Boolean);
  const one = others.length === 1 && others[0].textContent;
  document.getElementById("or-avoid").textContent = !others.length ? "" : one ? `, or ${one[0].toLowerCase()}${one.slice(1)}` : ", or leave these columns out";
};

document.addEventListener("change", (event) => {
  if (event.target.closest("#who, #more")) {
    changed = document.getElementById("asks");
    settle();
  }
  const ask = event.target.closest(".ask");
  if (!ask || !event.target.closest(".pick")) return;
  const safe = ask.querySelector("[data-safe]"), sign = ask.querySelector(".sign");
  if (safe) ask.classList.toggle("done", safe.checked);
  if (safe) sign.textContent = safe.checked ? "settled" : "your choice";
  else sign.textContent = ask.querySelector(".pick :checked:not([value=wait])") ? "your choice" : "to decide";
  list(event.target);
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

// The frame: changes ask for the answer, work tells its progress, a lost server is said to be lost.
"use strict";

const byId = (id) => document.getElementById(id);

// ---------- the answer: greyed from the first touch of a field until it is of this setting ----------

// What follows from the answer is as old as it is.
const shown = () => document.querySelectorAll("#answer, #steps, #trade-part, #rows-part");
// Links that lead on with the setting that was answered: they wait for the next answer.
const onward = () => document.querySelectorAll("#go-on, #onward .primary, #answer .actions > a");
const recomputing = () => {
  shown().forEach((part) => part.setAttribute("aria-busy", "true"));
  onward().forEach((link) => link.toggleAttribute("inert", true));
};
const unchanged = () => {
  shown().forEach((part) => part.removeAttribute("aria-busy"));
  onward().forEach((link) => link.toggleAttribute("inert", false));
};

// Text is answered when the typing pauses, all else at once; what was asked already is not asked anew.
// The pause, in milliseconds, is short while answers are quick: one to a text half typed costs little then.
const PAUSES = { quick: 100, slow: 300 }, QUICK_ANSWER = 500;

function watchForm(form) {
  let later, isAsked = false, pause = PAUSES.quick, askedAt = 0;
  const said = () => new URLSearchParams(new FormData(form)).toString();
  fitForm(form);
  let last = said();
  const settle = () => {
    clearTimeout(later);
    const now = said();
    if (now === last) {
      if (!isAsked) unchanged();
      return;
    }
    last = now;
    recomputing();
    htmx.trigger(form, "settled");
  };
  const isText = (field) => field.matches("input:not([type=radio]):not([type=checkbox]):not([type=range])");
  form.addEventListener("input", (event) => {
    if (!event.target.name || event.target.form !== form || !isText(event.target)) return;
    if (said() !== last) recomputing();
    clearTimeout(later);
    later = setTimeout(settle, pause);
  });
  form.addEventListener("change", (event) => {
    const field = event.target;
    if (field.dataset.sets) form.elements[field.dataset.sets].value = field.value;
    if (field.form !== form) return;
    fitForm(form);
    settle();
  });
  // Of the form alone: parts inside it ask for themselves.
  const ofForm = (event) => event.detail.elt === form;
  form.addEventListener("htmx:beforeRequest", (event) => { if (ofForm(event)) { isAsked = true; askedAt = performance.now(); recomputing(); } });
  form.addEventListener("htmx:afterRequest", (event) => {
    if (!ofForm(event)) return;
    isAsked = false;
    if (said() !== last) recomputing();  // the typing goes on: what came is of another text already
    pause = performance.now() - askedAt < QUICK_ANSWER ? PAUSES.quick : PAUSES.slow;
  });
  // What got no answer is asked for when lowlift answers again.
  form.addEventListener("htmx:sendError", (event) => { if (ofForm(event)) { last = ""; form.dataset.unsent = "yes"; } });
  // What another part asked for is of the former setting: once a field has changed it is not shown.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, requestConfig } = event.detail;
    if (requestConfig.elt === form || ![...shown()].includes(target)) return;
    if (!isAsked && said() === last) return;
    event.detail.shouldSwap = false;
    if (isAsked) return;
    last = "";  // the field may get its former value back: all is asked anew
    clearTimeout(later);
    later = setTimeout(settle, pause);
  });
  // A field that was changed before this script had run.
  const isMoved = (field) => (field.type === "radio" ? field.checked !== field.defaultChecked : "defaultValue" in field && field.value !== field.defaultValue);
  if ([...form.elements].some(isMoved)) { last = ""; setTimeout(settle, 0); }
}

// Only the options that the chosen criterion has.
function fitForm(form) {
  const criterion = form.elements.criterion;
  if (!criterion) return;
  form.querySelectorAll("[data-for]").forEach((part) => {
    const fits = part.dataset.for.split(" ").includes(criterion.value);
    part.hidden = !fits;
    part.querySelectorAll("input").forEach((input) => { input.disabled = !fits; });
  });
}

// Errors go to their fields, and a fold that has one opens.
function markFields(answer) {
  document.querySelectorAll("[data-error]").forEach((line) => {
    const fault = answer.querySelector(`[data-field="${CSS.escape(line.dataset.error)}"]`);
    line.textContent = fault ? fault.dataset.message : "";
    const field = document.querySelector(`[aria-describedby~="${CSS.escape(line.id)}"]`);
    if (field) field.toggleAttribute("aria-invalid", false);
    if (!field || !fault) return;
    field.setAttribute("aria-invalid", "true");
    const fold = field.closest("details");
    if (fold) fold.open = true;
  });
}

// A new answer: its errors are marked, its heading is said.
function answered() {
  const answer = byId("answer");
  if (!answer) return;
  markFields(answer);
  const heading = answer.querySelector(".verdict.when-ready h2, .verdict h2");
  if (heading) byId("said").textContent = heading.textContent;
}

// An answer that is longer than its panel says that there is more below.
function hintBelow() {
  const body = byId("answer-body");
  if (body) body.toggleAttribute("data-more", body.scrollHeight - body.clientHeight - body.scrollTop > 8);
}
document.addEventListener("scroll", hintBelow, { capture: true, passive: true });
document.addEventListener("toggle", hintBelow, true);  // a phone's sheet opens
document.addEventListener("htmx:afterSettle", hintBelow);
window.addEventListener("resize", hintBelow);

// ---------- work: a listener keeps its job alive; when this tab closes, the job ends ----------

function listen(root) {
  const found = root.matches && root.matches("[data-events]") ? [root] : [];
  [...found, ...root.querySelectorAll("[data-events]")].forEach((part) => {
    if (part.dataset.heard) return;
    part.dataset.heard = "yes";
    const source = new EventSource(part.dataset.events);
    source.addEventListener("step", (event) => {
      if (!part.isConnected) { source.close(); return; }
      const progress = part.querySelector(".progress");
      const stage = () => (progress.querySelector(".stages [aria-current]") || {}).textContent;
      const former = stage();
      progress.innerHTML = event.data;
      hintBelow();
      if (stage() && stage() !== former) byId("said").textContent = stage();  // not each number
      // A search that has found something can be stopped.
      const stop = part.querySelector("[data-stop]");
      if (stop && progress.querySelector(".search-chart")) stop.hidden = false;
    });
    const again = () => {
      source.close();
      if (part.getAttribute("hx-get")) htmx.trigger(part, "done");
      else location.reload();
    };
    source.addEventListener("done", again);
    source.addEventListener("error", async () => {
      if (!part.isConnected) return;
      await probe();
      // The server answers, but knows nothing of this work any more.
      if (!isLost && part.isConnected && source.readyState === EventSource.CLOSED) again();
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

// ---------- a lost server: the answer is old, and says so until lowlift answers again ----------

// In milliseconds: a server that is silent for so long is as lost as one that is gone.
const SILENT = 15000;
let isLost = false, isProbing = false;

// What would be chosen now would be lost: the page is loaded anew when lowlift answers, which undoes this.
function rest() {
  document.querySelectorAll("main form, main button:not(#answer-bar, #answer-hide)").forEach((part) => { part.inert = true; });
}

function lose() {
  const answer = byId("answer");
  recomputing();  // chart and rows are as old as the answer, and nothing leads on
  if (answer) { answer.removeAttribute("aria-busy"); answer.dataset.state = "stale"; }
  byId("lost").hidden = false;
  rest();
  isLost = true;
}

async function probe() {
  if (isProbing) return;
  isProbing = true;
  try {
    await fetch("/static/icon.svg", { cache: "no-store", signal: AbortSignal.timeout(SILENT) });
    if (!isLost) return;
    const unsent = document.querySelector("form[data-unsent]");
    if (unsent) unsent.submit();
    else location.reload();
  } catch {
    lose();
  } finally {
    isProbing = false;
  }
}

// ---------- files: dropped ones are sent, one that is too large is not ----------

function checkSize(event) {
  const input = event.target;
  if (input.type !== "file" || !input.dataset.limit) return;
  const file = input.files[0];
  const note = byId("upload-note");
  const isLarge = file && file.size > Number(input.dataset.limit);
  input.setCustomValidity(isLarge ? input.dataset.tooLarge : "");
  note.textContent = isLarge ? input.dataset.tooLarge : "";
  input.removeAttribute("aria-invalid");  // what was wrong was another file
}

function takeDrops(form) {
  const input = form.querySelector("input[type=file]");
  const mark = (isOver) => form.classList.toggle("over", isOver);
  form.addEventListener("dragover", (event) => { event.preventDefault(); mark(true); });
  form.addEventListener("dragleave", () => mark(false));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    if (form.reportValidity()) form.requestSubmit();
  });
}

// ---------- tables that scroll within themselves say so ----------

function hintAtScrolling() {
  document.querySelectorAll(".pane, .cmp-wrap").forEach((part, k) => {
    const isWide = part.scrollWidth > part.clientWidth + 1, isLong = part.scrollHeight > part.clientHeight + 8;
    let hint = part.previousElementSibling;
    if (!hint || !hint.classList.contains("more-there")) {
      if (!isWide && !isLong) return;
      hint = document.createElement("p");
      hint.className = "legend more-there";
      hint.id = `more-there-${k}`;
      part.before(hint);
      part.setAttribute("aria-describedby", hint.id);
    }
    const ways = isLong ? `${isWide ? "to the right and " : ""}below: scroll within the table.` : "to the right: scroll sideways.";
    hint.textContent = `There is more ${ways}`;
    hint.hidden = !isWide && !isLong;
  });
}
window.addEventListener("resize", hintAtScrolling);

// Back or Forward before the scripts ran changes the address alone: the page is of another one.
window.addEventListener("load", () => {
  hintAtScrolling();
  hintBelow();
  const [loaded] = performance.getEntriesByType("navigation");
  const place = (address) => address.split("#")[0];
  if (loaded && place(loaded.name) !== place(location.href)) location.reload();
});

document.addEventListener("DOMContentLoaded", () => {
  listen(document);
  document.querySelectorAll("form.drop").forEach(takeDrops);
  const form = byId("setting");
  if (form) watchForm(form);
  if (byId("answer")) markFields(byId("answer"));
  document.addEventListener("change", checkSize);
  document.addEventListener("htmx:load", (event) => { listen(event.target); hintAtScrolling(); });
  // The sheet of a phone stays open when its content is replaced.
  let isOpen = false;
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id === "answer") isOpen = Boolean(document.querySelector("#answer-body:popover-open"));
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "answer") return;
    answered();
    if (isOpen) byId("answer-body").showPopover();
  });
  document.addEventListener("htmx:sendError", lose);
  setInterval(() => { if (!document.hidden) probe(); }, 5000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) probe(); });
});

// The step Columns: filter, uses, and groups of numbers by handles, suggestions or words.
"use strict";

(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const rows = () => all("tr[data-name]");
  const editorOf = (row) => {
    const next = row.nextElementSibling;
    return next && next.classList.contains("editor") ? next : null;
  };

  // ---------- filter and counts ----------

  let kind = "all";

  function isShown(row) {
    const word = document.getElementById("filter").value.trim().toLowerCase();
    const isKind = kind === "all" || (kind === "flag" ? row.querySelector(".tag") : row.dataset.use === kind);
    return Boolean(isKind) && row.dataset.name.includes(word);
  }

  function sift() {
    let shown = 0;
    rows().forEach((row) => {
      row.hidden = !isShown(row);
      shown += row.hidden ? 0 : 1;
      const editor = editorOf(row);
      const button = row.querySelector("[data-groups]");
      if (editor) editor.hidden = row.hidden || button.getAttribute("aria-expanded") !== "true";
    });
    document.getElementById("no-column").hidden = shown > 0;
    const match = document.getElementById("match"), most = rows().length;
    match.textContent = shown < most ? `${shown} of ${most}` : "";
    offerBulk();
  }

  // What the filter shows and is published.
  const ofBulk = () => rows().filter((row) => !row.hidden && row.dataset.use === "x");

  // One click changes many columns: only of those that are asked for by a filter, and it says how many.
  function offerBulk() {
    const number = ofBulk().length, isAll = !document.getElementById("match").textContent;
    document.getElementById("bulk").hidden = isAll || !number;
    document.getElementById("leave-out-shown").textContent = number === 1 ? "Leave out the one set to Publish" : `Leave out the ${number} set to Publish`;
  }

  function count() {
    const found = rows();
    all("[data-show]").forEach((chip) => {
      const key = chip.dataset.show;
      const number = key === "all" ? found.length
        : found.filter((row) => (key === "flag" ? row.querySelector(".tag") : row.dataset.use === key)).length;
      chip.querySelector(".n").textContent = number;
    });
    offerBulk();
  }

  // ---------- what columns tell of the protected ones: measured anew when they or groups change ----------

  // Milliseconds after which what is typed or dragged is measured.
  const PAUSE = 400;
  let later;

  function measure(changed, pause) {
    const isOfAny = rows().some((row) => row.dataset.use === "s");
    changed.forEach((row) => { row.querySelector("[id^=tells-]").textContent = isOfAny ? "measuring …" : ""; });
    all("#bars-say, [data-protected]").forEach((part) => { part.hidden = !isOfAny; });
    all("[data-not-protected]").forEach((part) => { part.hidden = isOfAny; });
    if (!isOfAny) document.getElementById("given-away").replaceChildren();
    all("#given-away a").forEach((link) => { link.inert = true; });  // it keeps the former uses
    htmx.trigger("#telling", "htmx:abort");  // what was asked for is of the former choice
    clearTimeout(later);
    later = setTimeout(() => htmx.trigger("#telling", "measure"), pause);
  }

  // What is new in the notice above the list is said, by the page's one line for that.
  let told = "";
  function announce() {
    const line = document.querySelector("#given-away strong");
    const words = line ? line.textContent : "";
    if (words && words !== told) document.getElementById("said").textContent = words;
    told = words;
  }

  // ---------- uses: one control for each column ----------

  function used(input) {
    const row = input.closest("tr");
    const before = row.dataset.use;
    row.dataset.use = input.value;
    row.classList.toggle("is-pro", input.value === "s");
    row.classList.toggle("out", input.value === "");
    count();
    const editor = editorOf(row);
    if (before === "s" || input.value === "s") measure(rows(), 0);
    // The groups of a column hold while it is used.
    else if (editor && binsIn(editor).value.trim()) measure([row], 0);
    // The notice names columns that are published, and its link keeps all other uses.
    else if (isGiving(row) || document.getElementById("given-away").hasChildNodes()) measure([], 0);
  }

  const isGiving = (row) => Boolean(row.querySelector(".flags .tag.bad"));

  // What the filter shows and is published is left out; what is protected or locked stays.
  function leaveOut() {
    const out = ofBulk().map((row) => row.querySelector("fieldset input[value='']"));
    out.forEach((input) => { input.checked = true; used(input); });
    // One change for all: one answer, one step of Back.
    if (out.length) out[0].dispatchEvent(new Event("change", { bubbles: true }));
    sift();
    document.getElementById("filter").focus();  // the button goes
  }

  function unlock(event) {
    event.preventDefault();
    const cell = event.target.closest("td");
    cell.querySelector(".lock").remove();
    all("[data-groups]", cell.parentElement).forEach((button) => { button.hidden = false; });
    const choice = cell.querySelector("fieldset");
    choice.hidden = false;
    const input = choice.querySelector(`input[value="${event.target.value}"]`);
    input.checked = true;
    input.focus();
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  // ---------- groups: the field says them; the histogram shows and moves the same ----------

  const binsIn = (editor) => editor.querySelector("input[name^='bin:']");

  const spaced = (text) => text.replace(/\s/g, "").replace(/,/g, ", ");

  function grouped(field) {
    const editor = field.closest("tr.editor"), row = editor.previousElementSibling;
    const button = row.querySelector("[data-groups]"), said = spaced(field.value);
    button.querySelector("span").textContent = said ? `Groups: ${said}` : "Group values";
    button.setAttribute("aria-label", `Group the values of ${button.dataset.groups}${said ? `: ${said}` : ""}`);
    const use = row.dataset.use;
    if (use) measure(use === "s" ? rows() : [row], PAUSE);
  }

  function toggle(button, isOpen) {
    button.setAttribute("aria-expanded", String(isOpen));
    const editor = document.getElementById(button.getAttribute("aria-controls"));
    editor.hidden = !isOpen;
    if (isOpen) htmx.trigger(editor.querySelector("[data-histogram]"), "open");
  }

  // The width of the drawing in its own units: on a phone it is narrower, so that it fits and its
  // labels stay as large as other words.
  const IS_PHONE = window.matchMedia("(max-width: 44rem)");
  const DRAWN = 640, ON_PHONE = 300, MARGIN = 10;

  class Groups {
    constructor(part) {
      this.part = part;
      this.field = binsIn(part.closest("[data-bins]"));
      const list = (text) => (text ? text.split(",") : []);
      this.labels = list(part.dataset.labels);
      this.counts = list(part.dataset.counts).map(Number);
      this.quartiles = list(part.dataset.quartiles);
      this.start = Number(part.dataset.start);
      this.step = Number(part.dataset.step);
      this.missing = Number(part.dataset.missing);
      this.isDate = /^\d{4,}-\d\d-\d\d$/.test(this.labels[0] || "");
      all("[data-bins-text]", part).forEach((chip) => chip.addEventListener("click", () => this.say(chip.dataset.binsText)));
      this.field.addEventListener("input", () => this.draw());
      IS_PHONE.addEventListener("change", () => this.fit());
      this.fit();
    }

    // A bar's place, from 0 to the number of bars, as a length of the drawing.
    x(at) { return MARGIN + (at * (this.width - 2 * MARGIN)) / this.counts.length; }

    fit() {
      this.width = IS_PHONE.matches ? ON_PHONE : DRAWN;
      const svg = this.part.querySelector(".hist");
      svg.setAttribute("viewBox", `0 0 ${this.width} ${svg.viewBox.baseVal.height}`);
      svg.querySelector(".base").setAttribute("d", `M${MARGIN} 150.5H${this.width - MARGIN}`);
      all(".bar", svg).forEach((bar, k) => {
        const wide = this.x(1) - this.x(0);
        bar.setAttribute("x", this.x(k + 0.05));
        bar.setAttribute("width", 0.9 * wide);
      });
      // A label that would touch the one before it is not shown.
      let end = -Infinity;
      all("text[data-bar]", svg).forEach((label) => {
        const x = this.x(Number(label.dataset.bar) + 0.5), half = 3.6 * label.textContent.length + 3;
        label.setAttribute("x", x);
        const isClear = x - half >= end;
        label.toggleAttribute("hidden", !isClear);
        if (isClear) end = x + half;
      });
      this.draw();
    }

    // The value of an edge, as the bars count it; NaN for what is none.
    value(text) {
      const word = text.trim();
      if (!word) return NaN;
      return this.isDate ? Date.parse(`${word}T00:00:00Z`) / 864e5 : Number(word);
    }

    place(text) { return (this.value(text) - this.start) / this.step; }

    // The starts of groups that the field says, as texts; none for automatic groups and single values.
    edges() {
      const text = this.field.value.trim();
      if (text === "" || text === "each" || /^[a-z]+$/.test(text)) return [];
      if (/^quantiles:\d+$/.test(text)) return text === "quantiles:4" ? this.quartiles : [];
      const wide = /^width:(.+)$/.exec(text);
      if (!wide) return text.split(",").map((part) => part.trim());
      const width = Number(wide[1]), edges = [];
      const end = this.start + this.step * this.counts.length;
      if (this.isDate || !(width > 0) || (end - this.start) / width > 60) return [];
      for (let edge = Math.floor(this.start / width + 1) * width; edge < end; edge += width) edges.push(String(Number(edge.toPrecision(12))));
      return edges;
    }

    say(text) {
      this.field.value = text;
      this.field.dispatchEvent(new Event("input", { bubbles: true }));
      this.field.dispatchEvent(new Event("change", { bubbles: true }));
    }

    draw() {
      const edges = this.edges();
      const places = edges.map((edge) => this.place(edge));
      const isFine = places.every((at, k) => Number.isFinite(at) && (k === 0 || at > places[k - 1]));
      const cuts = this.part.querySelector("[data-cuts]");
      const shown = isFine ? edges.map((edge, k) => [edge, places[k], k]).filter(([, at]) => at >= 0 && at <= this.counts.length) : [];
      while (cuts.children.length > shown.length) cuts.lastElementChild.remove();
      while (cuts.children.length < shown.length) cuts.append(this.handle());
      this.field.closest("[data-bins]").toggleAttribute("data-handles", shown.length > 0);
      let end = -Infinity, isLow = false;
      shown.forEach(([edge, at, k], number) => {
        const wide = Math.max(28, 9 * edge.length + 8), x = this.x(at);
        isLow = x - wide / 2 < end && !isLow;
        end = x + wide / 2;
        this.put(cuts.children[number], edge, at, k, wide, isLow);
      });
      const said = this.field.value.trim();
      all("[data-bins-text]", this.part).forEach((chip) => chip.setAttribute("aria-pressed", String(chip.dataset.binsText === said)));
      const isEach = said === "each";
      all(".bar", this.part).forEach((bar, k) => {
        const group = isEach ? k : isFine ? places.filter((at) => k >= at).length : 0;
        bar.classList.toggle("alt", group % 2 === 1);
      });
      this.list(edges, places, isFine);
    }

    put(handle, edge, at, k, wide, isLow) {
      handle.setAttribute("transform", `translate(${this.x(at).toFixed(1)} 0)`);
      handle.dataset.cut = k;
      handle.setAttribute("aria-label", `Start of group ${k + 2}`);
      handle.setAttribute("aria-valuemin", 1);
      handle.setAttribute("aria-valuemax", this.counts.length - 1);
      handle.setAttribute("aria-valuenow", Math.round(at));
      handle.setAttribute("aria-valuetext", `from ${edge} on`);
      const rect = handle.querySelector("rect"), text = handle.querySelector("text");
      rect.setAttribute("x", -wide / 2);
      rect.setAttribute("width", wide);
      // Neighbours that would cover each other stand in two lines.
      rect.setAttribute("y", isLow ? 26 : 0);
      text.setAttribute("y", isLow ? 43 : 17);
      text.textContent = edge;
    }

    handle() {
      const draw = (name, attributes) => {
        const found = document.createElementNS("http://www.w3.org/2000/svg", name);
        Object.entries(attributes).forEach(([key, value]) => found.setAttribute(key, value));
        return found;
      };
      const group = draw("g", { class: "cut", role: "slider", tabindex: 0 });
      group.append(
        draw("path", { class: "grab", d: "M-16 0h32v150h-32z" }),
        draw("line", { y1: 22, y2: 150 }),
        draw("rect", { y: 0, height: 24, rx: 5 }),
        draw("text", { y: 17 }),
      );
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
      group.addEventListener("keydown", (event) => {
        const by = step[event.key];
        if (by === undefined && event.key !== "Delete") return;
        event.preventDefault();
        const now = Number(group.getAttribute("aria-valuenow"));
        if (by === undefined) this.move(group, null);
        else this.move(group, now + by);
      });
      group.addEventListener("pointerdown", (event) => {
        group.setPointerCapture(event.pointerId);
        group.onpointermove = (moved) => {
          const box = this.part.querySelector(".hist").getBoundingClientRect();
          const x = ((moved.clientX - box.left) / box.width) * this.width - MARGIN;
          this.move(group, Math.round((x * this.counts.length) / (this.width - 2 * MARGIN)));
        };
      });
      group.addEventListener("pointerup", () => { group.onpointermove = null; });
      return group;
    }

    // A handle goes to the start of a bar, never past its neighbours; without a bar it goes away.
    move(handle, bar) {
      const edges = this.edges(), k = Number(handle.dataset.cut);
      if (bar !== null) {
        const low = k > 0 ? this.place(edges[k - 1]) : 0;
        const high = k + 1 < edges.length ? this.place(edges[k + 1]) : this.counts.length;
        if (!(bar > low && bar < high) || this.labels[bar] === edges[k]) return;
        edges[k] = this.labels[bar];
      } else {
        edges.splice(k, 1);
      }
      this.say(edges.join(", "));
    }

    list(edges, places, isFine) {
      const list = this.part.querySelector("[data-list]");
      const said = this.field.value.trim();
      const line = (words, rows) => {
        const item = document.createElement("span");
        item.append(words);
        if (rows !== null) {
          const number = document.createElement("b");
          number.textContent = rows.toLocaleString("en");
          item.append(": ", number, rows === 1 ? " row" : " rows");
        }
        return item;
      };
      list.replaceChildren();
      if (said === "") { list.append(line("lowlift forms the groups that keep most at your limit", null)); return; }
      if (!isFine || !edges.length) return;
      // The rows of a group are known where it begins and ends with a bar, or beyond all of them.
      const isAtBar = (at) => at <= 0 || at >= this.counts.length || Math.abs(at - Math.round(at)) < 1e-9;
      const all = [0, ...places, this.counts.length];
      // Whole numbers end before the next group: 45 to 59.
      const isWhole = !this.isDate && this.part.dataset.whole !== undefined && edges.every((edge) => Number.isInteger(Number(edge)));
      const end = (edge) => (isWhole ? ` to ${Number(edge) - 1}` : ` to below ${edge}`);
      const between = (edge, next) => (isWhole && Number(next) - Number(edge) === 1 ? edge : `${edge}${end(next)}`);
      const names = [`below ${edges[0]}`, ...edges.map((edge, k) => (k + 1 < edges.length ? between(edge, edges[k + 1]) : `${edge} and above`))];
      names.forEach((name, k) => {
        const rows = this.counts.slice(Math.max(0, Math.round(all[k])), Math.max(0, Math.round(all[k + 1]))).reduce((a, b) => a + b, 0);
        if (rows || k > 0) list.append(line(name, isAtBar(all[k]) && isAtBar(all[k + 1]) ? rows : null));
      });
      if (this.missing) list.append(line("missing", this.missing));
    }
  }

  // Numbers in disorder can be put in order by one click.
  function offerOrder() {
    all(".error[data-error^='bin:']").forEach((line) => {
      const field = line.parentElement.querySelector("input");
      all("button", line).forEach((button) => button.remove());
      const parts = field.value.split(",").map((part) => part.trim());
      const numbers = parts.map(Number);
      if (!line.textContent || parts.length < 2 || numbers.some((number) => !Number.isFinite(number))) return;
      const sorted = [...new Set(numbers)].sort((a, b) => a - b).join(", ");
      if (sorted === parts.join(", ")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "linkish";
      button.textContent = `Put them in order: ${sorted}`;
      button.addEventListener("click", () => {
        field.value = sorted;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        field.dispatchEvent(new Event("change", { bubbles: true }));
        field.focus();
      });
      line.append(" ", button);
    });
  }

  // From the answer to the field that needs the user, which may be folded away.
  function goThere(event) {
    const link = event.target.closest("a[data-field]");
    if (!link) return;
    const line = document.querySelector(`[data-error="${CSS.escape(link.dataset.field)}"]`);
    if (!line) return;
    event.preventDefault();
    const editor = line.closest("tr.editor");
    if (editor) toggle(document.querySelector(`[aria-controls="${editor.id}"]`), true);
    const sheet = document.getElementById("answer-body");
    if (sheet && sheet.matches(":popover-open")) sheet.hidePopover();
    const field = line.parentElement.querySelector("input");
    field.focus();
    field.scrollIntoView({ block: "center" });
  }

  function start(root) {
    const found = root.matches && root.matches("[data-histogram][data-labels]") ? [root] : [];
    [...found, ...all("[data-histogram][data-labels]", root)].forEach((part) => {
      if (!part.dataset.drawn) { part.dataset.drawn = "yes"; new Groups(part); }
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("filter").addEventListener("input", (event) => { event.stopPropagation(); sift(); });
    document.getElementById("filter").addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    all("[data-show]").forEach((chip) => chip.addEventListener("click", () => {
      kind = chip.dataset.show;
      all("[data-show]").forEach((other) => other.setAttribute("aria-pressed", String(other === chip)));
      sift();
    }));
    const isOf = (field, kind) => Boolean(field.name) && field.name.startsWith(kind);
    document.addEventListener("change", (event) => { if (isOf(event.target, "role:")) used(event.target); });
    document.addEventListener("input", (event) => { if (isOf(event.target, "bin:")) grouped(event.target); });
    document.getElementById("leave-out-shown").addEventListener("click", leaveOut);
    all("[data-unlock]").forEach((button) => button.addEventListener("click", unlock));
    all("[data-groups]").forEach((button) => button.addEventListener("click", () => toggle(button, button.getAttribute("aria-expanded") !== "true")));
    document.addEventListener("click", goThere);
    document.addEventListener("htmx:load", (event) => start(event.target));
    document.addEventListener("htmx:afterSettle", () => { count(); offerOrder(); announce(); });
    start(document);
    offerOrder();
  });
})();

// Compare: rows in which all settings agree can be hidden.
"use strict";

(() => {
  const only = document.getElementById("only");
  if (!only) return;
  const show = () => document.getElementById("cmp").classList.toggle("only", only.getAttribute("aria-pressed") === "true");
  only.addEventListener("click", () => {
    only.setAttribute("aria-pressed", String(only.getAttribute("aria-pressed") !== "true"));
    show();
    window.dispatchEvent(new Event("resize"));  // it may no longer scroll
  });
  document.addEventListener("htmx:afterSwap", show);
})();

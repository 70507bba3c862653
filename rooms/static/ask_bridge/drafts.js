// Keeps half an answer over reloads, restarts and logins, in this browser, for this person and question.
// Without it what was chosen or typed lives as long as the page.
"use strict";

(() => {
  const PREFIX = `ask-bridge:draft:${document.body.dataset.person}:`;
  const KEPT_MS = 7 * 24 * 3600 * 1000; // a draft older than a week is nobody's thought any more

  const fields = (card) => [...card.querySelectorAll("form [name]:not([type=hidden])")];
  const isTick = (field) => field.matches("[type=radio], [type=checkbox]");

  function keep(card) {
    const ticks = fields(card).filter((field) => isTick(field) && field.checked);
    const texts = fields(card).filter((field) => !isTick(field) && field.value.trim());
    const draft = {
      at: Date.now(),
      ticks: ticks.map((field) => [field.name, field.value]),
      texts: texts.map((field) => [field.name, field.value]),
    };
    if (ticks.length || texts.length) localStorage.setItem(PREFIX + card.id, JSON.stringify(draft));
    else localStorage.removeItem(PREFIX + card.id);
  }

  function restore(card) {
    const draft = JSON.parse(localStorage.getItem(PREFIX + card.id) || "null");
    if (!draft || card.dataset.restored) return;
    card.dataset.restored = "yes";
    const ticked = new Set(draft.ticks.map((pair) => pair.join("=")));
    const texts = new Map(draft.texts);
    fields(card).forEach((field) => {
      if (isTick(field)) field.checked = ticked.has(`${field.name}=${field.value}`);
      else if (texts.has(field.name)) {
        field.value = texts.get(field.name);
        field.closest("details")?.setAttribute("open", "");
      }
    });
  }

  function look() {
    document.querySelectorAll(".card.is-open").forEach(restore);
    document.querySelectorAll(".card:not(.is-open)").forEach((card) => localStorage.removeItem(PREFIX + card.id));
  }

  function forgetOld() {
    Object.keys(localStorage)
      .filter((name) => name.startsWith("ask-bridge:draft:"))
      .filter((name) => Date.now() - JSON.parse(localStorage.getItem(name)).at > KEPT_MS)
      .forEach((name) => localStorage.removeItem(name));
  }

  ["input", "change"].forEach((name) =>
    document.addEventListener(name, ({ target }) => {
      const card = target.closest(".card.is-open");
      if (card) keep(card);
    }),
  );
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  forgetOld();
  look();
})();

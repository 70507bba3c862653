// Answers with one click. Without it every card is a plain form with a Submit button.
"use strict";

(() => {
  const SETTLE_MS = 400; // a card that has just appeared under the pointer was not aimed at
  const appeared = new WeakMap();

  const noteCards = (root) => {
    const now = performance.now();
    root.querySelectorAll(".card.is-open").forEach((card) => appeared.has(card) || appeared.set(card, now));
  };
  new MutationObserver(() => noteCards(document)).observe(document.body, { childList: true, subtree: true });

  // Moving through radio buttons with the arrow keys also fires clicks: only a pointer's click is an answer.
  let pointedAt = null;
  document.addEventListener("pointerup", (event) => (pointedAt = event.target.closest(".option-row .option")));
  document.addEventListener("keydown", () => (pointedAt = null));

  document.addEventListener("click", (event) => {
    const option = event.target.closest(".option-row .option");
    const card = option?.closest(".card");
    if (!card || option !== pointedAt) return;
    if (performance.now() - (appeared.get(card) ?? -SETTLE_MS) < SETTLE_MS) {
      event.preventDefault();
      return;
    }
    const form = option.closest(".sends-on-click");
    // A click on the label comes first, the one on its input follows: send on the second.
    if (form && event.target.matches("input") && !form.querySelector(".note[open]")) form.requestSubmit();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest("form")?.requestSubmit();
  });

  // Other is for typing: the field is there at once.
  document.addEventListener("change", (event) => {
    if (event.target.matches(".other-input:checked")) {
      event.target.closest(".other").querySelector(".other-text").focus();
    }
  });

  // A card that somebody else settles takes the place of one with half an answer in it: keep the words.
  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    const card = event.target;
    if (!card.matches(".card.is-open") || !event.detail.type.startsWith("card-")) return;
    const words = [...card.querySelectorAll("textarea")].map((field) => field.value.trim()).filter(Boolean);
    if (words.length) setTimeout(() => showLost(card.id, words));
  });

  function showLost(id, words) {
    const settled = document.querySelector(`#${id} .settled`);
    if (!settled || document.querySelector(`#${id} .lost`)) return;
    const lost = document.createElement("div");
    lost.className = "lost";
    lost.append(Object.assign(document.createElement("p"), { textContent: "You were writing this when the answer came:" }));
    words.forEach((text) =>
      lost.append(Object.assign(document.createElement("p"), { className: "lost-text", textContent: text })),
    );
    settled.before(lost);
  }

  // The network failed, or the server did: say so on the card and leave everything as it was typed.
  ["htmx:sendError", "htmx:timeout", "htmx:responseError"].forEach((name) =>
    document.addEventListener(name, (event) => {
      const errors = event.target.closest(".card")?.querySelector(".errors");
      if (!errors || [401, 409, 422].includes(event.detail.xhr?.status)) return;
      const text = "Could not send. Nothing is lost: try again.";
      errors.replaceChildren(Object.assign(document.createElement("p"), { className: "field-error", textContent: text }));
    }),
  );

  noteCards(document);
  document.querySelectorAll(".card.is-open").forEach((card) => appeared.set(card, -SETTLE_MS));
})();

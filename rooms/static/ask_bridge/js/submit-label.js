// Names the chosen option on the button that sends it: "Answer PostgreSQL". Without it the button says "Submit".

const plainTexts = new WeakMap(); // the text of a button while nothing is chosen

function nameButton(form) {
  const text = form.querySelector(".ab-submit-text[data-chosen]");
  if (!plainTexts.has(text)) plainTexts.set(text, text.textContent);
  const name = form.querySelector("input:checked")?.dataset.label;
  // By a function: an option may have a "$" in its name.
  const label = name ? text.dataset.chosen.replace("{option}", () => name) : plainTexts.get(text);
  if (text.textContent !== label) text.textContent = label;
}

// Also for cards that arrive with a choice, from a draft.
function nameAll() {
  document.querySelectorAll(".ab-sends-on-click:has(input:checked)").forEach(nameButton);
}

document.addEventListener("change", ({ target }) => {
  const form = target.closest(".ab-sends-on-click");
  if (form) nameButton(form);
});
new MutationObserver(nameAll).observe(document.body, { childList: true, subtree: true });
nameAll();

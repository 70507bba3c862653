// The keyboard: j/k between cards, arrows between options, numbers choose, s skips, ? shows the list. Without it Tab
// and Space do it all, and arrows move between radio buttons only.

const typing = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
const overlay = () => document.getElementById("keys-help");
const cards = () => [...document.querySelectorAll(".card")];
const current = () => document.activeElement.closest?.(".card");

function move(step) {
  const all = cards();
  const at = all.indexOf(current());
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const optionsOf = (prompt) => [...prompt.querySelectorAll(".options input:is([type=radio], [type=checkbox])")];

// The prompt that the person works on: the one with the focus, else the one that had it last on this card.
const lastPrompts = new WeakMap();
document.addEventListener("focusin", ({ target }) => {
  const prompt = target.closest(".card .prompt");
  if (prompt) lastPrompts.set(prompt.closest(".card"), prompt);
});

function currentPrompt() {
  const card = current();
  const last = lastPrompts.get(card);
  return card?.contains(last) ? last : card?.querySelector(".prompt");
}

// Numbers choose on the card that has the focus and nowhere else; choosing does not send.
function choose(number) {
  const prompt = currentPrompt();
  const input = prompt && optionsOf(prompt)[number - 1];
  input?.focus();
  input?.click();
  return Boolean(input);
}

function skip() {
  const details = current()?.querySelector("details.skip");
  details?.setAttribute("open", "");
  details?.querySelector("[name=reason]").focus();
  return Boolean(details);
}

// Arrows move between the options of a multi-select as the browser moves between radio buttons, but tick nothing.
function moveOption(step) {
  const here = document.activeElement;
  if (!here.matches(".options input[type=checkbox]")) return false;
  const options = optionsOf(here.closest(".prompt"));
  options[(options.indexOf(here) + step + options.length) % options.length].focus();
}

// Whether the caret is on the first line that the person sees: long lines wrap after whole words.
const canvas = document.createElement("canvas").getContext("2d");

function isOnFirstLine({ value, selectionStart, selectionEnd, clientWidth }, { font, paddingLeft, paddingRight }) {
  const [restOfWord] = /^\S*/.exec(value.slice(selectionStart));
  const before = value.slice(0, selectionStart);
  canvas.font = font;
  const width = canvas.measureText(before + restOfWord).width;
  const fits = width <= clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  return selectionStart === selectionEnd && !before.includes("\n") && fits;
}

// Out of Other's text field: Escape, or Up on its first line.
function leavesOther({ key, shiftKey, target }) {
  if (!target.matches(".other-text")) return false;
  return key === "Escape" || (key === "ArrowUp" && !shiftKey && isOnFirstLine(target, getComputedStyle(target)));
}

// First out of the field, then out of the card.
function leave() {
  const card = current();
  if (document.activeElement === card) card.blur();
  else card?.focus();
  return Boolean(card);
}

const actions = {
  j: () => move(1),
  k: () => move(-1),
  s: skip,
  ArrowDown: () => moveOption(1),
  ArrowUp: () => moveOption(-1),
  Escape: leave,
  "?": () => overlay()?.showModal(),
  Enter: () => {
    const form = document.activeElement.matches(".option input") && document.activeElement.form;
    return form ? form.requestSubmit() : false;
  },
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest("form")?.requestSubmit();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || overlay()?.open) return;
  if (leavesOther(event)) {
    event.target.closest(".other").querySelector(".other-input").focus();
    return event.preventDefault();
  }
  if (event.key !== "Escape" && event.target.matches(typing)) return;
  const action = /^[1-9]$/.test(event.key) ? () => choose(Number(event.key)) : actions[event.key];
  if (action && action() !== false) event.preventDefault();
});

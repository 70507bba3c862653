// Keyboard shortcuts: j and k move between cards, arrows between options, numbers choose, s skips, ? shows the list.
// Without it Tab and Space still reach everything, and arrows move between radio buttons only.

const TEXT_FIELDS = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";

const help = () => document.getElementById("keys-help");
const currentCard = () => document.activeElement.closest?.(".card");

// ---- between cards

function nextCard(step) {
  const cards = [...document.querySelectorAll(".card")];
  const position = cards.indexOf(currentCard());
  if (position < 0) return step > 0 ? cards[0] : cards.at(-1);
  return cards[position + step] ?? cards[position];
}

function moveCard(step) {
  const card = nextCard(step);
  card?.focus();
  card?.scrollIntoView({ block: "nearest" });
}

// First out of the field, then out of the card.
function leave() {
  const card = currentCard();
  if (document.activeElement === card) card.blur();
  else card?.focus();
  return Boolean(card);
}

// ---- on a card

const optionsOf = (prompt) => [...prompt.querySelectorAll(".options input:is([type=radio], [type=checkbox])")];

// The prompt that the person works on: the one with the focus, else the one that had it last on this card.
const lastPrompts = new WeakMap();

document.addEventListener("focusin", ({ target }) => {
  const prompt = target.closest(".card .prompt");
  if (prompt) lastPrompts.set(prompt.closest(".card"), prompt);
});

function currentPrompt() {
  const card = currentCard();
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

// Arrows move between the options of a multi-select as the browser moves between radio buttons, but tick nothing.
function moveOption(step) {
  const current = document.activeElement;
  if (!current.matches(".options input[type=checkbox]")) return false;
  const options = optionsOf(current.closest(".prompt"));
  const next = (options.indexOf(current) + step + options.length) % options.length;
  options[next].focus();
}

function skip() {
  const details = currentCard()?.querySelector("details.skip");
  details?.setAttribute("open", "");
  details?.querySelector("[name=reason]").focus();
  return Boolean(details);
}

function send() {
  const element = document.activeElement;
  if (!element.matches(".option input") || !element.form) return false;
  element.form.requestSubmit();
}

// ---- out of the text field of Other

const canvas = document.createElement("canvas").getContext("2d");

// Whether the caret is on the first line that the person sees: long lines wrap after whole words.
function isOnFirstLine(field) {
  const { value, selectionStart, selectionEnd, clientWidth } = field;
  const { font, paddingLeft, paddingRight } = getComputedStyle(field);
  const before = value.slice(0, selectionStart);
  const [restOfWord] = /^\S*/.exec(value.slice(selectionStart));
  canvas.font = font;
  const width = canvas.measureText(before + restOfWord).width;
  const fits = width <= clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  return selectionStart === selectionEnd && !before.includes("\n") && fits;
}

// Escape, or Up on its first line.
function leavesOther({ key, shiftKey, target }) {
  if (!target.matches(".other-text")) return false;
  return key === "Escape" || (key === "ArrowUp" && !shiftKey && isOnFirstLine(target));
}

// ---- the keys

// An action that returns false did nothing: the browser does what it does with the key.
const actions = {
  j: () => moveCard(1),
  k: () => moveCard(-1),
  s: skip,
  ArrowDown: () => moveOption(1),
  ArrowUp: () => moveOption(-1),
  Enter: send,
  Escape: leave,
  "?": () => help()?.showModal(),
};

function actionOf(key) {
  return /^[1-9]$/.test(key) ? () => choose(Number(key)) : actions[key];
}

document.addEventListener("keydown", (event) => {
  const { key, target, ctrlKey, metaKey, altKey, isComposing } = event;
  if (key === "Enter" && (ctrlKey || metaKey)) target.closest("form")?.requestSubmit();
  if (ctrlKey || metaKey || altKey || isComposing || help()?.open) return;
  if (leavesOther(event)) {
    target.closest(".other").querySelector(".other-input").focus();
    return event.preventDefault();
  }
  if (key !== "Escape" && target.matches(TEXT_FIELDS)) return;
  const action = actionOf(key);
  if (action && action() !== false) event.preventDefault();
});

// Keyboard shortcuts: j and k move between cards, arrows between options, numbers choose, s skips, z undoes, ? shows
// the list. Without it Tab and Space still reach everything, and arrows move between radio buttons only.

const TEXT_FIELDS = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";

const help = () => document.getElementById("ab-keys-help");

// The one card of the inbox and of a question's page.
const ONLY_CARD = "#ab-focus .ab-card, .ab-page-question .ab-card";

// The card with the focus, or the only one as long as nothing has the focus.
function currentCard() {
  // The content has it after a click beside the card, and after "Skip to content".
  const isNothing = document.activeElement.matches("body, #ab-content");
  return document.activeElement.closest?.(".ab-card") ?? (isNothing ? document.querySelector(ONLY_CARD) : null);
}

// ---- between cards

function nextCard(step) {
  const cards = [...document.querySelectorAll(".ab-card")];
  const position = cards.indexOf(currentCard());
  if (position < 0) return step > 0 ? cards[0] : cards.at(-1);
  return cards[position + step] ?? cards[position];
}

// The inbox moves between its rows (inbox.js), other pages between their cards.
function moveCard(step) {
  if (document.getElementById("ab-rows")) {
    return void document.dispatchEvent(new CustomEvent("ask-bridge:move", { detail: step }));
  }
  const card = nextCard(step);
  card?.focus();
  card?.scrollIntoView({ block: "nearest" });
}

// First out of the field, which closes Skip and Ask back, then out of the card.
function leave() {
  const card = document.activeElement.closest?.(".ab-card");
  document.activeElement.closest?.(".ab-instead details")?.removeAttribute("open");
  if (document.activeElement === card) card.blur();
  else card?.focus();
  return Boolean(card);
}

// ---- on a card

const optionsOf = (prompt) => [...prompt.querySelectorAll(".ab-options input:is([type=radio], [type=checkbox])")];

// The prompt that the person works on: the current step, the one with the focus, or the one that had it last.
const lastPrompts = new WeakMap();

document.addEventListener("focusin", ({ target }) => {
  const prompt = target.closest(".ab-card .ab-prompt");
  if (prompt) lastPrompts.set(prompt.closest(".ab-card"), prompt);
});

function currentPrompt() {
  const card = currentCard();
  if (card?.querySelector(".ab-stepper[data-step]")) return card.querySelector(".ab-prompt.ab-is-current");
  const last = lastPrompts.get(card);
  return card?.contains(last) ? last : card?.querySelector(".ab-prompt");
}

// Numbers choose on the card that has the focus and nowhere else; choosing does not send.
function choose(number) {
  const prompt = currentPrompt();
  const input = prompt && optionsOf(prompt)[number - 1];
  input?.focus();
  input?.click();
  return Boolean(input);
}

// Selects what the newest earlier answer to a similar question chose; does not send.
function chooseAsLastTime() {
  const prompt = currentPrompt();
  const wanted = prompt ? [...prompt.querySelectorAll(".ab-option:has([data-latest]) input")] : [];
  if (!wanted.length) return false;
  optionsOf(prompt).forEach((input) => {
    const isWanted = wanted.includes(input);
    // The browser itself clears the other radio buttons.
    if (input.checked !== isWanted && (isWanted || input.type === "checkbox")) input.click();
  });
  wanted[0].focus();
}

// Arrows move between the options of a multi-select as the browser moves between radio buttons, but tick nothing.
function moveOption(step) {
  const current = document.activeElement;
  if (!current.matches(".ab-options input[type=checkbox]")) return false;
  const options = optionsOf(current.closest(".ab-prompt"));
  const next = (options.indexOf(current) + step + options.length) % options.length;
  options[next].focus();
}

function skip() {
  const details = currentCard()?.querySelector("details.ab-skip");
  details?.setAttribute("open", "");
  details?.querySelector("[name=reason]").focus();
  return Boolean(details);
}

function openPart(name) {
  const part = `details.ab-${name}`;
  const details = currentPrompt()?.querySelector(part) ?? currentCard()?.querySelector(part);
  details?.setAttribute("open", "");
  details?.querySelector("textarea").focus();
  return Boolean(details);
}

// The own answer that was given last and has not gone to the agent yet.
function undo() {
  const endOf = (form) => form.querySelector("time").dateTime;
  const held = [...document.querySelectorAll(".ab-card[data-own] .ab-undo-form")];
  held.sort((one, other) => Date.parse(endOf(one)) - Date.parse(endOf(other)));
  held.at(-1)?.requestSubmit();
  return held.length > 0;
}

const SECOND_MS = 400; // the second Enter of a pair was not meant for the next card
let sentAt = -Infinity;

// From an option, or from the card itself, which has the focus after Esc and Undo.
function send() {
  const element = document.activeElement;
  const isCard = element.matches(".ab-card") && performance.now() - sentAt > SECOND_MS;
  const chosen = isCard ? element.querySelector(".ab-options input:checked") : element;
  if (!chosen?.matches(".ab-option input") || !chosen.form) return false;
  sentAt = performance.now();
  chosen.form.requestSubmit();
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
  if (!target.matches(".ab-other-text")) return false;
  return key === "Escape" || (key === "ArrowUp" && !shiftKey && isOnFirstLine(target));
}

// ---- the keys

// An action that returns false did nothing: the browser does what it does with the key.
const actions = {
  j: () => moveCard(1),
  k: () => moveCard(-1),
  l: chooseAsLastTime,
  a: () => openPart("ask-back"),
  n: () => openPart("note"),
  s: skip,
  z: undo,
  "/": search,
  g: () => awaitPlace(),
  ArrowDown: () => moveOption(1),
  ArrowUp: () => moveOption(-1),
  Enter: send,
  Escape: leave,
  "?": () => help()?.showModal(),
};

// "g i" and "g h" go to the inbox and to the history: the second key has to follow soon.
const GO_MS = 1500;
const PLACES = { i: "inbox", h: "history" };
let goUntil = 0;

function go(place, hash = "") {
  location.assign(document.querySelector(`.ab-rail a[data-place=${place}]`).href + hash);
}

const SEARCH = "#ab-search-words";

function search() {
  const field = document.querySelector(SEARCH);
  if (field) field.select();
  else go("history", SEARCH);
}

if (location.hash === SEARCH) document.querySelector(SEARCH)?.select();

function awaitPlace() {
  goUntil = performance.now() + GO_MS;
}

function actionOf(key) {
  if (performance.now() < goUntil && key in PLACES) return () => go(PLACES[key]);
  return /^[1-9]$/.test(key) ? () => choose(Number(key)) : actions[key];
}

document.addEventListener("keydown", (event) => {
  const { key, target, ctrlKey, metaKey, altKey, isComposing } = event;
  if (key === "Enter" && (ctrlKey || metaKey)) target.closest("form")?.requestSubmit();
  if (ctrlKey || metaKey || altKey || isComposing || help()?.open) return;
  if (leavesOther(event)) {
    target.closest(".ab-other").querySelector(".ab-other-input").focus();
    return event.preventDefault();
  }
  if (key !== "Escape" && target.matches(TEXT_FIELDS)) return;
  if (key === "Enter" && event.repeat) return event.preventDefault();
  const action = actionOf(key);
  if (action && action() !== false) event.preventDefault();
});

// Shows the open questions of a room as one card and rows that open, if there are many. Without it all are cards.

let list = null;
const openCards = () => [...list.querySelectorAll(":scope > .ab-card.ab-is-open")];
const isMany = () => openCards().length > Number(list.dataset.rowsFrom);

// ---- one row

const folded = new Set(); // ids of cards: one that is replaced stays a row

function part(name, text) {
  const element = document.createElement("span");
  element.className = name;
  element.textContent = text;
  return element;
}

function rowOf(card) {
  const row = document.createElement("button");
  row.type = "button";
  row.className = "ab-fold-row";
  row.setAttribute("aria-expanded", "false");
  const question = document.getElementById(card.getAttribute("aria-labelledby"));
  const agent = card.querySelector(".ab-card-agent");
  row.append(part("ab-fold-question", question.textContent.trim()), part("ab-fold-agent", agent?.textContent ?? ""));
  const asked = card.querySelector("time[datetime]");
  if (asked) row.append(asked.cloneNode(true));
  return row;
}

function fold(card) {
  if (card.matches(".ab-is-folded")) return;
  folded.add(card.id);
  card.prepend(rowOf(card));
  card.classList.add("ab-is-folded");
}

function unfold(card) {
  folded.delete(card.id);
  card.querySelector(":scope > .ab-fold-row")?.remove();
  card.classList.remove("ab-is-folded");
}

document.addEventListener("click", ({ target }) => {
  const card = target.closest(".ab-fold-row")?.closest(".ab-card");
  if (!card) return;
  unfold(card);
  card.focus({ preventScroll: true });
});

// The keys j and k go to cards: to read one is to open it.
document.addEventListener("focusin", ({ target }) => target.matches(".ab-card.ab-is-folded") && unfold(target));

// The other keys act on the card with the focus. What cannot be seen must not be chosen.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.target.matches(".ab-fold-row") && /^[1-9ansl]$/.test(event.key)) event.stopImmediatePropagation();
  },
  { capture: true },
);

// ---- the list changes: only what is new is folded, so that nothing that is being read moves

let known = new Map(); // id of a card → whether it was open

function openNext() {
  const cards = openCards();
  if (cards.length && cards.every((card) => card.matches(".ab-is-folded"))) unfold(cards[0]);
}

function update() {
  const cards = [...list.children];
  const isNew = (card) => !known.has(card.id) && isMany();
  openCards()
    .filter((card) => folded.has(card.id) || isNew(card))
    .forEach(fold);
  const decided = cards.filter((card) => !card.matches(".ab-is-open") && known.get(card.id));
  if (decided.some((card) => "own" in card.dataset)) openNext();
  remember();
}

function remember() {
  known = new Map([...list.children].map((card) => [card.id, card.matches(".ab-is-open")]));
}

// Again when the page has loaded its content anew, which replaces the list; a reply without it leaves none.
function start() {
  const shown = document.getElementById("ab-open-questions");
  if (!shown || shown === list) return;
  list = shown;
  if (isMany()) openCards().slice(1).forEach(fold);
  remember();
  list.classList.remove("ab-is-many");
  new MutationObserver(update).observe(list, { childList: true });
}

start();
document.addEventListener("ab-htmx:load", start);

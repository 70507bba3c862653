// A mouse click on an option is the answer; on a touch screen a tap selects it and the button sends, unless the person
// chose that one tap answers. Without it every card is a plain form with a Submit button.

const SETTLE_MS = 400; // a card that has just appeared or moved under the pointer was not aimed at
const MOVED_PX = 4;

// ---- cards that have just appeared or moved

const clickableAt = new WeakMap(); // card → when it may be clicked
const positions = new WeakMap(); // card → its distance from the top of the page

function noteMovedCards() {
  const now = performance.now();
  document.querySelectorAll(".ab-card.ab-is-open").forEach((card) => {
    // The top edge: a card grows when its own form opens something, but only changes above it move it.
    const position = card.getBoundingClientRect().top + scrollY;
    const hasMoved = Math.abs(position - (positions.get(card) ?? Infinity)) > MOVED_PX;
    if (hasMoved) clickableAt.set(card, now + SETTLE_MS);
    positions.set(card, position);
  });
}

noteMovedCards();
// What was there when the page opened has been there long enough.
document.querySelectorAll(".ab-card.ab-is-open").forEach((card) => clickableAt.delete(card));

const mayBeClicked = (card) => performance.now() >= (clickableAt.get(card) ?? 0);

// ---- the click

let layout = null;
let alwaysSubmits = false;
let tapAnswers = false;

// Again when the page has loaded its content anew, which replaces this element; a reply without it leaves none.
function readPreferences() {
  const shown = document.getElementById("ab-layout");
  if (!shown || shown === layout) return;
  layout = shown;
  alwaysSubmits = layout.dataset.submit === "always";
  tapAnswers = "oneTap" in layout.dataset;
  // A touch screen shows the button, as for people who always press it. A mouse at the same screen still answers.
  if (matchMedia("(pointer: coarse)").matches && !tapAnswers) layout.dataset.submit = "always";
}

function update() {
  readPreferences();
  noteMovedCards();
}

readPreferences();
new MutationObserver(update).observe(document.body, { childList: true, subtree: true });

const answersAtOnce = (pointer) => !alwaysSubmits && (tapAnswers || pointer === "mouse");

// Only a pointer's click answers: arrow keys on radio buttons fire clicks, too.
let pointedAt = null;
let pointer = "";

document.addEventListener("pointerup", ({ target, pointerType }) => {
  pointedAt = target.closest(".ab-option-row .ab-option");
  pointer = pointerType;
});
document.addEventListener("keydown", () => {
  pointedAt = null;
});

// A description with a link is for reading: below its top edge a click that misses the link does not answer.
function isBesideLink({ target, clientY }, option) {
  const description = option.querySelector(".ab-option-description:has(a)");
  if (!description || target.closest("a")) return false;
  return clientY >= description.getBoundingClientRect().top;
}

document.addEventListener("click", (event) => {
  const option = event.target.closest(".ab-option-row .ab-option");
  const card = option?.closest(".ab-card");
  if (!card || option !== pointedAt) return;
  if (!mayBeClicked(card)) return event.preventDefault();
  const form = option.closest(".ab-sends-on-click");
  if (!form || !answersAtOnce(pointer)) return;
  if (isBesideLink(event, option)) return event.preventDefault();
  // A click on the label comes first, the one on its input follows: send on the second.
  const isOnInput = event.target.matches("input");
  const hasOpenNote = form.querySelector(".ab-note[open]");
  if (isOnInput && !hasOpenNote) form.requestSubmit();
});

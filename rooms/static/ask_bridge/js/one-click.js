// A click on an option is the answer. Without it every card is a plain form with a Submit button.

const SETTLE_MS = 400; // a card that has just appeared or moved under the pointer was not aimed at
const MOVED_PX = 4;

// ---- cards that have just appeared or moved

const clickableAt = new WeakMap(); // card → when it may be clicked
const positions = new WeakMap(); // card → its distance from the top of the page

function noteMovedCards() {
  const now = performance.now();
  document.querySelectorAll(".card.is-open").forEach((card) => {
    // The top edge: a card grows when its own form opens something, but only changes above it move it.
    const position = card.getBoundingClientRect().top + scrollY;
    const hasMoved = Math.abs(position - (positions.get(card) ?? Infinity)) > MOVED_PX;
    if (hasMoved) clickableAt.set(card, now + SETTLE_MS);
    positions.set(card, position);
  });
}

new MutationObserver(noteMovedCards).observe(document.body, { childList: true, subtree: true });
noteMovedCards();
// What was there when the page opened has been there long enough.
document.querySelectorAll(".card.is-open").forEach((card) => clickableAt.delete(card));

const mayBeClicked = (card) => performance.now() >= (clickableAt.get(card) ?? 0);

// ---- the click

// Only a pointer's click answers: arrow keys on radio buttons fire clicks, too.
let pointedAt = null;

document.addEventListener("pointerup", ({ target }) => {
  pointedAt = target.closest(".option-row .option");
});
document.addEventListener("keydown", () => {
  pointedAt = null;
});

// A description with a link is for reading: below its top edge a click that misses the link does not answer.
function isBesideLink({ target, clientY }, option) {
  const description = option.querySelector(".option-description:has(a)");
  if (!description || target.closest("a")) return false;
  return clientY >= description.getBoundingClientRect().top;
}

document.addEventListener("click", (event) => {
  const option = event.target.closest(".option-row .option");
  const card = option?.closest(".card");
  if (!card || option !== pointedAt) return;
  if (!mayBeClicked(card)) return event.preventDefault();
  const form = option.closest(".layout:not([data-submit=always]) .sends-on-click");
  if (!form) return;
  if (isBesideLink(event, option)) return event.preventDefault();
  // A click on the label comes first, the one on its input follows: send on the second.
  const isOnInput = event.target.matches("input");
  const hasOpenNote = form.querySelector(".note[open]");
  if (isOnInput && !hasOpenNote) form.requestSubmit();
});

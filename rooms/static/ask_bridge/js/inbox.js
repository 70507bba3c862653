// Moves cards of the inbox into their folded section when no agent waits any more, and back when one does: to the
// person, or to those that others decide. Without it a card stays where it was when the page was loaded.

const shown = document.getElementById("open-questions");
const others = document.getElementById("others-decide");
const folded = document.getElementById("unattended");
const list = folded.querySelector(".cards");
const cards = () => [shown, others, list].flatMap((section) => [...section.querySelectorAll(":scope > .card")]);
const askedAt = (card) => new Date(card.querySelector(".card-time time").dateTime);

// A card that a person fills in stays where it is.
function isInUse(card) {
  const fields = [...card.querySelectorAll("textarea, input")];
  return card.contains(document.activeElement) || fields.some((field) => field.checked || isTyped(field));
}

const isTyped = (field) => field.type !== "hidden" && /text/.test(field.type) && field.value !== field.defaultValue;

function place(card) {
  const isAttended = "attended" in card.querySelector(".marks").dataset;
  const home = !isAttended ? list : card.matches(".is-locked") ? others : shown;
  if (card.parentElement === home || isInUse(card)) return;
  home.insertBefore(card, [...home.children].find((other) => askedAt(other) > askedAt(card)) ?? null);
}

function placeAll() {
  cards().filter((card) => card.matches(".is-open")).forEach(place);
  const count = list.querySelectorAll(".card:is(.is-open, .is-held)").length + Number(folded.dataset.rest);
  document.getElementById("unattended-count").textContent = count;
  folded.hidden = !list.children.length && !count;
}

document.addEventListener("htmx:sseMessage", placeAll);
document.addEventListener("focusout", () => setTimeout(placeAll)); // the focus is on its next element then

// Moves cards between the sections of the inbox: for this person, for others to decide, and folded when no agent waits.
// Without it a card stays where it was when the page was loaded.

const openSection = document.getElementById("open-questions");
const othersSection = document.getElementById("others-decide");
const unattended = document.getElementById("unattended");
const unattendedSection = unattended.querySelector(".cards");

const sections = [openSection, othersSection, unattendedSection];
const openCards = () => sections.flatMap((section) => [...section.querySelectorAll(":scope > .card.is-open")]);
const askedAt = (card) => new Date(card.querySelector(".card-time time").dateTime);

function sectionOf(card) {
  const isAttended = "attended" in card.querySelector(".marks").dataset;
  if (!isAttended) return unattendedSection;
  return card.matches(".is-locked") ? othersSection : openSection;
}

const isTyped = (field) => /text/.test(field.type) && field.value !== field.defaultValue;

// A card that a person fills in stays where it is.
function isInUse(card) {
  const fields = [...card.querySelectorAll("textarea, input")];
  return card.contains(document.activeElement) || fields.some((field) => field.checked || isTyped(field));
}

function place(card) {
  const section = sectionOf(card);
  if (card.parentElement === section || isInUse(card)) return;
  const next = [...section.children].find((other) => askedAt(other) > askedAt(card));
  section.insertBefore(card, next ?? null);
}

function placeAll() {
  openCards().forEach(place);
  const shownCount = unattendedSection.querySelectorAll(".card:is(.is-open, .is-held)").length;
  const count = shownCount + Number(unattended.dataset.rest);
  document.getElementById("unattended-count").textContent = count;
  unattended.hidden = !unattendedSection.children.length && !count;
}

document.addEventListener("htmx:sseMessage", placeAll);
document.addEventListener("focusout", () => setTimeout(placeAll)); // by then the next element has the focus

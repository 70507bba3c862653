// Announces new questions without moving the page: a button for those outside the window, a sentence for screen
// readers. It also puts settled cards into the timeline while the page is hidden. Without it new cards appear silently,
// and settled cards stay among the open ones until the next reload.

const BATCH_MS = 1000; // one sentence for a burst, not one for each card

const button = () => document.getElementById("ab-new-questions");
const inWords = (count) => (count === 1 ? button().dataset.one : button().dataset.many.replace("{count}", count));

// ---- new cards outside the window

const unseenCards = new Set();

const observer = new IntersectionObserver((entries) => {
  entries.forEach(({ target, isIntersecting }) => {
    if (isIntersecting || !target.isConnected) unseenCards.delete(target);
    else unseenCards.add(target);
    if (isIntersecting) observer.unobserve(target);
  });
  button().hidden = unseenCards.size === 0;
  button().textContent = inWords(unseenCards.size);
});

addEventListener("click", ({ target }) => {
  if (target !== button()) return;
  const [first] = unseenCards;
  first.scrollIntoView({ block: "center" });
});

// ---- the sentence for screen readers

let changes = []; // names of events: "question", or "card-ID" for a card that was settled

function announce() {
  const newCount = changes.filter((name) => name === "question").length;
  // A settled card's sentence is its badge, which htmx has put there by now.
  const badges = changes.map((name) => document.querySelector(`#${name} .ab-badge`)?.textContent.trim());
  const sentences = [newCount && inWords(newCount), ...badges].filter(Boolean);
  // Nothing about a card that is elsewhere: it would only remove what another script has written.
  if (sentences.length) document.getElementById("ab-announcer").textContent = sentences.join(". ");
  changes = [];
}

function announceSoon(name) {
  if (changes.length === 0) setTimeout(announce, BATCH_MS);
  changes.push(name);
}

// ---- which cards are new

function addNewCard(card) {
  observer.observe(card);
  announceSoon("question");
}

// The inbox has rows instead, and counts the new ones itself.
document.addEventListener("ask-bridge:new-rows", ({ detail: count }) => {
  for (let number = 0; number < count; number += 1) announceSoon("question");
});

document.addEventListener("ask-bridge:change", ({ detail: { event } }) => {
  if (event.startsWith("card-")) announceSoon(event);
  if (!event.startsWith("unlock-")) return;
  const id = event.replace("unlock-", "card-");
  // A card that was locked counts as new.
  const isLocked = document.getElementById(id)?.matches(".ab-is-locked");
  if (isLocked) setTimeout(() => addNewCard(document.getElementById(id))); // after htmx has replaced it
});

document.addEventListener("ab-htmx:sseMessage", ({ target, detail: { type } }) => {
  if (type === "question") addNewCard(target.lastElementChild);
});

// ---- settled cards make room for open ones while the page is hidden

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "hidden") return;
  const timeline = document.getElementById("ab-timeline");
  const settled = document.querySelectorAll("#ab-open-questions > .ab-card:not(.ab-is-open, .ab-is-held)");
  settled.forEach((card) => timeline.prepend(card));
});

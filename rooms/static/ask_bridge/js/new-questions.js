// Tells of new questions without moving anything: a pill for those out of sight, a sentence for screen readers.
// Without it they are just there.

const BATCH_MS = 1000; // one sentence for a burst, not one for each card
const unseen = new Set();
let news = [];

const pill = () => document.getElementById("new-questions");
const inWords = (count) => (count === 1 ? pill().dataset.one : pill().dataset.many.replace("{count}", count));

const sight = new IntersectionObserver((entries) => {
  entries.forEach(({ target, isIntersecting }) => {
    if (isIntersecting || !target.isConnected) unseen.delete(target);
    else unseen.add(target);
    if (isIntersecting) sight.unobserve(target);
  });
  pill().hidden = unseen.size === 0;
  pill().textContent = inWords(unseen.size);
});

addEventListener("click", ({ target }) => target === pill() && [...unseen][0].scrollIntoView({ block: "center" }));

// A settled card's sentence is its badge, once htmx has put it there.
function announce() {
  const badges = news.map((name) => document.querySelector(`#${name} .badge`)?.textContent.trim());
  const fresh = news.filter((name) => name === "question").length;
  document.getElementById("announcer").textContent = [fresh && inWords(fresh), ...badges].filter(Boolean).join(". ");
  news = [];
}

function tell(name) {
  if (news.length === 0) setTimeout(announce, BATCH_MS);
  news.push(name);
}

function welcome(card) {
  sight.observe(card);
  tell("question");
}

// A card that others had to decide is as good as new, and goes to those that this person can answer.
function unlock(id) {
  const card = document.getElementById(id);
  if (card.closest("#others-decide")) document.getElementById("open-questions").append(card);
  welcome(card);
}

document.addEventListener("ask-bridge:news", ({ detail: { event } }) => {
  if (event.startsWith("card-")) tell(event);
  const [, id] = /^unlock-(.*)/.exec(event) ?? [];
  // Once htmx has put it there.
  if (document.querySelector(`#card-${id}.is-locked`)) setTimeout(() => unlock(`card-${id}`));
});
document.addEventListener("htmx:sseMessage", ({ target, detail: { type } }) => {
  if (type === "question") welcome(target.lastElementChild);
});

// Settled cards make room for open ones when nobody looks.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "hidden") return;
  const timeline = document.getElementById("timeline");
  const lists = ":is(#open-questions, #others-decide, #unattended > .cards)";
  const settled = document.querySelectorAll(`${lists} > .card:not(.is-open, .is-held)`);
  settled.forEach((card) => (timeline ? timeline.prepend(card) : card.remove()));
});

// Answers with one click, and keeps what was typed. Without it every card is a plain form with a Submit button.

const SETTLE_MS = 400; // a card that has just come or moved under the pointer was not aimed at
const MOVED_PX = 4;

const phrase = (name) => document.getElementById(`phrase-${name}`).content.cloneNode(true);

// When a card came or moved, and when it may be clicked.
const settledAt = new WeakMap();
const places = new WeakMap();

function lookAtCards() {
  const now = performance.now();
  document.querySelectorAll(".card.is-open").forEach((card) => {
    const place = card.getBoundingClientRect().top + scrollY;
    const hasMoved = Math.abs(place - (places.get(card) ?? Infinity)) > MOVED_PX;
    // A card grows by what its own form opens; only what happens above it moves it.
    if (hasMoved) settledAt.set(card, now + SETTLE_MS);
    places.set(card, place);
  });
}

new MutationObserver(lookAtCards).observe(document.body, { childList: true, subtree: true });
lookAtCards();
// What was there when the page opened has been there long enough.
document.querySelectorAll(".card.is-open").forEach((card) => settledAt.delete(card));

// A click on an option is the answer, but only a pointer's: arrow keys on radio buttons fire clicks, too.
let pointedAt = null;
document.addEventListener("pointerup", (event) => (pointedAt = event.target.closest(".option-row .option")));
document.addEventListener("keydown", () => (pointedAt = null));

// A description with a link is for reading: from its first line on a click that misses the link does not answer.
function isBesideLink({ target, clientY }, option) {
  const description = option.querySelector(".option-description:has(a)");
  return Boolean(description) && !target.closest("a") && clientY >= description.getBoundingClientRect().top;
}

document.addEventListener("click", (event) => {
  const option = event.target.closest(".option-row .option");
  const card = option?.closest(".card");
  if (!card || option !== pointedAt) return;
  if (performance.now() < (settledAt.get(card) ?? 0)) return event.preventDefault();
  const form = option.closest(".layout:not([data-submit=always]) .sends-on-click");
  if (form && isBesideLink(event, option)) return event.preventDefault();
  // A click on the label comes first, the one on its input follows: send on the second.
  if (form && event.target.matches("input") && !form.querySelector(".note[open]")) form.requestSubmit();
});

// Other is for typing: the field is there at once.
document.addEventListener("change", (event) => {
  if (event.target.matches(".other-input:checked")) event.target.closest(".other").querySelector("textarea").focus();
});

// A refused form leads to the first field that it says something about.
document.addEventListener("htmx:afterRequest", ({ target, detail: { xhr } }) => {
  if (xhr.status !== 422 || !target.matches(".card-form")) return;
  const fields = [...target.querySelectorAll(".other-text")];
  const isWrong = (field) => Boolean(field.parentElement.querySelector(".other-error").textContent);
  fields.forEach((field) => field.setAttribute("aria-invalid", isWrong(field)));
  fields.find(isWrong)?.focus();
});

// The keyboard goes on from the new card, and words that somebody else's answer made useless stay readable.
function beforeReplacing(card, words) {
  const hadFocus = card.contains(document.activeElement);
  setTimeout(() => {
    const settled = document.querySelector(`#${card.id} .settled`);
    const next = settled?.querySelector("summary") ?? document.getElementById(card.id);
    if (settled?.closest(".page-question")) settled.open = true;
    // On the page itself, or where htmx found the id of the old card again.
    const isLost = [document.body, document.getElementById(card.id)].includes(document.activeElement);
    if (hadFocus && isLost) next?.focus({ preventScroll: true });
    if (!settled || !words.length || document.querySelector(`#${card.id} .lost`)) return;
    settled.before(phrase("lost"));
    const line = (text) => Object.assign(document.createElement("p"), { className: "lost-text", textContent: text });
    settled.previousElementSibling.append(...words.map(line));
  });
}

document.addEventListener("htmx:sseBeforeMessage", (event) => {
  const card = event.target;
  if (event.defaultPrevented || !card.matches(".card.is-open")) return;
  // What is on its way may be the very answer; if it is not, the refusal brings the words back. What seemed to fail
  // is the answer if it came from this person.
  const isOwn = /^<article[^>]* data-own/.test(event.detail.data);
  const isSent = card.querySelector(`form.htmx-request${isOwn ? ", form[data-failed]" : ""}`);
  const fields = isSent ? [] : [...card.querySelectorAll(".option-row input:checked, textarea, [name=reason]")];
  const said = (field) => (field.checked ? field.closest("label").querySelector(".option-label") : field);
  beforeReplacing(card, fields.map((field) => (said(field).value ?? said(field).textContent).trim()).filter(Boolean));
});

document.addEventListener("htmx:beforeSwap", ({ detail: { target, requestConfig } }) => {
  if (target.matches(".card.is-open")) beforeReplacing(target, []);
  // What was typed while a message was on its way begins the next, and half a message outlives the page around it.
  const sent = requestConfig.formData.get("content") ?? "";
  const typed = target.querySelector("#composer-text")?.value.replace(sent, "");
  if (typed) setTimeout(() => (document.getElementById("composer-text").value += typed));
});

// The stream was faster than the refusal of a late answer: the refusal goes to the card that is there now.
// By the request itself, because an element that is gone gets no events of htmx any more.
document.addEventListener("htmx:beforeRequest", ({ detail: { xhr, target } }) =>
  xhr.addEventListener("load", () => {
    if (xhr.status === 409 && !document.contains(target)) {
      htmx.swap(`#${target.id}`, xhr.responseText, { swapStyle: "outerHTML" });
    }
  }),
);

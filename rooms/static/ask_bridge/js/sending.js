// Shows how far an answer is, on the option that was clicked or beside the button that was pressed: sending, sent,
// delivered. Then the card folds. Without it a card folds at once, and says only then whether its answer was delivered.

const FOLD_MS = 700; // time to read a word; the agent does not wait for it
const FORMS = ".ab-card form";

const folding = new Map(); // id of a card that was answered here → its HTML as a settled card

// ---- the word

const wordOf = (card) => card.querySelector(".ab-send-state");

// One click answers: the word is on the option. Other forms have it beside their button.
function place(form, word) {
  const option = form.querySelector(".ab-sends-on-click .ab-option-row:has(input:checked) .ab-option");
  if (option) option.append(word);
  else form.querySelector("[type=submit]:not(.ab-retry)").after(word);
}

function show(form, state) {
  const word = document.getElementById(`ab-phrase-${state}`).content.firstElementChild.cloneNode(true);
  wordOf(form.closest(".ab-card"))?.remove();
  place(form, word);
  document.getElementById("ab-announcer").textContent = word.textContent; // for screen readers
}

document.addEventListener("ab-htmx:beforeRequest", (event) => {
  const form = event.target;
  if (!form.matches(FORMS)) return;
  if (folding.has(form.closest(".ab-card").id)) event.preventDefault(); // its answer is sent
  else show(form, "sending");
});

document.addEventListener("ab-htmx:afterRequest", ({ target }) => {
  const card = target.closest(".ab-card");
  if (target.matches(FORMS) && !folding.has(card.id)) wordOf(card)?.remove();
});

// ---- the card folds

// "Delivered" may have come while the card was waiting to fold.
function keepNewerMarks(marks) {
  const shown = document.getElementById(marks.id);
  const isNewer = Number(marks.dataset.revision) > Number(shown.dataset.revision);
  if (isNewer) askBridgeHtmx.swap(shown, marks.outerHTML, { swapStyle: "outerHTML" });
}

function fold(id) {
  const card = document.getElementById(id);
  const html = folding.get(id);
  folding.delete(id);
  if (!card) return;
  const marks = card.querySelector("[id^=marks-]");
  document.dispatchEvent(new CustomEvent("ask-bridge:replacing", { detail: card }));
  askBridgeHtmx.swap(card, html, { swapStyle: "outerHTML" });
  keepNewerMarks(marks);
}

// What failed before was sent now; the focus may be on its Retry button.
function forgetErrors(card, form) {
  const errors = form.querySelector(".ab-errors");
  if (errors.contains(document.activeElement)) card.focus({ preventScroll: true });
  errors.replaceChildren();
}

// Elements, not words of the HTML: the texts of people and agents may look like it.
const marksIn = (html) => new DOMParser().parseFromString(html, "text/html").querySelector("[id^=marks-]");
const revisionOf = (html) => Number(marksIn(html).dataset.revision);
const isDelivered = (html) => marksIn(html).querySelector(".ab-delivered") !== null;

function foldSoon(card, html) {
  const isFirst = !folding.has(card.id);
  if (!isFirst && revisionOf(html) <= revisionOf(folding.get(card.id))) return; // the reply was slower than the stream
  folding.set(card.id, html);
  const form = card.querySelector(".ab-card-form");
  // The stream may send the delivery together with the card.
  if (isDelivered(html)) show(form, "delivered");
  else if (isFirst) show(form, "sent");
  if (!isFirst) return;
  forgetErrors(card, form);
  setTimeout(() => fold(card.id), FOLD_MS);
}

// The inbox goes on to the next card at once; the one that was answered stays above it.
function isAnswered(card, html) {
  const isOwn = /^\s*<article[^>]*\sdata-status="answered"[^>]*\sdata-own/.test(html);
  return isOwn && card.matches(".ab-card.ab-is-open") && !card.closest("#ab-inbox");
}

// The reply to the form and the card of the stream have the same news, in either order.
document.addEventListener("ab-htmx:beforeSwap", ({ detail }) => {
  const { target, xhr, shouldSwap } = detail;
  if (!shouldSwap || xhr.status !== 200 || !isAnswered(target, xhr.responseText)) return;
  detail.shouldSwap = false;
  foldSoon(target, xhr.responseText);
});

document.addEventListener("ab-htmx:sseBeforeMessage", (event) => {
  const { target: card, detail, defaultPrevented } = event;
  if (defaultPrevented || !isAnswered(card, detail.data)) return;
  if (!folding.has(card.id) && !card.querySelector(".ab-card-form.htmx-request")) return;
  event.preventDefault();
  foldSoon(card, detail.data);
});

document.addEventListener("ask-bridge:change", ({ detail: { event, data } }) => {
  const id = event.replace("marks-", "card-");
  if (!event.startsWith("marks-") || !folding.has(id) || !isDelivered(data)) return;
  show(document.getElementById(id).querySelector(".ab-card-form"), "delivered");
});

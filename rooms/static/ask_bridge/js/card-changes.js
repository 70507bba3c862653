// Keeps focus and text when a card is replaced while a person works on it. Without it the keyboard loses its place, and
// words that another person's answer made useless disappear.

// ---- fields of a card

// The text field of Other has the focus as soon as Other is chosen.
document.addEventListener("change", ({ target }) => {
  if (target.matches(".ab-other-input:checked")) target.closest(".ab-other").querySelector("textarea").focus();
});

// A refused form leads to the first field with an error.
document.addEventListener("ab-htmx:afterRequest", ({ target, detail: { xhr } }) => {
  if (xhr.status !== 422 || !target.matches(".ab-card-form")) return;
  const fields = [...target.querySelectorAll(".ab-other-text")];
  const isWrong = (field) => Boolean(field.parentElement.querySelector(".ab-other-error").textContent);
  fields.forEach((field) => field.setAttribute("aria-invalid", isWrong(field)));
  fields.find(isWrong)?.focus();
});

// ---- a card is replaced

function moveFocus(card, settled) {
  const next = settled?.querySelector("summary") ?? card;
  // On the page itself, or where htmx found the id of the old card again.
  const isLost = [document.body, card].includes(document.activeElement);
  if (isLost) next?.focus({ preventScroll: true });
}

function paragraph(text) {
  const element = document.createElement("p");
  element.className = "ab-lost-text";
  element.textContent = text;
  return element;
}

// The form for corrections takes the words, to be read again before they are sent.
function sendButton(card, texts) {
  const form = card.querySelector(".ab-correct");
  if (!form) return [];
  const button = document.getElementById("ab-phrase-send-lost").content.firstElementChild.cloneNode(true);
  button.addEventListener("click", () => {
    form.open = true;
    form.querySelector("textarea").value = texts.join("\n");
    form.querySelector("textarea").focus();
  });
  return [button];
}

function showLostText(settled, texts) {
  settled.before(document.getElementById("ab-phrase-lost").content.cloneNode(true));
  const place = settled.previousElementSibling;
  place.append(...texts.map(paragraph), ...sendButton(settled.closest(".ab-card"), texts));
}

// After htmx has put the new card there: the focus goes on from it, and text that was not sent stays readable.
function afterReplacing(oldCard, texts) {
  const hadFocus = oldCard.contains(document.activeElement);
  setTimeout(() => {
    const card = document.getElementById(oldCard.id);
    const settled = card?.querySelector(".ab-settled");
    if (settled?.closest(".ab-page-question")) settled.open = true;
    if (hadFocus) moveFocus(card, settled);
    if (settled && texts.length && !card.querySelector(".ab-lost")) showLostText(settled, texts);
  });
}

function textOf(field) {
  if (field.checked) return field.closest("label").querySelector(".ab-option-label").textContent.trim();
  return field.value.trim();
}

// Cards that the person changed on this page. Other fields are filled from a draft, which another tab may have sent.
const changedHere = new WeakSet();

document.addEventListener("input", ({ target }) => changedHere.add(target.closest(".ab-card") ?? target));

// What a person chose and typed on a card but has not sent. A form that is being sent may be the very answer that
// arrives; if it is not, its refusal brings the text back. A form whose sending seemed to fail did arrive if the answer
// is this person's.
function unsentTexts(card, newHtml) {
  const isOwnAnswer = /^<article[^>]*\sdata-own/.test(newHtml);
  if (isOwnAnswer && !changedHere.has(card)) return [];
  const sentForms = isOwnAnswer ? "form.htmx-request, form[data-failed]" : "form.htmx-request";
  if (card.querySelector(sentForms)) return [];
  const fields = [...card.querySelectorAll(".ab-option-row input:checked, textarea, [name=reason]")];
  return fields.map(textOf).filter(Boolean);
}

document.addEventListener("ab-htmx:sseBeforeMessage", (event) => {
  const card = event.target;
  if (event.defaultPrevented || !card.matches(".ab-card.ab-is-open")) return;
  afterReplacing(card, unsentTexts(card, event.detail.data));
});

// An undo that could not be sent is lost when the window ends.
function showLateUndo(id) {
  const settled = document.querySelector(`#${id}:not(.ab-is-held) .ab-settled`);
  settled?.before(document.getElementById("ab-phrase-undo-late").content.cloneNode(true));
}

document.addEventListener("ab-htmx:sseBeforeMessage", ({ target: card, defaultPrevented }) => {
  const isUnsent = card.matches(".ab-card:has(.ab-undo-form .ab-retry)");
  if (isUnsent && !defaultPrevented) setTimeout(() => showLateUndo(card.id));
});

document.addEventListener("ab-htmx:beforeSwap", ({ detail: { target } }) => {
  if (target.matches(".ab-card.ab-is-open")) afterReplacing(target, []);
});

// sending.js replaces a card itself.
document.addEventListener("ask-bridge:replacing", ({ detail: card }) => afterReplacing(card, []));

// The stream was faster than the refusal of a late answer: the refusal goes to the card that is there now.
// By the request itself, because an element that is removed gets no events of htmx any more.
document.addEventListener("ab-htmx:beforeRequest", ({ detail: { xhr, target } }) => {
  xhr.addEventListener("load", () => {
    if (xhr.status !== 409 || document.contains(target)) return;
    askBridgeHtmx.swap(`#${target.id}`, xhr.responseText, { swapStyle: "outerHTML" });
  });
});

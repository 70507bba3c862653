// Keeps focus and text when a card is replaced while a person works on it. Without it the keyboard loses its place, and
// words that another person's answer made useless disappear.

// ---- fields of a card

// The text field of Other has the focus as soon as Other is chosen.
document.addEventListener("change", ({ target }) => {
  if (target.matches(".other-input:checked")) target.closest(".other").querySelector("textarea").focus();
});

// A refused form leads to the first field with an error.
document.addEventListener("htmx:afterRequest", ({ target, detail: { xhr } }) => {
  if (xhr.status !== 422 || !target.matches(".card-form")) return;
  const fields = [...target.querySelectorAll(".other-text")];
  const isWrong = (field) => Boolean(field.parentElement.querySelector(".other-error").textContent);
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
  element.className = "lost-text";
  element.textContent = text;
  return element;
}

function showLostText(settled, texts) {
  settled.before(document.getElementById("phrase-lost").content.cloneNode(true));
  settled.previousElementSibling.append(...texts.map(paragraph));
}

// After htmx has put the new card there: the focus goes on from it, and text that was not sent stays readable.
function afterReplacing(oldCard, texts) {
  const hadFocus = oldCard.contains(document.activeElement);
  setTimeout(() => {
    const card = document.getElementById(oldCard.id);
    const settled = card?.querySelector(".settled");
    if (settled?.closest(".page-question")) settled.open = true;
    if (hadFocus) moveFocus(card, settled);
    if (settled && texts.length && !card.querySelector(".lost")) showLostText(settled, texts);
  });
}

function textOf(field) {
  if (field.checked) return field.closest("label").querySelector(".option-label").textContent.trim();
  return field.value.trim();
}

// What a person chose and typed on a card but has not sent. A form that is being sent may be the very answer that
// arrives; if it is not, its refusal brings the text back. A form whose sending seemed to fail did arrive if the answer
// is this person's.
function unsentTexts(card, newHtml) {
  const isOwnAnswer = /^<article[^>]*\sdata-own/.test(newHtml);
  const sentForms = isOwnAnswer ? "form.htmx-request, form[data-failed]" : "form.htmx-request";
  if (card.querySelector(sentForms)) return [];
  const fields = [...card.querySelectorAll(".option-row input:checked, textarea, [name=reason]")];
  return fields.map(textOf).filter(Boolean);
}

document.addEventListener("htmx:sseBeforeMessage", (event) => {
  const card = event.target;
  if (event.defaultPrevented || !card.matches(".card.is-open")) return;
  afterReplacing(card, unsentTexts(card, event.detail.data));
});

document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  if (target.matches(".card.is-open")) afterReplacing(target, []);
});

// The stream was faster than the refusal of a late answer: the refusal goes to the card that is there now.
// By the request itself, because an element that is removed gets no events of htmx any more.
document.addEventListener("htmx:beforeRequest", ({ detail: { xhr, target } }) => {
  xhr.addEventListener("load", () => {
    if (xhr.status !== 409 || document.contains(target)) return;
    htmx.swap(`#${target.id}`, xhr.responseText, { swapStyle: "outerHTML" });
  });
});

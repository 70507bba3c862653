// Shows what went wrong beside what was clicked, with a Retry button, and sends a form of a card or of the composer
// again when the connection is back. Without it a click that fails shows nothing.

const SEND_MS = 20_000; // a write that waits for a busy database still arrives in time
const AGAIN_MS = 15_000; // the page is connected, but a form did not get through: not at once, for a busy server
const MOST_TRIES = 5; // by itself; after that something is wrong that only a person can see
const FORMS = ".ab-card form, .ab-composer";

// Whether the server itself explains what is wrong: the person is signed out, or the database takes no writes. The 503
// page of a proxy names no place for its text.
function isExplained(xhr) {
  return xhr.status === 401 || (xhr.status === 503 && xhr.getResponseHeader("HX-Retarget"));
}

const phrase = (name) => document.getElementById(`ab-phrase-${name}`).content.cloneNode(true);
const notSentPhrase = () => phrase("not-sent");

// An option that was sent with a click. Previews beside the options leave no room between these.
const CLICKED =
  ".ab-layout:not([data-submit=always]) .ab-sends-on-click:not(:has(.ab-note[open])) " +
  ".ab-prompt:not(.ab-has-previews) .ab-option-row:has(input:checked)";

function newPlace(form) {
  const place = document.createElement("div");
  place.className = "ab-errors";
  form.append(place);
  return place;
}

// Where a form shows what went wrong: under the option that was clicked, else at its button.
function placeForErrors(form) {
  const place = form.querySelector(".ab-errors") ?? newPlace(form);
  place.role = "alert";
  const option = form.querySelector(CLICKED);
  const actions = form.querySelector(".ab-card-actions");
  // An element that moves loses the focus.
  if (option && place.parentElement !== option) option.append(place);
  if (!option && actions && place.nextElementSibling !== actions) actions.before(place);
  return place;
}

function show(place, ...content) {
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren(...content);
  if (hadFocus) (place.querySelector("button") ?? place.querySelector("a")).focus();
  place.scrollIntoView({ block: "nearest" });
}

// ---- before a form is sent

document.addEventListener("ab-htmx:configRequest", ({ target, detail }) => {
  if (target.matches(FORMS)) detail.timeout = SEND_MS;
});

function forget(form) {
  delete form.dataset.failed;
  placeForErrors(form).replaceChildren();
}

let isSentByItself = false;

// The last decision counts: what failed before it on the same card is not sent any more.
document.addEventListener("ab-htmx:beforeRequest", ({ target }) => {
  if (!target.matches(FORMS)) return;
  if (!isSentByItself) delete target.dataset.tries;
  delete target.dataset.failed;
  const place = placeForErrors(target);
  // A Retry button stays meanwhile, because it may have the focus.
  if (!place.querySelector(".ab-retry")) place.replaceChildren();
  target.closest(".ab-card")?.querySelectorAll("form[data-failed]").forEach(forget);
});

// ---- after it failed

function showFailure({ target, detail: { xhr } }) {
  if (!target.matches(FORMS) || isExplained(xhr)) return;
  // The token of this page is no longer valid: only a new page has another one.
  if (xhr.status === 403) return show(placeForErrors(target), phrase("reload"));
  const content = notSentPhrase();
  // No reply, or one of a proxy, is sent again. After another reply of the server only a person can decide that.
  const mayBeSentLater = xhr.status === 0 || xhr.status > 501;
  const isSentLater = mayBeSentLater && triesOf(target) < MOST_TRIES;
  if (isSentLater) target.dataset.failed = "";
  else content.querySelector(".ab-sent-later").remove();
  show(placeForErrors(target), content);
  if (isSentLater && isConnected) setTimeout(sendAgain, AGAIN_MS);
}

document.addEventListener("ab-htmx:sendError", showFailure);
document.addEventListener("ab-htmx:timeout", showFailure);
document.addEventListener("ab-htmx:responseError", showFailure);

// The server's explanation goes to the form that was sent. Other requests of a card, and those of the checklist of a key,
// were not made by a person.
document.addEventListener("ab-htmx:beforeSwap", ({ detail }) => {
  if (!isExplained(detail.xhr)) return;
  const { elt } = detail.requestConfig;
  detail.shouldSwap = elt.matches(FORMS) || !elt.closest(".ab-card, .ab-ticks");
  if (elt.matches(FORMS)) detail.target = placeForErrors(elt);
});

document.addEventListener("ab-htmx:responseError", ({ target, detail: { xhr, target: place } }) => {
  if (!isExplained(xhr) || !target.matches(FORMS)) return;
  const retryButton = notSentPhrase().querySelector("button");
  show(place, ...place.childNodes, retryButton);
});

// A sentence of the server comes into sight; after "too many" the same form can be sent again.
document.addEventListener("ab-htmx:afterRequest", ({ target, detail: { xhr } }) => {
  if (![422, 429].includes(xhr.status) || !target.matches(".ab-card form")) return;
  const place = placeForErrors(target);
  const retryButton = notSentPhrase().querySelector("button");
  show(place, ...place.childNodes, ...(xhr.status === 429 ? [retryButton] : []));
});

// ---- sending again

// A form that is being changed is not sent by itself.
document.addEventListener("input", ({ target }) => {
  const form = target.closest("form[data-failed]");
  if (!form) return;
  delete form.dataset.failed;
  form.querySelector(".ab-sent-later").remove();
});

const triesOf = (form) => Number(form.dataset.tries ?? 0);

// The server recognises an answer or a message that arrived before.
function sendAgain() {
  isSentByItself = true;
  document.querySelectorAll("form[data-failed]").forEach((form) => {
    form.dataset.tries = triesOf(form) + 1;
    form.requestSubmit();
  });
  isSentByItself = false;
}

let isConnected = false;

document.addEventListener("ask-bridge:disconnected", () => {
  isConnected = false;
});
document.addEventListener("ask-bridge:connected", () => {
  isConnected = true;
  sendAgain();
});
addEventListener("online", sendAgain);

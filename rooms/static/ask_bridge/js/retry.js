// Shows beside a form of a card or of the composer that it could not be sent, with a Retry button, and sends it again
// when the connection is back. Without it a click that fails shows nothing.

const SEND_MS = 20_000; // a write that waits for a busy database still arrives in time
const FORMS = ".card form, .composer";

// Whether the server itself explains what is wrong: the person is signed out, or the database takes no writes. The 503
// page of a proxy names no place for its text.
function isExplained(xhr) {
  return xhr.status === 401 || (xhr.status === 503 && xhr.getResponseHeader("HX-Retarget"));
}

const notSentPhrase = () => document.getElementById("phrase-not-sent").content.cloneNode(true);

// Where a form shows what went wrong: cards have a place for it, other forms get one.
function placeForErrors(form) {
  let place = form.querySelector(".errors");
  if (!place) {
    place = document.createElement("div");
    place.className = "errors";
    form.append(place);
  }
  place.role = "alert";
  return place;
}

function show(place, ...content) {
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren(...content);
  if (hadFocus) place.querySelector("button").focus();
  place.scrollIntoView({ block: "nearest" });
}

// ---- before a form is sent

document.addEventListener("htmx:configRequest", ({ target, detail }) => {
  if (target.matches(FORMS)) detail.timeout = SEND_MS;
});

function forget(form) {
  delete form.dataset.failed;
  placeForErrors(form).replaceChildren();
}

// The last decision counts: what failed before it on the same card is not sent any more.
document.addEventListener("htmx:beforeRequest", ({ target }) => {
  if (!target.matches(FORMS)) return;
  delete target.dataset.failed;
  target.closest(".card")?.querySelectorAll("form[data-failed]").forEach(forget);
});

// ---- after it failed

function showFailure({ target, detail: { xhr } }) {
  if (!target.matches(FORMS) || isExplained(xhr)) return;
  const content = notSentPhrase();
  // No reply, or one of a proxy, is sent again. After another reply of the server only a person can decide that.
  const isSentLater = xhr.status === 0 || xhr.status > 501;
  if (isSentLater) target.dataset.failed = "";
  else content.querySelector(".sent-later").remove();
  show(placeForErrors(target), content);
}

document.addEventListener("htmx:sendError", showFailure);
document.addEventListener("htmx:timeout", showFailure);
document.addEventListener("htmx:responseError", showFailure);

// The server's explanation goes to the form that was sent. Other requests of a card were not made by a person.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!isExplained(detail.xhr)) return;
  const { elt } = detail.requestConfig;
  detail.shouldSwap = elt.matches(FORMS) || !elt.closest(".card");
  if (elt.matches(FORMS)) detail.target = placeForErrors(elt);
});

document.addEventListener("htmx:responseError", ({ target, detail: { xhr, target: place } }) => {
  if (!isExplained(xhr) || !target.matches(FORMS)) return;
  const retryButton = notSentPhrase().querySelector("button");
  show(place, ...place.childNodes, retryButton);
});

// ---- sending again

// A form that is being changed is not sent by itself.
document.addEventListener("input", ({ target }) => {
  const form = target.closest("form[data-failed]");
  if (!form) return;
  delete form.dataset.failed;
  form.querySelector(".sent-later").remove();
});

function sendAgain() {
  document.querySelectorAll("form[data-failed]").forEach((form) => form.requestSubmit());
}

document.addEventListener("ask-bridge:connected", sendAgain);
addEventListener("online", sendAgain);

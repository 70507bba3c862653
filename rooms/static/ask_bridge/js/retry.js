// Says beside a form of a card or of the composer that it could not be sent, or why not, with a Retry button, and sends
// it again when the connection is back. Without it a click that fails shows nothing.

const SEND_MS = 20_000; // a write that waits for a busy database still arrives in time
const FORMS = ".card form, .composer";

// A sentence of the server itself: the person is signed out, or the database takes no writes. The 503 page of a proxy
// names no place for it.
const isSentence = (xhr) => xhr.status === 401 || (xhr.status === 503 && xhr.getResponseHeader("HX-Retarget"));

const phrase = () => document.getElementById("phrase-not-sent").content.cloneNode(true);

// Where a form shows what went wrong: cards have a place for it, other forms get one.
function placeIn(form) {
  const place = form.querySelector(".errors") ?? Object.assign(document.createElement("div"), { className: "errors" });
  place.role = "alert";
  if (!place.isConnected) form.append(place);
  return place;
}

function show(place, ...content) {
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren(...content);
  if (hadFocus) place.querySelector("button").focus();
  place.scrollIntoView({ block: "nearest" });
}

document.addEventListener("htmx:configRequest", ({ target, detail }) => {
  if (target.matches(FORMS)) detail.timeout = SEND_MS;
});

// The last decision counts: what failed before it on the same card is not sent any more.
document.addEventListener("htmx:beforeRequest", ({ target }) => {
  if (!target.matches(FORMS)) return;
  delete target.dataset.failed;
  target.closest(".card")?.querySelectorAll("form[data-failed]").forEach((form) => {
    delete form.dataset.failed;
    placeIn(form).replaceChildren();
  });
});

["htmx:sendError", "htmx:timeout", "htmx:responseError"].forEach((name) =>
  document.addEventListener(name, ({ target, detail: { xhr } }) => {
    if (!target.matches(FORMS) || isSentence(xhr)) return;
    const content = phrase();
    // No reply, or one of a proxy. Of what else the server said only a person can know whether to repeat it.
    if (xhr.status === 0 || xhr.status > 501) target.dataset.failed = "";
    else content.querySelector(".sent-later").remove();
    show(placeIn(target), content);
  }),
);

// The sentence comes to the form that was sent. Other requests of a card are not a person's.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { elt } = detail.requestConfig;
  if (!isSentence(detail.xhr)) return;
  detail.shouldSwap = elt.matches(FORMS) || !elt.closest(".card");
  if (elt.matches(FORMS)) detail.target = placeIn(elt);
});
document.addEventListener("htmx:responseError", ({ target, detail: { xhr, target: place } }) => {
  if (isSentence(xhr) && target.matches(FORMS)) show(place, ...place.childNodes, phrase().querySelector("button"));
});

// Half a change is not sent by itself.
document.addEventListener("input", ({ target }) => {
  const form = target.closest("form[data-failed]");
  if (!form) return;
  delete form.dataset.failed;
  form.querySelector(".sent-later").remove();
});

const sendAgain = () => document.querySelectorAll("form[data-failed]").forEach((form) => form.requestSubmit());
document.addEventListener("ask-bridge:connected", sendAgain);
addEventListener("online", sendAgain);

// The banner about the connection. Without it a page does not say that it is out of date, or that it polls.

const PATIENCE_MS = 3000; // shorter gaps are not worth a message

const banner = () => document.getElementById("ab-connection");

let lostTimer = null;
let lastStatus = 0;

function show(phrase) {
  banner().replaceChildren(document.getElementById(`ab-phrase-${phrase}`).content.cloneNode(true));
  banner().classList.toggle("ab-is-back", phrase === "caught-up");
  banner().hidden = false;
}

function hideIfBack() {
  if (banner().classList.contains("ab-is-back")) banner().hidden = true;
}

document.addEventListener("ask-bridge:disconnected", ({ detail: { status } }) => {
  lastStatus = status;
  lostTimer ??= setTimeout(() => show(lastStatus === 401 ? "signed-out" : "lost-connection"), PATIENCE_MS);
});

document.addEventListener("ask-bridge:connected", ({ detail }) => {
  document.getElementById("ab-polling").hidden = !detail?.isPolling;
  clearTimeout(lostTimer);
  lostTimer = null;
  if (banner().hidden) return;
  show("caught-up");
  setTimeout(hideIfBack, PATIENCE_MS);
});

document.addEventListener("ab-htmx:responseError", ({ detail: { xhr, target } }) => {
  if (xhr.status === 404 && target === document.getElementById("ab-layout")) show("no-room");
});

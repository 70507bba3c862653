// The banner about the connection. Without it a page does not say that it is out of date.

const PATIENCE_MS = 3000; // shorter gaps are not worth a message

const banner = () => document.getElementById("connection");

let lostTimer = null;
let lastStatus = 0;

function show(phrase) {
  banner().replaceChildren(document.getElementById(`phrase-${phrase}`).content.cloneNode(true));
  banner().classList.toggle("is-back", phrase === "caught-up");
  banner().hidden = false;
}

function hideIfBack() {
  if (banner().classList.contains("is-back")) banner().hidden = true;
}

document.addEventListener("ask-bridge:disconnected", ({ detail: { status } }) => {
  lastStatus = status;
  lostTimer ??= setTimeout(() => show(lastStatus === 401 ? "signed-out" : "lost-connection"), PATIENCE_MS);
});

document.addEventListener("ask-bridge:connected", () => {
  clearTimeout(lostTimer);
  lostTimer = null;
  if (banner().hidden) return;
  show("caught-up");
  setTimeout(hideIfBack, PATIENCE_MS);
});

document.addEventListener("htmx:responseError", ({ detail: { xhr, target } }) => {
  if (xhr.status === 404 && target === document.getElementById("layout")) show("no-room");
});

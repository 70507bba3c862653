// Keeps what is newer: the stream and the reply to a form can arrive in either order. Without it an older state of a
// card can replace a newer one, and a message can appear twice.

const ADDING_EVENTS = ["question", "others", "entry"];

// The first tag only: people and agents write the rest.
const messageIn = (html) => /^<[^>]*\sid="(message-\w+)"/.exec(html)?.[1];

function marksIn(html) {
  const [, question, revision] = /id="marks-(\w+)"\s+data-revision="(\d+)"/.exec(html) ?? [];
  return { shown: question && document.getElementById(`marks-${question}`), revision: Number(revision) };
}

function isOutdated(html, { adds }) {
  const message = messageIn(html);
  if (message) return document.getElementById(message) !== null;
  const { shown, revision } = marksIn(html);
  return Boolean(shown) && (adds || Number(shown.dataset.revision) >= revision);
}

document.addEventListener("htmx:sseBeforeMessage", (event) => {
  const { type, data } = event.detail;
  if (isOutdated(data, { adds: ADDING_EVENTS.includes(type) })) event.preventDefault();
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const isAnswer = detail.target.matches(".card") && detail.xhr.status === 200;
  if (isAnswer && isOutdated(detail.xhr.responseText, { adds: false })) detail.shouldSwap = false;
});

// Keeps what is newer: the stream and the reply to a form can arrive in either order. Without it an older state of a
// card can replace a newer one, and a message can appear twice.

const ADDING_EVENTS = ["question", "others", "entry"];

// Elements are compared, not words of the HTML: the texts of people and agents may look like it.
const parsed = (html) => new DOMParser().parseFromString(html, "text/html").body;

function isOutdated(html, { adds }) {
  const part = parsed(html);
  const message = part.querySelector(":scope > [id^=message-], :scope > [id^=correction-]");
  if (message) return document.getElementById(message.id) !== null;
  const marks = part.querySelector("[id^=marks-]");
  const shown = marks && document.getElementById(marks.id);
  return Boolean(shown) && (adds || Number(shown.dataset.revision) >= Number(marks.dataset.revision));
}

document.addEventListener("ab-htmx:sseBeforeMessage", (event) => {
  const { type, data } = event.detail;
  if (isOutdated(data, { adds: ADDING_EVENTS.includes(type) })) event.preventDefault();
});

document.addEventListener("ab-htmx:beforeSwap", ({ detail }) => {
  const isAnswer = detail.target.matches(".ab-card") && detail.xhr.status === 200;
  if (isAnswer && isOutdated(detail.xhr.responseText, { adds: false })) detail.shouldSwap = false;
});

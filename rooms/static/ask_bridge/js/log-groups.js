// Puts a new log line into the group of its sender's lines below it. Without it each new line stands alone until the page
// is loaded again.

const timeline = document.getElementById("ab-timeline");

const isLog = (element) => element?.matches(".ab-log, .ab-log-group");
const senderOf = (element) => (element.querySelector(".ab-log-sender") ?? element).textContent;

function groupOf(line) {
  const group = document.createElement("details");
  const summary = document.createElement("summary");
  const more = document.createElement("span");
  group.className = "ab-log-group";
  more.className = "ab-log-more";
  line.replaceWith(group);
  summary.append(line, more);
  group.append(summary);
  return group;
}

function join(line, below) {
  const group = below.matches(".ab-log-group") ? below : groupOf(below);
  const summary = group.querySelector("summary");
  summary.after(summary.querySelector(".ab-log"));
  summary.prepend(line);
  const count = group.querySelectorAll(".ab-log").length;
  summary.querySelector(".ab-log-more").textContent = timeline.dataset.logLines.replace("{count}", count);
}

document.addEventListener("ab-htmx:sseMessage", ({ target, detail: { type } }) => {
  const line = target.firstElementChild;
  const below = line?.nextElementSibling;
  if (type !== "entry" || !line?.matches(".ab-log") || !isLog(below)) return;
  if (senderOf(line) === senderOf(below)) join(line, below);
});

// Adds up the open questions of all rooms and shows the sum in the rail, in the tab's title and as a badge on its icon.
// The count of each room comes over the stream. Without it only these counts change.

const pageTitle = document.title.replace(/^\(\d+\) /, "");
const icon = document.querySelector("link[rel=icon][data-badge]"); // a portal has an icon of its own

const all = (selector) => [...document.querySelectorAll(selector)];
const sumOf = (selector) => all(selector).reduce((sum, element) => sum + Number(element.textContent), 0);

function showCounts() {
  const total = sumOf("[data-open]");
  const totalWithoutMuted = sumOf("[data-part]");
  all("[data-open-total]").forEach((element) => (element.textContent = total));
  all("[data-total]").forEach((element) => (element.textContent = totalWithoutMuted));
  all("[data-zero]").forEach((element) => element.classList.toggle("ab-is-zero", element.textContent === "0"));
  document.title = totalWithoutMuted ? `(${totalWithoutMuted}) ${pageTitle}` : pageTitle;
  if (icon) icon.href = totalWithoutMuted ? icon.dataset.badge : icon.dataset.plain;
}

document.addEventListener("ab-htmx:sseMessage", ({ detail }) => {
  if (detail.type.startsWith("count-")) showCounts();
});
showCounts();

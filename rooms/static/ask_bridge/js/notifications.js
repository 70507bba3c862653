// Shows a notification of the browser when an agent asks while no tab of the site is looked at. Without it there are
// none, apart from push notifications.

const { notify, worker } = document.getElementById("ab-layout").dataset;
const isWanted = notify !== undefined;
const icon = document.querySelector("link[rel=icon][data-badge]"); // a portal has an icon of its own

// Shown by the service worker: phones know no other way, and a click works when the page is closed.
if (isWanted) navigator.serviceWorker?.register(worker);

async function closeNotifications(registration, tag) {
  const shown = (await registration?.getNotifications({ tag })) ?? [];
  shown.forEach((notification) => notification.close());
}

function showNotification(registration, html) {
  const card = new DOMParser().parseFromString(html, "text/html").querySelector(".ab-card");
  const textOf = (selector) => card.querySelector(selector)?.textContent.trim() ?? "";
  const title = [card.querySelector(".ab-chip")?.title, textOf(".ab-card-room a")].filter(Boolean).join(" · ");
  registration?.showNotification(title, {
    body: textOf(".ab-prompt-text"),
    tag: card.id,
    icon: icon?.dataset.plain,
    data: { url: card.querySelector(".ab-card-time").getAttribute("href") },
  });
}

// One tab notifies for all tabs, and none does while a person looks at one of them.
document.addEventListener("ask-bridge:change", async ({ detail: { event, room, data, notifies } }) => {
  if (!isWanted || window.Notification?.permission !== "granted") return;
  const registration = await navigator.serviceWorker?.ready;
  await closeNotifications(registration, event);
  const isMuted = document.querySelector(`[data-room="${room}"][data-muted]`);
  if (event === "question" && notifies && !isMuted) showNotification(registration, data);
});

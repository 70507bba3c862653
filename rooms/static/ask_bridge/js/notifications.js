// Calls somebody who looks elsewhere: by the tab's title and icon, and by notifications. Without it nothing does.

const name = document.title.replace(/^\(\d+\) /, "");
const icon = document.querySelector("link[rel=icon][data-badge]"); // a portal has its own;
const { notify, worker } = document.getElementById("layout").dataset;

document.addEventListener("ask-bridge:open", ({ detail: total }) => {
  document.title = total ? `(${total}) ${name}` : name;
  if (icon) icon.href = total ? icon.dataset.badge : icon.dataset.plain;
});

// Shown by the service worker: phones know no other way, and a click works when the page is gone.
if (notify !== undefined) navigator.serviceWorker?.register(worker);

// One tab speaks for all, and none while somebody looks at one of them.
document.addEventListener("ask-bridge:news", async ({ detail: { event, room, data, speaks } }) => {
  if (notify === undefined || window.Notification?.permission !== "granted") return;
  const registration = await navigator.serviceWorker?.ready;
  (await registration?.getNotifications({ tag: event }))?.forEach((notification) => notification.close());
  const isMuted = document.querySelector(`[data-room="${room}"][data-muted]`);
  if (event !== "question" || !speaks || isMuted) return;
  const card = new DOMParser().parseFromString(data, "text/html").querySelector(".card");
  const text = (selector) => card.querySelector(selector)?.textContent.trim() ?? "";
  const title = [card.querySelector(".chip")?.title, text(".card-room a")].filter(Boolean).join(" · ");
  const options = { body: text(".prompt-text"), tag: card.id, icon: icon?.dataset.plain };
  registration?.showNotification(title, { ...options, data: card.querySelector(".card-time").getAttribute("href") });
});

// Shows push notifications, also when no page is open, and opens the card of a notification that is clicked. Without it
// there are no notifications.

const SETTLED_MS = 5000; // browsers want to see something for every push: so the end is shown, silently and briefly

async function show({ url, settled, title, ...options }) {
  await registration.showNotification(title, { ...options, data: url, silent: settled });
  const shown = await registration.getNotifications({ tag: options.tag });
  if (settled) setTimeout(() => shown.forEach((notification) => notification.close()), SETTLED_MS);
}

async function visit(url) {
  const [lastPage] = await clients.matchAll({ type: "window" }); // the one that was looked at last comes first
  if (!lastPage) return clients.openWindow(url);
  await lastPage.focus();
  await lastPage.navigate(url);
}

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("push", (event) => event.waitUntil(show(event.data.json())));
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(visit(event.notification.data));
});

// Shows what comes by push, also when no page is open, and opens the card of a notification. Without it there are none.

const ANSWERED_MS = 5000; // browsers want to see something for every push: so the end is shown, silently and briefly

async function show({ url, settled, title, ...options }) {
  await registration.showNotification(title, { ...options, data: url, silent: settled });
  const shown = await registration.getNotifications({ tag: options.tag });
  if (settled) setTimeout(() => shown.forEach((notification) => notification.close()), ANSWERED_MS);
}

async function visit(url) {
  const [page] = await clients.matchAll({ type: "window" }); // the one that was looked at last
  await (page ? page.focus().then(() => page.navigate(url)) : clients.openWindow(url));
}

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("push", (event) => event.waitUntil(show(event.data.json())));
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(visit(event.notification.data));
});

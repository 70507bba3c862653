// Shows push notifications, also when no page is open; a click on one opens its card, a click on one of its buttons
// answers. Without it there are no notifications.

const SETTLED_MS = 5000; // browsers want to see something for every push: so the end is shown, silently and briefly
const RESULT_TAG = "ask-bridge-result"; // each result takes the place of the one before it

async function show({ url, answer, unsent, actions = [], settled, title, ...options }) {
  const fitting = actions.slice(0, Notification.maxActions ?? 0);
  const data = { url, answer, unsent, icon: options.icon };
  await registration.showNotification(title, { ...options, actions: fitting, data, silent: settled });
  const shown = await registration.getNotifications({ tag: options.tag });
  if (settled) setTimeout(() => shown.forEach((notification) => notification.close()), SETTLED_MS);
}

async function visit(url) {
  const [lastPage] = await clients.matchAll({ type: "window" }); // the one that was looked at last comes first
  if (!lastPage) return clients.openWindow(url);
  await lastPage.focus();
  await lastPage.navigate(url);
}

// The reply of the server. A person who is signed out would be sent to the login page, which is no reply.
async function replyOf(address, options) {
  const response = await fetch(address, { credentials: "same-origin", redirect: "error", ...options });
  return response.json();
}

// The CSRF token first: only pages of this site and this worker can read it.
async function send(address, option) {
  const { token } = await replyOf(address);
  const headers = { "X-CSRFToken": token };
  return replyOf(address, { method: "POST", headers, body: new URLSearchParams({ "choice-0": option }) });
}

async function answer({ title, tag, data }, option) {
  const result = await send(data.answer, option).catch(() => ({ title, body: data.unsent, url: data.url, tag }));
  await show({ tag: RESULT_TAG, icon: data.icon, ...result });
}

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("push", (event) => event.waitUntil(show(event.data.json())));
addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  notification.close();
  event.waitUntil(action ? answer(notification, action) : visit(notification.data.url));
});

// Says outside the page that a question waits: in the tab's title and icon, and as a notification of the system if
// the person wants them. Without it the page itself has to be looked at.
"use strict";

(() => {
  const name = document.title.replace(/^\(\d+\) /, "");
  const icon = document.querySelector("link[rel=icon][data-badge]"); // a portal has its own;

  document.addEventListener("ask-bridge:open", ({ detail: total }) => {
    document.title = total ? `(${total}) ${name}` : name;
    if (icon) icon.href = total ? icon.dataset.badge : icon.dataset.plain;
  });

  const notifications = new Map(); // by the event that settles the card

  function isWanted(room) {
    const isMuted = document.querySelector(`[data-room="${room}"][data-muted]`);
    return "notify" in document.getElementById("layout").dataset && !isMuted && window.Notification?.permission === "granted";
  }

  // One tab speaks for all, and none while somebody looks at one of them.
  document.addEventListener("ask-bridge:news", ({ detail: { event, room, data, speaks } }) => {
    notifications.get(event)?.close();
    if (event !== "question" || !speaks || !isWanted(room)) return;
    const card = new DOMParser().parseFromString(data, "text/html").querySelector(".card");
    const text = (selector) => card.querySelector(selector)?.textContent.trim() ?? "";
    const title = [card.querySelector(".chip")?.title, text(".card-room a")].filter(Boolean).join(" · ");
    const shown = new Notification(title, { body: text(".prompt-text"), tag: card.id, icon: icon?.dataset.plain });
    shown.onclick = () => {
      window.focus();
      location.assign(card.querySelector(".card-time").getAttribute("href"));
    };
    notifications.set(card.id, shown);
  });
})();

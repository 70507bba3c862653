// Shows a room in the navigation as soon as the person may see it, by its first event. Without it the room appears
// when the next page is loaded.

const NAVIGATION = ".ab-rail-nav";
const asked = new Set(); // once for each room: it may be gone again before the reply comes

// Not through htmx, for which some pages reply with a part of theirs.
async function reloadNavigation() {
  const reply = await fetch(location.href);
  if (reply.ok) askBridgeHtmx.swap(NAVIGATION, await reply.text(), { swapStyle: "outerHTML" }, { select: NAVIGATION });
}

document.addEventListener("ask-bridge:change", ({ detail: { room } }) => {
  if (!room) return;
  const links = [...document.querySelectorAll(`${NAVIGATION} [data-room]`)];
  if (links.some((link) => link.dataset.room === room)) return asked.delete(room);
  if (asked.has(room)) return;
  asked.add(room);
  reloadNavigation();
});

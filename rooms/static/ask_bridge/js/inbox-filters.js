// The filters of the inbox, which apply at once, and the line with the keys, which can be hidden.
// Without it filters have an Apply button, and the line stays.

const FILTERED = "ask-bridge:filtered"; // the filter that was changed by a key
const KEYS_LINE = "ask-bridge:keys-line"; // whether this browser hides the line with the keys

// A key chooses in a closed list at once, one entry after the other: the focus stays on the list over the new page. After
// a click it is free for the keys of the cards.
let isByKey = false;
document.addEventListener("keydown", () => (isByKey = true), { capture: true });
document.addEventListener("pointerdown", () => (isByKey = false), { capture: true });

document.addEventListener("change", ({ target }) => {
  const form = target.closest(".ab-inbox-filters");
  if (form && isByKey) sessionStorage.setItem(FILTERED, target.name);
  form?.requestSubmit();
});

const filtered = document.querySelector(`.ab-inbox-filters [name="${sessionStorage.getItem(FILTERED) ?? ""}"]`);
sessionStorage.removeItem(FILTERED);
filtered?.focus({ preventScroll: true });

// Again when the page has loaded its content anew.
function showKeysLine() {
  const line = document.getElementById("ab-keys-line");
  if (line) line.hidden = Boolean(localStorage.getItem(KEYS_LINE));
}

document.addEventListener("click", ({ target }) => {
  if (!target.closest("#ab-keys-line [data-hide]")) return;
  localStorage.setItem(KEYS_LINE, "hidden");
  showKeysLine();
});
document.addEventListener("ab-htmx:load", showKeysLine);
showKeysLine();

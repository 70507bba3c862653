// Keeps half an answer over reloads, restarts and logins, in this browser, for this person and question.
// Without it what was chosen or typed is lost with the page.

const PREFIX = "ask-bridge:draft:";
const KEPT_MS = 7 * 24 * 3600 * 1000; // after a week a draft is out of date

const keyOf = (card) => `${PREFIX}${document.getElementById("ab-layout").dataset.person}:${card.id}`;

function save(card) {
  if (!card) return;
  const fields = [...card.querySelectorAll("form")].flatMap((form) => [...new FormData(form)]);
  const filled = fields.filter(([name, value]) => name !== "csrfmiddlewaretoken" && value.trim());
  if (filled.length) localStorage.setItem(keyOf(card), JSON.stringify({ at: Date.now(), filled }));
  else localStorage.removeItem(keyOf(card));
}

function restoreField(field, values) {
  if (field.matches("[type=radio], [type=checkbox]")) {
    field.checked = values.includes(field.value);
  } else if (values.length) {
    field.value = values[0];
    field.closest("details")?.setAttribute("open", "");
  }
}

// Once for each card: what is entered in another tab later belongs to that tab.
function restore(card) {
  if (card.dataset.restored) return;
  card.dataset.restored = "yes";
  const draft = JSON.parse(localStorage.getItem(keyOf(card)));
  if (!draft) return;
  const valuesOf = (field) => draft.filled.filter(([name]) => name === field.name).map(([, value]) => value);
  const fields = card.querySelectorAll("form [name]:not([type=hidden])");
  fields.forEach((field) => restoreField(field, valuesOf(field)));
}

// Cards come and go while the page is open.
function update() {
  document.querySelectorAll(".ab-card.ab-is-open").forEach(restore);
  // A held answer may come back by Undo.
  const settled = document.querySelectorAll(".ab-card:not(.ab-is-open, .ab-is-held)");
  settled.forEach((card) => localStorage.removeItem(keyOf(card)));
}

function removeOldDrafts() {
  Object.entries(localStorage)
    .filter(([key, draft]) => key.startsWith(PREFIX) && Date.now() - JSON.parse(draft).at > KEPT_MS)
    .forEach(([key]) => localStorage.removeItem(key));
}

document.addEventListener("input", ({ target }) => save(target.closest(".ab-card.ab-is-open")));
new MutationObserver(update).observe(document.body, { childList: true, subtree: true });
removeOldDrafts();
update();

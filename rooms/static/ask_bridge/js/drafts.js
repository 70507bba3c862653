// Keeps half an answer over reloads, restarts and logins, in this browser, for this person and question.
// Without it what was chosen or typed lives as long as the page.

const DRAFTS = "ask-bridge:draft:";
const KEPT_MS = 7 * 24 * 3600 * 1000; // a draft older than a week is nobody's thought any more

const nameOf = (card) => `${DRAFTS}${document.getElementById("layout").dataset.person}:${card.id}`;

function keep(card) {
  if (!card) return;
  const fields = [...card.querySelectorAll("form")].flatMap((form) => [...new FormData(form)]);
  const filled = fields.filter(([name, value]) => name !== "csrfmiddlewaretoken" && value.trim());
  if (filled.length) localStorage.setItem(nameOf(card), JSON.stringify({ at: Date.now(), filled }));
  else localStorage.removeItem(nameOf(card));
}

function restore(card) {
  const draft = JSON.parse(localStorage.getItem(nameOf(card)));
  if (!draft || card.dataset.restored) return;
  card.dataset.restored = "yes";
  card.querySelectorAll("form [name]:not([type=hidden])").forEach((field) => {
    const values = draft.filled.filter(([name]) => name === field.name).map(([, value]) => value);
    if (field.matches("[type=radio], [type=checkbox]")) field.checked = values.includes(field.value);
    else if (values.length) {
      field.value = values[0];
      field.closest("details")?.setAttribute("open", "");
    }
  });
}

function look() {
  document.querySelectorAll(".card.is-open").forEach(restore);
  document.querySelectorAll(".card:not(.is-open)").forEach((card) => localStorage.removeItem(nameOf(card)));
}

document.addEventListener("input", ({ target }) => keep(target.closest(".card.is-open")));
new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
Object.entries(localStorage)
  .filter(([name, draft]) => name.startsWith(DRAFTS) && Date.now() - JSON.parse(draft).at > KEPT_MS)
  .forEach(([name]) => localStorage.removeItem(name));
look();

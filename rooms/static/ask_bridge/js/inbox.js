// The inbox: opens a row's card beside the rows, goes on to the next one after an answer, and keeps the rows up to date.
// Without it a row opens its card on a page of its own, and the rows are those of the last load.

const REFRESH_MS = 120; // one request for a burst of changes
const AGAIN_MS = 1000; // and up to as much again: a server that restarts is back soon

const inbox = () => document.getElementById("ab-inbox");
const rowsElement = () => document.getElementById("ab-rows");
const focusElement = () => document.getElementById("ab-focus");
const linksOf = (group) => [...document.querySelectorAll(`#ab-group-${group} .ab-row:not(.ab-is-done) .ab-row-link`)];
const GROUPS = ["needed", "held", "others", "unattended"];
const allLinks = () => GROUPS.flatMap(linksOf);
const focusedId = () => focusElement().dataset.question;

// ---- which question is open

function markCurrentRow() {
  allLinks().forEach((link) => {
    if (link.dataset.question === focusedId()) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
}

// ---- parts of the page

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Asks again while there is no reply, or only one of a proxy, and the part is still wanted; else null.
async function replyOf(address, part, isWanted) {
  const headers = { "HX-Request": "true", "HX-Target": part };
  while (isWanted()) {
    const response = await fetch(address, { headers }).catch(() => null);
    if (response && response.status <= 501) return response;
    await pause(AGAIN_MS * (1 + Math.random()));
  }
  return null;
}

// A portal may redirect to its login instead of refusing.
const isPart = (response) => response.ok && !response.redirected;

// ---- Previous and Next

function showStep(step, target, total) {
  focusElement()
    .querySelectorAll(`[data-step="${step}"]`)
    .forEach((link) => {
      link.hidden = !target;
      link.href = target?.href ?? "";
      if (link.dataset.many) link.textContent = total === 1 ? link.dataset.one : link.dataset.many.replace("{count}", total);
    });
}

// They follow the rows: after the last one comes the first, which may have been left for later.
function showSteps() {
  const links = linksOf("needed");
  const place = links.findIndex((link) => link.dataset.question === focusedId());
  const next = links[place + 1] ?? links[0];
  const count = neededTotal();
  const total = count - (place >= 0);
  const shown = focusElement().querySelector(".ab-place");
  if (shown) shown.textContent = place < 0 ? "" : shown.dataset.place.replace("{place}", place + 1).replace("{total}", count);
  showStep(-1, links[place - 1], total);
  showStep(1, next?.dataset.question === focusedId() ? null : next, total);
}

// ---- loading a card

// Where there is no room for two panes, the list keeps its place while a card is shown instead of it.
let listPlace = 0;

function showPane(isChosen) {
  const wasChosen = inbox().hasAttribute("data-chosen");
  if (isChosen && !wasChosen) listPlace = scrollY;
  inbox().toggleAttribute("data-chosen", isChosen);
  const isBeside = isChosen && rowsElement().checkVisibility();
  if (isBeside || (!isChosen && !wasChosen)) return;
  if (isChosen) document.getElementById("ab-content").scrollIntoView();
  else scrollTo(0, listPlace);
}

// The pane keeps its height from an answer until the next card is there. Not the element that htmx replaces: it copies
// attributes to the new one, and the policy of the page forbids a copied style.
const pane = () => document.querySelector(".ab-stage");
const keepHeight = () => pane().style.setProperty("min-height", `${pane().offsetHeight}px`);
const releaseHeight = () => pane().style.removeProperty("min-height");

// What could not be sent yet stays on the page, so that it is sent again (retry.js): above the next card.
const UNSENT = ".ab-card:has(form .ab-retry)";

const lastElement = () => document.getElementById("ab-last");

function clearLast() {
  lastElement()
    .querySelectorAll(`:scope > :not(${UNSENT})`)
    .forEach((element) => element.remove());
}

// The card before goes in the same moment: what follows it moves once.
function swapCard(html, { keepsLast, last }) {
  const kept = last?.() ?? focusElement().querySelector(UNSENT);
  if (!keepsLast) clearLast();
  if (kept) lastElement().append(kept);
  askBridgeHtmx.swap("#ab-focus", html, { swapStyle: "outerHTML" });
  lastElement().querySelector(`:scope > #card-${focusedId()}`)?.remove(); // it is opened again
}

let turn = 0; // grows with each card that is wanted and with each form that is sent: a reply that is late counts no more
let wantedAddress = ""; // while its card is being loaded

async function loadCard(address, { isChosen = true, keepsLast = false, takesFocus = true, last = null } = {}) {
  const thisTurn = ++turn;
  wantedAddress = address;
  const response = await replyOf(address, "ab-focus", () => thisTurn === turn);
  const html = await response?.text();
  if (thisTurn !== turn) return;
  if (!isPart(response)) return location.assign(address); // the whole page says what is wrong
  wantedAddress = "";
  swapCard(html, { keepsLast, last });
  releaseHeight();
  showPane(isChosen);
  markCurrentRow();
  if (takesFocus) focusElement().querySelector(".ab-card")?.focus({ preventScroll: true });
}

const placeInSite = () => location.pathname + location.search;
let shownPlace = placeInSite();

function open(address, options) {
  history.pushState({}, "", address);
  shownPlace = placeInSite();
  return loadCard(address, options);
}

const isPlainClick = ({ button, ctrlKey, metaKey, shiftKey, altKey }) =>
  button === 0 && !(ctrlKey || metaKey || shiftKey || altKey);

document.addEventListener("click", (event) => {
  const link = event.target.closest(".ab-row-link, .ab-step, .ab-back");
  if (!link || !isPlainClick(event)) return;
  event.preventDefault();
  open(link.href, { isChosen: !link.matches(".ab-back") });
});

addEventListener("popstate", () => {
  if (placeInSite() === shownPlace) return; // a link within the page, such as "Skip to content"
  shownPlace = placeInSite();
  loadCard(location.href, { isChosen: location.search.includes("question=") });
});

// The page with more rows, where the same question is open.
function showMore(link) {
  const address = new URL(link.href);
  address.searchParams.set("question", focusedId());
  location.assign(address);
}

document.addEventListener("ask-bridge:move", ({ detail: step }) => {
  const links = allLinks();
  const more = document.querySelector("#ab-group-needed .ab-more a");
  if (more && step > 0 && linksOf("needed").at(-1)?.dataset.question === focusedId()) return showMore(more);
  const isCurrent = (link) => (wantedAddress ? link.href === wantedAddress : link.dataset.question === focusedId());
  const place = links.findIndex(isCurrent);
  const next = links[place < 0 ? 0 : Math.min(Math.max(place + step, 0), links.length - 1)];
  if (!next || isCurrent(next)) return focusElement().querySelector(".ab-card")?.focus();
  next.scrollIntoView({ block: "nearest" });
  open(next.href);
});

// ---- after an answer

// The rows that need this person, from the one below a question on: after the last one comes the first.
function rowsAfter(question) {
  const ids = linksOf("needed").map((link) => link.dataset.question);
  const place = ids.indexOf(question);
  return place < 0 ? ids : [...ids.slice(place + 1), ...ids.slice(0, place)];
}

// The first of these that still needs this person, else any.
function nextAddress(answered, following) {
  const addresses = new Map(linksOf("needed").map((link) => [link.dataset.question, link.href]));
  addresses.delete(answered);
  return addresses.get([...following, ...addresses.keys()].find((id) => addresses.has(id)));
}

// By its status line: where the stream was faster than the reply, the card itself is not replaced.
const VOTED = ":has(.ab-slots.ab-is-mine)";

// What a vote did, in one line: the question itself waits for others now.
function voteLine(card) {
  const line = document.createElement("p");
  line.className = "ab-last-vote";
  line.append(card.querySelector(".ab-prompt-text").textContent.trim(), " ", card.querySelector(".ab-slots.ab-is-mine").cloneNode(true));
  return line;
}

// The decided card stays above the next one, with its Undo and its delivery. Until the next one is there it keeps the
// place and the height of the card, so that nothing moves twice.
function goOn(card, answered, following) {
  const next = nextAddress(answered, following);
  document.getElementById(`row-${answered}`)?.remove();
  const address = next ?? document.querySelector(".ab-back").href;
  const last = () => (card.matches(`.ab-is-open${VOTED}`) ? voteLine(card) : document.getElementById(card.id));
  open(address, { isChosen: Boolean(next), last });
}

// By the request itself, because a form that is replaced gets no events of htmx any more.
document.addEventListener("ab-htmx:beforeRequest", ({ target, detail: { xhr } }) => {
  if (!target.matches("#ab-focus .ab-card form")) return;
  const answered = focusedId();
  const following = rowsAfter(answered); // the stream may remove its row before the reply is there
  turn += 1;
  keepHeight();
  xhr.addEventListener("loadend", () => {
    if (xhr.status !== 200) return releaseHeight();
    setTimeout(() => {
      const card = focusElement().querySelector(`#card-${answered}:is(${VOTED}, :not(.ab-is-open))`);
      if (card) goOn(card, answered, following);
      else releaseHeight();
    });
  });
});

// ---- rows follow the changes

function mergeGroup(name, fresh) {
  const group = document.getElementById(`ab-group-${name}`);
  const freshGroup = fresh.getElementById(`ab-group-${name}`);
  const list = group.querySelector(".ab-row-list");
  const isPointedAt = list.matches(":hover");
  const freshRows = [...freshGroup.querySelectorAll(".ab-row")];
  const ids = new Set(freshRows.map((row) => row.id));
  [...list.children].filter((row) => !ids.has(row.id)).forEach((row) => (isPointedAt ? markDone(row) : row.remove()));
  // From the last to the first: a row that comes back by Undo goes before the one that follows it.
  let following = null;
  freshRows.reverse().forEach((row) => {
    const shown = list.querySelector(`:scope > #${row.id}`);
    if (!shown) list.insertBefore(row, following);
    else if (shown.dataset.revision !== row.dataset.revision) shown.replaceWith(row);
    following = list.querySelector(`:scope > #${row.id}`);
  });
  group.querySelector(".ab-count").replaceWith(freshGroup.querySelector(".ab-count"));
  mergeMore(group, freshGroup);
  group.hidden = freshGroup.hidden && !list.children.length;
}

// "Show more" comes and goes with the rows.
function mergeMore(group, freshGroup) {
  const [shown, fresh] = [group, freshGroup].map((one) => one.querySelector(":scope > .ab-more"));
  if (fresh && !shown) group.querySelector(".ab-row-list").after(fresh);
  if (!fresh && !shown?.contains(document.activeElement)) shown?.remove();
}

const markDone = (row) => row.classList.add("ab-is-done");

document.addEventListener(
  "pointerleave",
  ({ target }) => {
    if (target.matches?.(".ab-row-list")) target.querySelectorAll(".ab-is-done").forEach((row) => row.remove());
  },
  { capture: true },
);

let refreshes = 0;
let shownRefresh = 0; // a reply that was overtaken by a later one counts no more

async function refresh() {
  refreshes += 1;
  const thisRefresh = refreshes;
  const response = await replyOf(location.href, "ab-rows", () => thisRefresh > shownRefresh);
  const html = await response?.text();
  if (thisRefresh < shownRefresh || !response || !isPart(response)) return;
  shownRefresh = thisRefresh;
  showRows(new DOMParser().parseFromString(html, "text/html"));
}

const neededTotal = () => Number(document.querySelector("#ab-group-needed .ab-count").textContent);

function showRows(fresh) {
  const before = new Set(linksOf("needed").map((link) => link.dataset.question));
  const totalBefore = neededTotal();
  const focusId = document.activeElement.closest?.(".ab-row")?.id;
  GROUPS.forEach((name) => mergeGroup(name, fresh));
  document.getElementById("ab-rows-none").hidden = fresh.getElementById("ab-rows-none").hidden;
  document.getElementById("ab-today").replaceWith(fresh.getElementById("ab-today"));
  markCurrentRow();
  showSteps();
  openUndone();
  if (focusId) document.getElementById(focusId)?.querySelector("a").focus({ preventScroll: true });
  const after = new Set(linksOf("needed").map((link) => link.dataset.question));
  const added = [...after].filter((id) => !before.has(id)).length;
  const gone = [...before].filter((id) => !after.has(id)).length;
  // A row that only moves up into the ones that are shown is not new.
  const newRows = Math.max(0, Math.min(added, neededTotal() - totalBefore + gone));
  document.dispatchEvent(new CustomEvent("ask-bridge:new-rows", { detail: newRows }));
  if (!focusedId() && added) loadCard(location.href, { isChosen: false, keepsLast: true, takesFocus: false });
}

let undoneHere = ""; // the question whose decision was undone on this page last

document.addEventListener("ab-htmx:beforeRequest", ({ target }) => {
  const card = target.matches(".ab-undo-form") && target.closest("#ab-last .ab-card");
  if (card) undoneHere = card.id.replace("card-", "");
});

// A decision that was undone needs this person again. If another person undid it, only its row comes back: this one may
// be writing on the next card.
function openUndone() {
  const undone = document.querySelector(`#ab-last .ab-card.ab-is-open:not(${UNSENT})`)?.id.replace("card-", "");
  const link = undone && document.querySelector(`#row-${undone} .ab-row-link`);
  if (!link) return;
  if (undone !== undoneHere) clearLast();
  else if (link.href !== wantedAddress) open(link.href);
}

let timer = 0;

document.addEventListener("ask-bridge:change", ({ detail: { event } }) => {
  if (!/^(question|others|card-|marks-|unlock-|count-)/.test(event)) return;
  clearTimeout(timer);
  timer = setTimeout(refresh, REFRESH_MS);
});

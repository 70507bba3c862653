// Keeps an open page right: htmx swaps what the stream's events are named by. This file gives it a source that all
// tabs share, and lets nothing older replace something newer. Without it the page is as it was when it was loaded.

document.documentElement.classList.add("js");

const LOST_MS = 3000; // shorter gaps are not worth a word
const layout = () => document.getElementById("layout");

// Looks like an EventSource to htmx.
class SharedSource extends EventTarget {
  constructor(url) {
    super();
    this.readyState = EventSource.OPEN;
    this.address = new URL(url, location.href);
    const cursors = this.address.searchParams.get("since").split(",").filter(Boolean);
    this.since = new Map(cursors.map((pair) => [pair.split(":")[0], Number(pair.split(":")[1])]));
    this.address.searchParams.delete("since");
    this.ends = new AbortController();
    const on = (target, name, act) => target.addEventListener(name, act, { signal: this.ends.signal });
    ["focus", "blur", "visibilitychange"].forEach((name) => on(window, name, () => this.tell({})));
    on(window, "online", () => this.tell({ isNetworkNew: true }));
    on(window, "pagehide", () => this.tell({ isLeaving: true }));
    on(window, "pageshow", ({ persisted }) => persisted && this.join());
    on(window, "offline", () => disconnected(0));
    const { src } = document.getElementById("stream-script");
    // One worker for each person and language: another one's cards are not for this page.
    const kind = { name: this.address.search, type: "module" };
    const alone = () => askBridgeStream(new MessageChannel());
    const worker = "SharedWorker" in window ? new SharedWorker(src, kind) : { port: alone() };
    worker.onerror = () => this.join(alone()); // the server went before the worker had its script
    this.join(worker.port);
  }

  tell(news) {
    this.port.postMessage({ isLooking: document.hasFocus(), ...news });
  }

  join(port = this.port) {
    this.port = port;
    this.port.onmessage = ({ data }) => this.hear(data);
    this.tell({ since: this.since, address: this.address.href });
  }

  hear({ state, status, ...news }) {
    if (state) return state === "open" ? connected() : disconnected(status);
    const { room, revision, event, data } = news;
    if (revision < this.since.get(room)) return; // told again for another tab
    if (room) this.since.set(room, revision);
    document.dispatchEvent(new CustomEvent("ask-bridge:news", { detail: news }));
    const shown = layout().dataset.room;
    // Cards of other rooms are for the inbox; their numbers stand in every rail.
    if (!room || !shown || room === shown || event.startsWith("count-")) {
      this.dispatchEvent(new MessageEvent(event, { data }));
    }
  }

  close() {
    this.ends.abort();
    this.readyState = EventSource.CLOSED;
    this.tell({ isLeaving: true });
  }
}

htmx.createEventSource = (url) => new SharedSource(url);

// ---- nothing older replaces something newer

function isOutdated(html, isNew) {
  const [, entry] = /^<[^>]* id="(message-\w+)"/.exec(html) || []; // the first tag: the rest somebody wrote
  if (entry) return document.getElementById(entry) !== null;
  const [, question, revision] = /id="marks-(\w+)" data-revision="(\d+)"/.exec(html) || [];
  const shown = question && document.getElementById(`marks-${question}`);
  return Boolean(shown) && (isNew || Number(shown.dataset.revision) >= Number(revision));
}

document.addEventListener("htmx:sseBeforeMessage", (event) => {
  if (isOutdated(event.detail.data, ["question", "others", "entry"].includes(event.detail.type))) event.preventDefault();
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const isAnswer = detail.target.matches(".card") && detail.xhr.status === 200;
  if (isAnswer && isOutdated(detail.xhr.responseText, false)) detail.shouldSwap = false;
});

// ---- a page that stays open over a new login has to send the new token

document.addEventListener("htmx:configRequest", ({ detail }) => {
  const name = layout().dataset.csrfCookie;
  const [, token] = document.cookie.match(new RegExp(`(?:^|; )${name}=([^;]+)`)) || [];
  if (!token) return; // kept from scripts, or in the session: the page's own token has to do
  detail.headers["X-CSRFToken"] = token;
  if (detail.formData.has("csrfmiddlewaretoken")) detail.formData.set("csrfmiddlewaretoken", token);
});

// ---- open questions: each room's number comes over the stream, the sum is made here

const all = (selector) => [...document.querySelectorAll(selector)];

function countOpen() {
  const sum = (parts) => all(parts).reduce((total, part) => total + Number(part.textContent), 0);
  all("[data-open-total]").forEach((element) => (element.textContent = sum("[data-open]")));
  all("[data-total]").forEach((element) => (element.textContent = sum("[data-part]"))); // but for muted rooms
  all("[data-zero]").forEach((element) => element.classList.toggle("is-zero", element.textContent === "0"));
  document.dispatchEvent(new CustomEvent("ask-bridge:open", { detail: sum("[data-part]") }));
}

document.addEventListener("htmx:sseMessage", ({ detail }) => detail.type.startsWith("count-") && countOpen());
countOpen();

// ---- the state of the connection

const banner = () => document.getElementById("connection");
let [lostTimer, lastStatus] = [null, 0];

function show(name) {
  banner().replaceChildren(document.getElementById(`phrase-${name}`).content.cloneNode(true));
  banner().classList.toggle("is-back", name === "caught-up");
  banner().hidden = false;
}

function disconnected(status) {
  lastStatus = status;
  lostTimer ??= setTimeout(() => show(lastStatus === 401 ? "signed-out" : "lost-connection"), LOST_MS);
}

function connected() {
  clearTimeout(lostTimer);
  lostTimer = null;
  document.dispatchEvent(new CustomEvent("ask-bridge:connected"));
  if (banner().hidden) return;
  show("caught-up");
  setTimeout(() => (banner().hidden ||= banner().classList.contains("is-back")), LOST_MS);
}

document.addEventListener("htmx:responseError", ({ detail: { xhr, target } }) => {
  if (xhr.status === 404 && target === layout()) show("no-room");
});

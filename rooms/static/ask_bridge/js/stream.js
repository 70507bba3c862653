// One stream of changes for all tabs of a browser, because a browser opens only six connections to a server. It runs in
// a SharedWorker, or in the page where there is none. Without it an open page learns of changes only by a reload.

const RETRY_MS = 1000; // and up to as much again: a page has to be up to date 5 seconds after the server's return
const REFUSED_RETRY_MS = 15000; // only a person can change that
const CONNECT_MS = 3500; // what takes longer hangs, and counts towards those 5 seconds
const SILENCE_MS = 25000; // the server sends something every 15 seconds

const tabs = new Map(); // port → whether a person looks at the tab; the tab that was looked at last comes last
const revisions = new Map(); // room → its newest revision that every tab has

let address = "";
let attempt = null; // AbortController of the current request
let retryTimer = null;
let lastDataAt = 0;
let state = ""; // "connecting", "open" or "lost"
let status = 0; // HTTP status of the last response, 0 without one
let pollMs = 0; // a server under WSGI cannot hold a stream: the page asks again after this time

const postToAll = (message) => tabs.forEach((_, port) => port.postMessage(message));

const cursors = () => [...revisions].map(([room, revision]) => `${room}:${revision}`).join(",");

// ---- the connection

async function open() {
  clearTimeout(retryTimer);
  attempt?.abort();
  const thisAttempt = new AbortController();
  attempt = thisAttempt;
  state = "connecting";
  status = 0;
  pollMs = 0;
  lastDataAt = Date.now();
  try {
    await request(thisAttempt.signal);
  } catch {
    // Out of reach or cut off: the same as the end of the stream.
  }
  if (thisAttempt !== attempt) return;
  if (!pollMs) {
    state = "lost";
    postToAll({ state, status });
  }
  retryTimer = setTimeout(open, pollMs || retryMs());
}

const retryMs = () => ([401, 403].includes(status) ? REFUSED_RETRY_MS : RETRY_MS * (1 + Math.random()));

async function request(signal) {
  // By POST: the cursors of hundreds of rooms are too long for an address.
  const body = new URLSearchParams({ since: cursors() });
  // A portal may redirect, to its login for example, and may show a page instead: neither is a stream.
  const response = await fetch(address, { method: "POST", body, signal, redirect: "manual" });
  status = response.type === "opaqueredirect" ? 401 : response.status;
  if (!response.ok || !response.headers.get("Content-Type")?.startsWith("text/event-stream")) return;
  pollMs = response.headers.get("Retry-After") * 1000;
  await readEvents(response.body.pipeThrough(new TextDecoderStream()).getReader());
}

async function readEvents(reader) {
  state = "open";
  postToAll({ state, pollMs });
  let incomplete = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    lastDataAt = Date.now();
    const events = (incomplete + value).split("\n\n");
    incomplete = events.pop();
    events.forEach(receive);
  }
}

// Not every connection that is dead reports an error.
setInterval(() => {
  const patienceMs = { connecting: CONNECT_MS, open: SILENCE_MS }[state] ?? Infinity;
  if (Date.now() - lastDataAt < patienceMs) return;
  postToAll({ state: "lost", status: 0 });
  open();
}, RETRY_MS / 2);

// ---- events

function parse(text) {
  const fields = { event: "", id: "", data: [] };
  text.split("\n").forEach((line) => {
    const separator = line.indexOf(": ");
    const name = line.slice(0, separator);
    const value = line.slice(separator + 2);
    if (name === "data") fields.data.push(value);
    else if (name) fields[name] = value;
  });
  return fields;
}

// The tab that shows notifications: the one that was looked at last, and none while a person looks at one.
function notifyingTab() {
  const isOneLookedAt = [...tabs.values()].some(Boolean);
  return isOneLookedAt ? null : [...tabs.keys()].at(-1);
}

function receive(text) {
  const { event, id, data } = parse(text);
  if (!event) return;
  const [room, revision] = id.split(":");
  if (revision) revisions.set(room, Number(revision));
  else revisions.delete(room); // the room is gone: there is nothing to ask for again
  const change = { event, data: data.join("\n"), room, revision: Number(revision) };
  const notifying = notifyingTab();
  tabs.forEach((_, port) => port.postMessage({ ...change, notifies: port === notifying }));
}

// ---- tabs

// A tab has the revisions that its page was rendered from. If they are older, the stream starts again from there; the
// other tabs ignore what they have already.
function join(port, tab) {
  tabs.set(port, tab.isLooking);
  address = tab.address;
  const behind = [...tab.since].filter(([room, revision]) => revision < (revisions.get(room) ?? Infinity));
  behind.forEach(([room, revision]) => revisions.set(room, revision));
  if (behind.length || !attempt) open();
  else port.postMessage({ state, status, pollMs });
}

function update(port, tab) {
  tabs.delete(port);
  if (tab.isLeaving) return;
  tabs.set(port, tab.isLooking);
  // Back from sleep or from being offline.
  const silenceMs = Date.now() - lastDataAt;
  if (state === "lost" || silenceMs > (tab.isNetworkNew ? RETRY_MS : SILENCE_MS)) open();
}

function connect(port) {
  port.onmessage = ({ data }) => (data.since ? join(port, data) : update(port, data));
}

const isSharedWorker = "onconnect" in self;

if (isSharedWorker) {
  self.onconnect = ({ ports }) => connect(ports[0]);
} else {
  self.askBridgeStream = ({ port1, port2 }) => {
    connect(port1);
    return port2;
  };
}

// One stream of changes for all tabs of a browser, which has six connections to a server: it runs in a SharedWorker,
// or in the page where there is none. Without it an open page learns of changes only by a reload.

const RETRY_MS = 1000; // and up to as much again: a page has to be right 5 seconds after the server's return
const SIGNED_OUT_RETRY_MS = 15000; // only a person can change that
const CONNECT_MS = 3500; // what takes longer hangs, and counts towards those 5 seconds
const SILENCE_MS = 25000; // the server says something every 15 seconds

const tabs = new Map(); // port → whether somebody looks at it; who was looked at last comes last
const heard = new Map(); // room → its newest revision that every tab has
let [address, attempt, timer, heardAt, state, status, pollMs] = ["", null, null, 0, "", 0, 0];

const tell = (message) => tabs.forEach((_, port) => port.postMessage(message));

async function open() {
  clearTimeout(timer);
  attempt?.abort();
  const mine = (attempt = new AbortController());
  [state, status, pollMs, heardAt] = ["connecting", 0, 0, Date.now()];
  try {
    // By POST: the cursors of hundreds of rooms are too long for an address.
    const body = new URLSearchParams({ since: [...heard].map((pair) => pair.join(":")).join(",") });
    const response = await fetch(address, { method: "POST", body, signal: mine.signal });
    status = response.status;
    if (response.ok) pollMs = response.headers.get("Retry-After") * 1000; // of a server that cannot hold a stream
    if (response.ok) await listen(response.body.pipeThrough(new TextDecoderStream()).getReader());
  } catch {
    // Out of reach or cut off: the same as an end.
  }
  if (mine !== attempt) return;
  if (!pollMs) tell({ state: (state = "lost"), status });
  timer = setTimeout(open, pollMs || (status === 401 ? SIGNED_OUT_RETRY_MS : RETRY_MS * (1 + Math.random())));
}

async function listen(reader) {
  state = "open";
  tell({ state });
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    heardAt = Date.now();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    blocks.forEach(take);
  }
}

function take(block) {
  const fields = { event: "", id: "", data: [] };
  block.split("\n").forEach((line) => {
    const [name, value] = [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)];
    if (name === "data") fields.data.push(value);
    else if (name) fields[name] = value;
  });
  if (!fields.event) return;
  const [room, revision] = fields.id.split(":");
  const message = { event: fields.event, data: fields.data.join("\n"), room, revision: Number(revision) };
  if (revision) heard.set(room, message.revision);
  else heard.delete(room); // gone: nothing to come back for
  const speaker = [...tabs.values()].some(Boolean) ? null : [...tabs.keys()].at(-1); // nobody who is looked at
  tabs.forEach((_, port) => port.postMessage({ ...message, speaks: port === speaker }));
}

// A tab is at the revisions that its page was made from. If that is older, all is told again from there: who knows
// it already takes no notice.
function join(port, tab) {
  tabs.set(port, tab.isLooking);
  address = tab.address;
  const behind = [...tab.since].filter(([room, revision]) => revision < (heard.get(room) ?? Infinity));
  behind.forEach(([room, revision]) => heard.set(room, revision));
  if (behind.length || !attempt) open();
  else port.postMessage({ state, status });
}

function connect(port) {
  port.onmessage = ({ data }) => {
    if (data.since) return join(port, data);
    tabs.delete(port);
    if (data.isLeaving) return;
    tabs.set(port, data.isLooking);
    // Back from sleep or from being offline: not every dead connection says so.
    const silence = Date.now() - heardAt;
    if (state === "lost" || silence > (data.isNetworkNew ? RETRY_MS : SILENCE_MS)) open();
  };
}

setInterval(() => {
  const patience = { connecting: CONNECT_MS, open: SILENCE_MS }[state];
  if (Date.now() - heardAt < (patience ?? Infinity)) return;
  tell({ state: "lost", status: 0 });
  open();
}, RETRY_MS / 2);

if ("onconnect" in self) self.onconnect = ({ ports }) => connect(ports[0]);
else self.askBridgeStream = ({ port1, port2 }) => (connect(port1), port2);

// Receives the changes of the rooms over a stream that all tabs of the browser share (stream.js), and passes them to
// htmx, which replaces the parts of the page that have the event's name. Without it the page shows what was true when
// it was loaded.

document.documentElement.classList.add("ab-js"); // style sheets show what works only with scripts

const layout = () => document.getElementById("ab-layout");

const announce = (name, detail) => document.dispatchEvent(new CustomEvent(`ask-bridge:${name}`, { detail }));

// "room:12,other:7" → room → its revision on this page
function parseCursors(text) {
  const pairs = text.split(",").filter(Boolean);
  return new Map(
    pairs.map((pair) => {
      const [room, revision] = pair.split(":");
      return [room, Number(revision)];
    }),
  );
}

// Has the parts of an EventSource that htmx uses.
class SharedSource extends EventTarget {
  constructor(url) {
    super();
    this.readyState = EventSource.OPEN;
    this.address = new URL(url, location.href);
    this.revisions = parseCursors(this.address.searchParams.get("since"));
    this.address.searchParams.delete("since");
    this.closing = new AbortController();
    this.listenToWindow();
    this.connectToWorker();
  }

  listenToWindow() {
    const on = (name, act) => window.addEventListener(name, act, { signal: this.closing.signal });
    on("focus", () => this.post({}));
    on("blur", () => this.post({}));
    on("visibilitychange", () => this.post({}));
    on("online", () => this.post({ isNetworkNew: true }));
    on("offline", () => announce("disconnected", { status: 0 }));
    on("pagehide", () => this.post({ isLeaving: true }));
    on("pageshow", ({ persisted }) => persisted && this.join(this.port));
  }

  connectToWorker() {
    const inThisPage = () => askBridgeStream(new MessageChannel());
    if (!("SharedWorker" in window)) return this.join(inThisPage());
    // Static files may be on another origin, from which a browser starts no worker.
    const { worker: src } = document.getElementById("ab-stream-script").dataset;
    // The worker's name has the person and the language: cards of another person are not for this page.
    const worker = new SharedWorker(src, { name: this.address.search, type: "module" });
    worker.onerror = () => this.join(inThisPage()); // the server stopped before the worker had its script
    this.join(worker.port);
  }

  post(message) {
    this.port.postMessage({ isLooking: document.hasFocus(), ...message });
  }

  join(port) {
    this.port = port;
    this.port.onmessage = ({ data }) => this.receive(data);
    this.post({ since: this.revisions, address: this.address.href });
  }

  receive({ state, status, pollMs, ...change }) {
    if (state === "open") return announce("connected", { isPolling: pollMs > 0 });
    if (state) return announce("disconnected", { status });
    const { room, revision, event, data } = change;
    if (revision < this.revisions.get(room)) return; // repeated for another tab
    if (room) this.revisions.set(room, revision);
    announce("change", change);
    const shownRoom = layout().dataset.room;
    // Cards of other rooms are for the inbox; the counts of all rooms are in the rail of every page.
    if (!room || !shownRoom || room === shownRoom || event.startsWith("count-")) {
      this.dispatchEvent(new MessageEvent(event, { data }));
    }
  }

  close() {
    this.closing.abort();
    this.readyState = EventSource.CLOSED;
    this.post({ isLeaving: true });
  }
}

askBridgeHtmx.createEventSource = (url) => new SharedSource(url);

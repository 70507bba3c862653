// Keeps an open page right. Without it the page still works, but shows new questions only after a reload.
//
// The stream's events are named by what they replace, and htmx swaps them. This file adds two things: a source
// that comes back by itself from where it left off, and a guard that lets nothing older replace something newer.
"use strict";

document.documentElement.classList.add("js");

(() => {
  const RETRY_MS = 1000; // a page has to be right within 5 seconds of the server's return
  const LOST_MS = 3000; // shorter gaps are not worth a word

  // An EventSource that never gives up: listeners stay, the cursor travels along in `since`.
  class LastingSource extends EventTarget {
    constructor(url) {
      super();
      this.url = new URL(url, location.href);
      this.names = new Set();
      this.readyState = EventSource.CONNECTING;
      this.open();
    }

    addEventListener(name, listener) {
      super.addEventListener(name, listener);
      if (!this.names.has(name)) {
        this.names.add(name);
        this.forward(name);
      }
    }

    open() {
      this.source = new EventSource(this.url, { withCredentials: true });
      this.names.forEach((name) => this.forward(name));
      this.source.onopen = () => {
        this.readyState = EventSource.OPEN;
        connected();
        this.onopen?.(new Event("open"));
      };
      this.source.onerror = () => {
        this.source.close();
        this.readyState = EventSource.CONNECTING;
        disconnected();
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.open(), RETRY_MS * (1 + Math.random()));
      };
    }

    forward(name) {
      this.source.addEventListener(name, (event) => {
        this.remember(event.lastEventId);
        this.dispatchEvent(new MessageEvent(name, { data: event.data, lastEventId: event.lastEventId }));
      });
    }

    // A room's cursor is its revision; the inbox has one of "room:revision" for each room.
    remember(cursor) {
      const [room, revision] = cursor.split(":");
      if (revision === undefined) {
        if (cursor) this.url.searchParams.set("since", cursor);
        return;
      }
      const since = new Map((this.url.searchParams.get("since") || "").split(",").map((pair) => pair.split(":")));
      since.set(room, revision);
      this.url.searchParams.set("since", [...since].map((pair) => pair.join(":")).join(","));
    }

    close() {
      clearTimeout(this.timer);
      this.readyState = EventSource.CLOSED;
      this.source.close();
    }
  }

  htmx.createEventSource = (url) => new LastingSource(url);

  // ---- nothing older replaces something newer

  function isOutdated(html, isNew) {
    const [, entry] = /id="(message-\w+)"/.exec(html) || [];
    if (entry) return document.getElementById(entry) !== null;
    const [, question, revision] = /id="marks-(\w+)" data-revision="(\d+)"/.exec(html) || [];
    const shown = question && document.getElementById(`marks-${question}`);
    return Boolean(shown) && (isNew || Number(shown.dataset.revision) >= Number(revision));
  }

  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    const { type, data } = event.detail;
    if (isOutdated(data, type === "question" || type === "entry")) event.preventDefault();
  });

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const isCard = detail.target.matches(".card");
    if (isCard && detail.xhr.status === 200 && isOutdated(detail.xhr.responseText, false)) detail.shouldSwap = false;
  });

  // ---- a page that stays open over a new login has to send the new token

  document.addEventListener("htmx:configRequest", ({ detail }) => {
    const name = document.body.dataset.csrfCookie;
    const [, token] = document.cookie.match(new RegExp(`(?:^|; )${name}=([^;]+)`)) || [];
    if (!token) return; // kept from scripts, or in the session: the page's own token has to do
    detail.headers["X-CSRFToken"] = token;
    if (detail.formData.has("csrfmiddlewaretoken")) detail.formData.set("csrfmiddlewaretoken", token);
  });

  // ---- open questions: each room's number comes over the stream, the sum is made here

  const number = (element) => Number(element.textContent);

  function countOpen() {
    const total = [...document.querySelectorAll("[data-part]")].reduce((sum, part) => sum + number(part), 0);
    document.querySelectorAll("[data-total]").forEach((element) => (element.textContent = total));
    document.dispatchEvent(new CustomEvent("ask-bridge:open", { detail: total }));
    document.querySelectorAll("[data-zero]").forEach((element) =>
      element.classList.toggle("is-zero", number(element) === 0),
    );
  }

  document.addEventListener("htmx:sseMessage", (event) => {
    if (event.detail.type.startsWith("count-")) countOpen();
  });
  countOpen();

  // ---- the state of the connection

  let lostTimer = null;

  function banner() {
    return document.getElementById("connection");
  }

  function disconnected() {
    lostTimer ??= setTimeout(sayWhatIsWrong, LOST_MS);
  }

  // An EventSource does not tell why it failed: the page itself does.
  async function sayWhatIsWrong() {
    const page = await fetch(location.href, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (lostTimer === null) return; // back again meanwhile
    banner().hidden = false;
    banner().classList.remove("is-back");
    banner().textContent = "Connection lost. Answering may still work; this page catches up by itself.";
    if (page?.status === 404) banner().textContent = "This room is no longer there for you.";
    if (page?.status === 401) {
      banner().textContent = "You are signed out. ";
      banner().append(Object.assign(document.createElement("a"), { href: location.href, textContent: "Sign in again" }));
    }
  }

  function connected() {
    clearTimeout(lostTimer);
    lostTimer = null;
    if (banner().hidden) return;
    banner().classList.add("is-back");
    banner().textContent = "Caught up.";
    setTimeout(() => {
      if (banner().classList.contains("is-back")) banner().hidden = true;
    }, LOST_MS);
  }
})();

// Times as people say them: "2 min ago", "0:38". Without it the page shows the clock time in UTC.
"use strict";

(() => {
  const SECOND = 1000;
  const MINUTE = 60 * SECOND;
  const HOUR = 60 * MINUTE;
  const DAY = 24 * HOUR;

  const two = (number) => String(number).padStart(2, "0");

  function duration(milliseconds) {
    const seconds = Math.max(0, Math.floor(milliseconds / SECOND));
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
  }

  function ago(moment, now) {
    const past = now - moment;
    if (past < MINUTE) return "just now";
    if (past < HOUR) return `${Math.floor(past / MINUTE)} min ago`;
    const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    if (past < DAY && now.getDate() === moment.getDate()) return time;
    return `${moment.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
  }

  function tick() {
    const now = new Date();
    document.querySelectorAll("time[datetime]").forEach((element) => {
      const moment = new Date(element.dateTime);
      let text = ago(moment, now);
      if (element.classList.contains("elapsed")) text = duration(now - moment);
      if (element.classList.contains("remaining")) text = `in ${duration(moment - now)}`;
      if (element.textContent !== text) element.textContent = text;
      const full = moment.toLocaleString();
      if (element.title !== full) element.title = full;
    });
  }

  tick();
  setInterval(tick, SECOND);
  document.addEventListener("htmx:afterSwap", tick);
  document.addEventListener("htmx:sseMessage", tick);
})();

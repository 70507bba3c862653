// Shows times as people say them: "2 min. ago", "0:38". Without it the page shows the clock time, as the server has it.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const HALF_A_DAY = 12 * HOUR; // "until 10:12" at 10:15 would be over, and is tomorrow
const NEAR = 2 * MINUTE; // so little is left of a deadline that the card warns of it

const EXACT = { dateStyle: "medium", timeStyle: "medium" };

// In the reader's own form of our language, which may not be that of a portal's <html>: en-GB writes "18 Nov", en-US "Nov 18".
const pageLanguage = document.getElementById("ab-layout").lang;
const language = navigator.languages.find((one) => one.startsWith(pageLanguage)) ?? pageLanguage;
// "9:52 PM", but "09:52" where the clock has 24 hours
const { hour12: isHalfDay } = new Intl.DateTimeFormat(language, { hour: "numeric" }).resolvedOptions();
const CLOCK_TIME = { hour: isHalfDay ? "numeric" : "2-digit", minute: "2-digit" };
const DAY_AND_TIME = { ...CLOCK_TIME, day: "numeric", month: "short" };
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });

// "0:38", "1:02:38"
function asDuration(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / SECOND));
  const twoDigits = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const clock = hours ? [hours, twoDigits(minutes)] : [minutes];
  return [...clock, twoDigits(seconds % 60)].join(":");
}

// "10:12", "5 Mar, 10:12" where that could be two days, with the year when that is another one
function asClockTime(moment, age) {
  const now = new Date();
  const isClear = Math.abs(age) < HALF_A_DAY || moment.toDateString() === now.toDateString();
  if (isClear) return moment.toLocaleString(language, CLOCK_TIME);
  const isThisYear = moment.getFullYear() === now.getFullYear();
  return moment.toLocaleString(language, isThisYear ? DAY_AND_TIME : { ...DAY_AND_TIME, year: "numeric" });
}

// "2 min. ago", "in 5 min."; further away the clock time
function asRelative(moment, age) {
  if (Math.abs(age) >= HOUR) return asClockTime(moment, age);
  if (Math.abs(age) >= MINUTE) return relative.format(Math.ceil(-age / MINUTE), "minute");
  return relative.format(age > 0 ? 0 : Math.ceil(-age / SECOND), "second");
}

function textOf(element, moment) {
  const age = Date.now() - moment;
  if (element.matches(".ab-exact")) return moment.toLocaleString(language, EXACT); // in the record of a question
  if (element.matches(".ab-elapsed")) return asDuration(age);
  if (element.matches(".ab-countdown")) return String(Math.max(0, Math.ceil(-age / SECOND))); // "Sent in 7 s"
  if (element.matches(".ab-at")) return asClockTime(moment, age); // "until 10:12", not "until in 5 min."
  return asRelative(moment, age);
}

const titled = new WeakSet(); // each change of a title makes the browser lay out a long page again

function showTime(element) {
  const moment = new Date(element.dateTime);
  const text = textOf(element, moment);
  if (element.textContent !== text) element.textContent = text;
  if (element.matches(".ab-deadline")) element.toggleAttribute("data-near", moment - Date.now() < NEAR);
  if (titled.has(element)) return;
  titled.add(element);
  element.title = moment.toLocaleString(language);
}

const showTimes = () => document.querySelectorAll("time[datetime]").forEach(showTime);

// Once for all changes that arrive together.
let frame = 0;

function showTimesSoon() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    showTimes();
  });
}

showTimes();
setInterval(showTimes, SECOND);
document.addEventListener("ab-htmx:afterSwap", showTimesSoon);
document.addEventListener("ab-htmx:sseMessage", showTimesSoon);

// Times as people say them: "2 min. ago", "0:38". Without it the page shows the clock time in UTC.

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const language = document.documentElement.lang;
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const EXACT = { dateStyle: "medium", timeStyle: "medium" }; // of a record
const two = (number) => String(number).padStart(2, "0");
let [due, titled] = [0, new WeakSet()]; // each change of a title makes a long page look at all of itself again

function duration(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / SECOND));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function inWords(moment, past) {
  const [unit, count] = Math.abs(past) < MINUTE ? ["second", -past / SECOND] : ["minute", -past / MINUTE];
  if (Math.abs(past) < HOUR) return relative.format(past > 0 && unit === "second" ? 0 : Math.ceil(count), unit);
  return byTheClock(moment, past);
}

function byTheClock(moment, past) {
  const time = { hour: "2-digit", minute: "2-digit" };
  return moment.toLocaleString(language, Math.abs(past) < DAY ? time : { ...time, day: "numeric", month: "short" });
}

function tick() {
  document.querySelectorAll("time[datetime]").forEach((element) => {
    const moment = new Date(element.dateTime);
    const past = Date.now() - moment;
    const exact = element.matches(".exact") && moment.toLocaleString(language, EXACT);
    const inSentence = element.matches(".at") ? byTheClock : inWords; // "until 10:12", not "until in 5 min."
    const text = exact || (element.matches(".elapsed") ? duration(past) : inSentence(moment, past));
    if (element.textContent !== text) element.textContent = text;
    if (!titled.has(element) && titled.add(element)) element.title = moment.toLocaleString(language);
  });
}

tick();
setInterval(tick, SECOND);
const tickSoon = () => (due ||= requestAnimationFrame(() => tick((due = 0)))); // once for all that comes at once
["htmx:afterSwap", "htmx:sseMessage"].forEach((name) => document.addEventListener(name, tickSoon));

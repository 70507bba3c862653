// Tells the server the browser's time zone by a cookie, for our pages only. On the Settings page it also preselects the zone
// for a person who has not chosen one. Without it the server uses the time zone of the site, as where days begin in the history.

const YEAR_SECONDS = 365 * 24 * 3600;

const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
const { timeZoneCookie, home } = document.getElementById("ab-layout").dataset;
const secure = location.protocol === "https:" ? "; secure" : "";
document.cookie = `${timeZoneCookie}=${timeZone}; path=${home}; max-age=${YEAR_SECONDS}; samesite=lax${secure}`;

const select = document.querySelector("select[data-unchosen]");
const isOffered = select?.querySelector(`[value="${CSS.escape(timeZone)}"]`);
if (isOffered) select.value = timeZone;

// Preselects the browser's time zone for a person who has not chosen one. Without it the time zone of the site is
// selected.

const select = document.querySelector("select[data-unchosen]");
const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
const isOffered = select?.querySelector(`[value="${CSS.escape(timeZone)}"]`);
if (isOffered) select.value = timeZone;

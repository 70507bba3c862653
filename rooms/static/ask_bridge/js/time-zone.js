// Preselects the browser's time zone for who has not chosen one. Without it that is the site's.

const select = document.querySelector("select[data-unchosen]");
const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
if (select?.querySelector(`[value="${CSS.escape(timeZone)}"]`)) select.value = timeZone;

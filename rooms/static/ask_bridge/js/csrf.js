// Sends the CSRF token of the cookie. Without it a page that was open before a new login sends the old token, and its
// forms are refused.

function tokenOfCookie() {
  const name = document.getElementById("ab-layout").dataset.csrfCookie;
  return document.cookie.match(new RegExp(`(?:^|; )${name}=([^;]+)`))?.[1];
}

document.addEventListener("ab-htmx:configRequest", ({ detail: { headers, formData } }) => {
  const token = tokenOfCookie();
  if (!token) return; // hidden from scripts, or kept in the session: the token of the page has to do
  headers["X-CSRFToken"] = token;
  if (formData.has("csrfmiddlewaretoken")) formData.set("csrfmiddlewaretoken", token);
});

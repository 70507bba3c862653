// Asks the test question with the key from this page, as an agent does: it calls the API, waits for the answer and gets
// it. The card is shown below the button. Without it the server asks with the key, the card opens on its own page, and
// nothing waits for the answer.

const WAIT_SECONDS = 50;
const RETRY_MS = 2000; // after a lost connection
const REFUSED = [401, 403, 404];

const form = document.getElementById("ab-test");
const say = (id, text) => (document.getElementById(id).textContent = text);
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Like an agent's: without the cookies of this person.
function call(address, key, options = {}) {
  const headers = { Authorization: ["Bearer", key].join(" "), "Content-Type": "application/json" };
  return fetch(address, { ...options, headers, credentials: "omit" });
}

async function ask(key) {
  const { address, question, refused, mayNotAsk, notAsked } = form.dataset;
  const reply = await call(address, key, { method: "POST", body: question }).catch(() => null);
  if (reply?.ok) return reply.json();
  const said = { 401: refused, 403: mayNotAsk, 404: refused };
  say("ab-test-error", said[reply?.status] ?? notAsked);
  return null;
}

async function waitForAnswer({ id }, key) {
  const address = form.dataset.address.replace(/rooms\/[^/]+\/questions$/, `questions/${id}?wait=${WAIT_SECONDS}`);
  for (;;) {
    const reply = await call(address, key).catch(() => null);
    if (REFUSED.includes(reply?.status)) return null;
    const question = reply?.ok ? await reply.json() : await pause(RETRY_MS);
    if (question && question.status !== "open") return question;
  }
}

function showCard({ id, url }) {
  const how = { source: "#ab-test", target: "#ab-test-card", select: `#card-${id}`, swap: "innerHTML" };
  return askBridgeHtmx.ajax("GET", new URL(url).pathname, how);
}

async function test(key) {
  say("ab-test-error", "");
  const question = await ask(key);
  if (!question) return;
  say("ab-test-said", form.dataset.waiting);
  showCard(question);
  const settled = await waitForAnswer(question, key);
  say("ab-test-said", settled?.status === "answered" ? form.dataset.done : form.dataset.ended);
}

form.addEventListener("submit", async (event) => {
  const key = new FormData(form).get("agent_key")?.trim();
  if (!key) return; // asked by the server, without a key
  event.preventDefault();
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  await test(key);
  form.ariaBusy = "false";
});

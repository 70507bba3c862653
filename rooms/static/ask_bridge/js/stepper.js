// Shows several prompts one at a time, and all answers before they are sent. Without it the prompts stand under each
// other, with Submit at the end.

const REVIEW = "review";
const DOUBLE_CLICK_MS = 500; // the second click of a pair was not meant for the step that the first one led to

const promptsOf = (form) => [...form.querySelectorAll(".ab-prompt")];
const isStepping = (form) => form.matches(".ab-stepper[data-step]") && form.dataset.step !== REVIEW;
const placeOf = (form) => (form.dataset.step === REVIEW ? promptsOf(form).length : Number(form.dataset.step));

// ---- what was chosen

function textOf(input) {
  return input.dataset.label ?? input.closest(".ab-other").querySelector(".ab-other-text").value.trim();
}

const chosenIn = (prompt) => [...prompt.querySelectorAll(".ab-options input:checked")].map(textOf).filter(Boolean);

function hasError(prompt) {
  return [...prompt.querySelectorAll(".ab-prompt-error, .ab-other-error")].some((error) => error.textContent.trim());
}

// ---- the current step

function showReview(form) {
  promptsOf(form).forEach((prompt, place) => {
    const line = form.querySelector(`.ab-review-choice[data-step="${place}"]`);
    const chosen = chosenIn(prompt).join(", ");
    line.textContent = chosen || line.dataset.none;
    line.toggleAttribute("data-empty", !chosen);
  });
}

function showProgress(form, place) {
  const items = [...form.querySelectorAll(".ab-steps-item")];
  const answered = promptsOf(form).map((prompt) => chosenIn(prompt).length > 0);
  items.forEach((item, number) => {
    item.toggleAttribute("data-answered", answered[number]);
    if (number === place) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  });
  const where = form.querySelector(".ab-steps-place");
  where.textContent = items[place]
    ? where.dataset.place.replace("{step}", place + 1).replace("{steps}", items.length)
    : "";
  const next = form.querySelector(".ab-steps-next > span");
  const nextName = items[place + 1]?.querySelector(".ab-steps-name").textContent;
  next.textContent = nextName ? next.dataset.next.replace("{name}", nextName) : next.dataset.review;
}

function show(form, place) {
  const prompts = promptsOf(form);
  form.dataset.step = place < prompts.length ? place : REVIEW;
  prompts.forEach((prompt, number) => prompt.classList.toggle("ab-is-current", number === place));
  showProgress(form, place);
  showReview(form);
}

let steppedAt = -Infinity;

// The focus goes along, so that numbers and arrows act on the step that is shown.
function go(form, place) {
  steppedAt = performance.now();
  show(form, place);
  const prompt = promptsOf(form)[place];
  const wrongText = prompt?.querySelector(".ab-other:has(.ab-other-error:not(:empty)) .ab-other-text");
  const target =
    wrongText ?? prompt?.querySelector(".ab-options input:checked") ?? prompt?.querySelector(".ab-options input");
  (target ?? form.querySelector(".ab-submit")).focus({ preventScroll: true });
  form.closest(".ab-card").scrollIntoView({ block: "nearest" });
}

// ---- new cards

// On from the first prompt without an answer: a draft may have some.
function start(form) {
  const open = promptsOf(form).findIndex((prompt) => !chosenIn(prompt).length);
  show(form, open < 0 ? promptsOf(form).length : open);
}

const startAll = () => document.querySelectorAll(".ab-stepper:not([data-step])").forEach(start);

new MutationObserver(startAll).observe(document.body, { childList: true, subtree: true });
startAll();

// ---- from step to step

// A pointer or a number chooses and goes on; arrows and Space only choose.
let chooses = false;

document.addEventListener("pointerdown", () => (chooses = true), { capture: true });
document.addEventListener("keydown", ({ key }) => (chooses = /^[1-9]$/.test(key)), { capture: true });

document.addEventListener(
  "click",
  (event) => {
    const isSecond = event.detail > 1 && performance.now() - steppedAt < DOUBLE_CLICK_MS;
    if (!isSecond || !event.target.closest(".ab-stepper")) return;
    event.preventDefault();
    event.stopPropagation();
  },
  { capture: true },
);

document.addEventListener("click", (event) => {
  const form = event.target.closest(".ab-stepper[data-step]");
  if (!form || event.defaultPrevented) return;
  const item = event.target.closest(".ab-steps-item");
  if (item) return go(form, Number(item.dataset.step));
  if (event.target.closest(".ab-steps-next")) return go(form, placeOf(form) + 1);
  if (event.target.closest(".ab-steps-back")) return go(form, placeOf(form) - 1);
  const isChoice = event.target.matches(".ab-option-row input[type=radio]");
  if (isChoice && chooses && !form.querySelector(".ab-is-current .ab-note[open]")) go(form, placeOf(form) + 1);
});

// Enter goes on until there is all to check. What failed to be sent is sent again from wherever the person is now.
document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    if (!isStepping(form) || "failed" in form.dataset) return;
    event.preventDefault();
    event.stopPropagation();
    go(form, placeOf(form) + 1);
  },
  { capture: true },
);

document.addEventListener("input", ({ target }) => {
  target.closest(".ab-prompt")?.querySelector(".ab-prompt-error")?.replaceChildren();
  const form = target.closest(".ab-stepper[data-step]");
  if (form) show(form, placeOf(form));
});

// A refused form leads to the first prompt with an error.
document.addEventListener("ab-htmx:afterRequest", ({ target, detail: { xhr } }) => {
  if (xhr.status !== 422 || !target.matches(".ab-stepper")) return;
  const wrong = promptsOf(target).findIndex(hasError);
  if (wrong >= 0) go(target, wrong);
});

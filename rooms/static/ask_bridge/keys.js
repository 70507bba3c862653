// The keyboard: j/k between cards, numbers choose, s skips, ? shows the list. Without it Tab and Space do it all.

const typing = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
const overlay = () => document.getElementById("keys-help");
const cards = () => [...document.querySelectorAll(".card")];
const current = () => document.activeElement.closest?.(".card");

function move(step) {
  const all = cards();
  const at = all.indexOf(current());
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

// Numbers choose on the card that has the focus and nowhere else; choosing does not send.
function choose(number) {
  const prompt = document.activeElement.closest(".prompt") || current()?.querySelector(".prompt");
  const input = prompt?.querySelectorAll(".options input:is([type=radio], [type=checkbox])")[number - 1];
  input?.focus();
  input?.click();
  return Boolean(input);
}

function skip() {
  const details = current()?.querySelector("details.skip");
  details?.setAttribute("open", "");
  details?.querySelector("[name=reason]").focus();
  return Boolean(details);
}

// First out of the field, then out of the card.
function leave() {
  const card = current();
  if (document.activeElement === card) card.blur();
  else card?.focus();
  return Boolean(card);
}

const actions = {
  j: () => move(1),
  k: () => move(-1),
  s: skip,
  Escape: leave,
  "?": () => overlay()?.showModal(),
  Enter: () => {
    const form = document.activeElement.matches(".option input") && document.activeElement.form;
    return form ? form.requestSubmit() : false;
  },
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest("form")?.requestSubmit();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || overlay()?.open) return;
  if (event.key !== "Escape" && event.target.matches(typing)) return;
  const action = /^[1-9]$/.test(event.key) ? () => choose(Number(event.key)) : actions[event.key];
  if (action && action() !== false) event.preventDefault();
});

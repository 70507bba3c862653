// Keeps our selects where scripts of the portal replace every <select> by a widget (Select2, TomSelect, Chosen, Nice
// Select). Without it the widgets have neither our widths nor our colours, and do not show what time-zone.js chooses.

// A portal that replaces each new select again and again wins: two observers would never come to an end.
const MOST_TIMES = 20;
const timesRestored = new WeakMap();
// What is in each select, in our order: TomSelect moves the chosen option to the end.
const originals = new WeakMap();

// All classes of ours begin with "ab-"; a widget may copy those of the select. The next element can be another select
// of ours, which has the classes of the script as well.
const isWidget = (element) => !element.matches("select") && [...element.classList].some((name) => !/^(ab|htmx)-/.test(name));

// A copy, because scripts keep what they know of a select at the element. Of its new classes it keeps those by which
// they recognize a select that they need not replace.
function restore(select, widget) {
  const times = timesRestored.get(select) ?? 0;
  if (times === MOST_TIMES) return;
  const copy = select.cloneNode(true);
  const original = originals.get(select);
  if (original?.length === copy.length) copy.replaceChildren(...original.cloneNode(true).children);
  originals.set(copy, original);
  copy.value = select.value;
  copy.classList.remove(...[...copy.classList].filter((name) => name.includes("hidden")));
  for (const name of ["aria-hidden", "hidden", "style", "tabindex"]) copy.removeAttribute(name);
  for (const field of widget.querySelectorAll("input, select")) {
    for (const label of field.labels ?? []) if (label.htmlFor) label.htmlFor = copy.id;
  }
  timesRestored.set(copy, times + 1);
  widget.remove();
  select.replaceWith(copy);
}

function restoreIfReplaced(element) {
  const select = element.previousElementSibling;
  if (element.nodeType === Node.ELEMENT_NODE && select?.matches(".ask-bridge select") && isWidget(element)) restore(select, element);
}

for (const select of document.querySelectorAll(".ask-bridge select")) originals.set(select, select.cloneNode(true));
document.querySelectorAll(".ask-bridge select + *").forEach(restoreIfReplaced);
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) addedNodes.forEach(restoreIfReplaced);
}).observe(document, { childList: true, subtree: true });

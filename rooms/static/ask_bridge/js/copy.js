// Copies a block to the clipboard. Without it the text has to be selected by hand.

const CONFIRMED_MS = 1500; // long enough to read one word

function confirm(button) {
  const label = button.querySelector("[aria-hidden]");
  const before = label.textContent;
  label.textContent = button.dataset.copied;
  setTimeout(() => (label.textContent = before), CONFIRMED_MS);
}

document.addEventListener("click", async ({ target }) => {
  const button = target.closest(".ab-copy");
  if (!button) return;
  const code = button.closest(".ab-copy-block").querySelector("code");
  // There is no clipboard without https: select the text, so that Ctrl+C copies it.
  if (!navigator.clipboard) return getSelection().selectAllChildren(code);
  await navigator.clipboard.writeText(code.textContent);
  confirm(button);
});

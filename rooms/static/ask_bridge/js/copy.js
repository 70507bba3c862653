// Copies a block to the clipboard. Without it the text is selected by hand.

document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button) return;
  const code = button.closest(".copy-block").querySelector("code");
  // No clipboard without https: leave the text selected, so that Ctrl+C does it.
  if (!navigator.clipboard) return getSelection().selectAllChildren(code);
  await navigator.clipboard.writeText(code.textContent);
  const label = button.querySelector("[aria-hidden]");
  const before = label.textContent;
  label.textContent = button.dataset.copied;
  setTimeout(() => (label.textContent = before), 1500);
});

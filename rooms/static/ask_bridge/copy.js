// Copies a block to the clipboard. Without it the text is selected by hand.
"use strict";

document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button) return;
  const code = button.closest(".copy-block").querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    // No clipboard without https: leave the text selected, so that Ctrl+C does it.
    getSelection().selectAllChildren(code);
    return;
  }
  const label = button.querySelector("[aria-hidden]");
  const before = label.textContent;
  label.textContent = button.dataset.copied;
  setTimeout(() => (label.textContent = before), 1500);
});

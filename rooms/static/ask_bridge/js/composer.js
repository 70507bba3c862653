// Keeps what is typed while a message is being sent, or while the page around it is loaded anew, and shows what was sent.
// Without it the new form is empty, and a message that was sent from above the conversation has to be scrolled to. Where
// the composer is behind an icon, it also puts the cursor into the field that the icon shows.

document.addEventListener("ab-htmx:beforeSwap", ({ detail: { target, requestConfig } }) => {
  const sent = requestConfig.formData.get("content") ?? "";
  const typed = target.querySelector("#ab-composer-text")?.value.replace(sent, "");
  if (typed) setTimeout(() => (document.getElementById("ab-composer-text").value += typed));
});

// The composer stays at the lower edge of the window while the conversation is below it.
document.addEventListener("ab-htmx:oobBeforeSwap", ({ detail }) => {
  const sent = detail.target.matches("#ab-timeline") && detail.fragment.querySelector("[id^=message-]")?.id;
  if (!sent) return;
  if (document.getElementById(sent)) detail.shouldSwap = false; // the stream was faster
  setTimeout(() => document.getElementById(sent).scrollIntoView({ block: "nearest" }));
});

document.addEventListener("change", ({ target }) => {
  if (target.matches(".ab-composer-switch:checked")) document.getElementById("ab-composer-text").focus({ preventScroll: true });
});

// Keeps what is typed while a message is being sent, or while the page around it is loaded anew. Without it the new form
// is empty.

document.addEventListener("htmx:beforeSwap", ({ detail: { target, requestConfig } }) => {
  const sent = requestConfig.formData.get("content") ?? "";
  const typed = target.querySelector("#composer-text")?.value.replace(sent, "");
  if (typed) setTimeout(() => (document.getElementById("composer-text").value += typed));
});

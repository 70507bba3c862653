// Says in the tab how many questions are open. Without it the page itself has to be looked at.
"use strict";

(() => {
  const name = document.title.replace(/^\(\d+\) /, "");
  const icon = document.querySelector("link[rel=icon]");

  document.addEventListener("ask-bridge:open", ({ detail: total }) => {
    document.title = total ? `(${total}) ${name}` : name;
    icon.href = total ? icon.dataset.badge : icon.dataset.plain;
  });
})();

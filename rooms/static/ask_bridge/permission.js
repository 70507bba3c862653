// Asks the browser whether it may notify. Without it the choice is saved, but no notification ever appears.
"use strict";

(() => {
  const box = document.querySelector("[name=notify]");
  const state = () => window.Notification?.permission ?? "unsupported"; // missing without https
  const say = () => (document.getElementById("notify-said").textContent = (box.checked && box.dataset[state()]) || "");

  box.addEventListener("change", async () => {
    if (box.checked) await window.Notification?.requestPermission();
    say();
    box.checked &&= state() === "granted";
  });
  say(); // chosen in another browser: this one has its own say
})();

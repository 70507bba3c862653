// Asks the browser for its permission to notify when the box on the Settings page is ticked. Without it the browser
// never asks, and no notification appears.

const box = document.querySelector("[name=notify]");

const permission = () => window.Notification?.permission ?? "unsupported"; // missing without https

// The box has a sentence for every permission but "granted".
function explain() {
  const problem = box.checked ? box.dataset[permission()] : "";
  document.getElementById("ab-notify-said").textContent = problem ?? "";
}

box.addEventListener("change", async () => {
  if (box.checked) await window.Notification?.requestPermission();
  explain();
  if (permission() !== "granted") box.checked = false;
});
explain(); // the box may have been ticked in another browser: this one has a permission of its own

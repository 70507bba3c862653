// Asks the browser whether it may notify, and adds it as a device. Without it no notification ever appears.

const [box, add] = [document.querySelector("[name=notify]"), document.getElementById("add-device")];
const state = () => window.Notification?.permission ?? "unsupported"; // missing without https
const say = () => (document.getElementById("notify-said").textContent = (box.checked && box.dataset[state()]) || "");

box.addEventListener("change", async () => {
  if (box.checked) await window.Notification?.requestPermission();
  say();
  box.checked &&= state() === "granted";
});
say(); // chosen in another browser: this one has its own say

if (add) add.disabled = !("PushManager" in window && navigator.serviceWorker);
add?.addEventListener("click", async () => {
  try {
    await navigator.serviceWorker.register(document.getElementById("layout").dataset.worker);
    const { pushManager } = await navigator.serviceWorker.ready;
    await (await pushManager.getSubscription())?.unsubscribe(); // it may be of another key, or another person
    const options = { userVisibleOnly: true, applicationServerKey: add.dataset.key };
    add.form.elements.subscription.value = JSON.stringify(await pushManager.subscribe(options));
    add.form.submit();
  } catch {
    document.getElementById("device-said").textContent = add.dataset.failed;
  }
});

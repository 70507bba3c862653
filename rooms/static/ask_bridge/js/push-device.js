// Adds this browser to the devices that get push notifications. Without it the button on the Settings page does nothing.

const button = document.getElementById("ab-add-device"); // missing when the site has no key for push

async function subscribe() {
  await navigator.serviceWorker.register(document.getElementById("ab-layout").dataset.worker);
  const { pushManager } = await navigator.serviceWorker.ready;
  // An older subscription may belong to another key or another person.
  const older = await pushManager.getSubscription();
  await older?.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: button.dataset.key });
}

async function addDevice() {
  try {
    button.form.elements.subscription.value = JSON.stringify(await subscribe());
    button.form.submit();
  } catch {
    document.getElementById("ab-device-said").textContent = button.dataset.failed;
  }
}

if (button) {
  const isPossible = "PushManager" in window && navigator.serviceWorker;
  button.disabled = !isPossible;
  button.addEventListener("click", addDevice);
}

// Subscribes this browser to Web Push, and sends the form with what the browser's push service gave it.
import { said } from "./http.js";

const form = document.querySelector("[data-push]");
const note = form.querySelector("[data-push-note]");

form.hidden = !("PushManager" in globalThis && "serviceWorker" in navigator);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const { pushManager } = await navigator.serviceWorker.ready;
    const key = form.dataset.push;
    // One subscribed under another key, before the installation's changed, cannot be used.
    await (await pushManager.getSubscription())?.unsubscribe();
    const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    form.elements.address.value = made.endpoint;
    form.elements.secret.value = JSON.stringify(made);
    form.submit();
  } catch {
    note.textContent = said("push_refused");
  }
});

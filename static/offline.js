// Says when the network is gone, and leaves pages behind for navigations that cannot be answered.
import { announce } from "./http.js";

const note = document.querySelector("[data-offline]");

function show() {
  note.hidden = navigator.onLine;
  if (!navigator.onLine) announce(note.textContent);
}

addEventListener("online", show);
addEventListener("offline", show);
show();

// Who is shown this page, where they want their digest on this device; "" for anybody else.
const reader = document.querySelector('meta[name="offline-today"]')?.content ?? "";
const workers = navigator.serviceWorker;

function tell(message) {
  return workers?.ready.then(({ active }) => active.postMessage(message));
}

workers?.register("/sw.js").catch(() => {});
tell({ reader, store: document.querySelector("[data-today]") !== null });

// Signing out leaves nothing behind; the server's answer wipes the device as well, where it came over TLS.
for (const form of document.querySelectorAll('form[action$="/logout/"]')) {
  form.addEventListener("submit", () => {
    workers?.controller?.postMessage({ reader: "" });
    globalThis.caches?.delete("today-1");
    // Nor is anybody else here notified of their news.
    workers?.ready.then(({ pushManager }) => pushManager?.getSubscription()).then((push) => push?.unsubscribe());
  });
}

// Says when the network is gone, and leaves pages behind for navigations that cannot be answered.
import { announce, said } from "./http.js";

const note = document.querySelector("[data-offline]");
const usual = note.textContent;
const STORE = "today-1", DIGEST = "/ui/today/offline";
// As long as the worker keeps it (templates/sw.js).
const STORED_MS = 3 * 24 * 60 * 60 * 1000;

function show() {
  note.textContent = usual;
  note.hidden = navigator.onLine;
  if (!navigator.onLine) announce(usual);
}

/** The article of the item in the stored digest of this page's reader; null if this device does not have it. */
export async function storedArticle(item) {
  const digest = await globalThis.caches?.match(DIGEST, { cacheName: STORE });
  if (digest?.headers.get("X-Tidings-Reader") !== reader) return null;
  if (!(Date.now() - Date.parse(digest.headers.get("Date")) < STORED_MS)) return null;
  return new DOMParser().parseFromString(await digest.text(), "text/html").getElementById(`item-${item}`);
}

/** Say that an article is not on this device, and stay on the list. */
export function sayNotStored() {
  note.textContent = said("not_here");
  note.hidden = false;
  announce(note.textContent);
}

// On a narrow screen, too, an article that is not stored leaves the list where it is. Beside it the pane answers.
addEventListener("click", async (event) => {
  const link = event.target.closest?.("article[data-item] a[data-open]");
  if (!link || event.defaultPrevented || navigator.onLine) return;
  event.preventDefault();
  if (await storedArticle(link.closest("[data-item]").dataset.item)) location.assign(link.href);
  else sayNotStored();
});

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

/** Close the notifications that still stand on this device: their words are for who was signed in. */
async function closeNotifications() {
  const registration = await workers?.ready;
  for (const one of await registration?.getNotifications?.() ?? []) one.close();
}

// A page for nobody: the session has ended, perhaps elsewhere.
if (!("theme" in document.documentElement.dataset)) closeNotifications();

// Signing out leaves nothing behind; the server's answer wipes the device as well, where it came over TLS.
for (const form of document.querySelectorAll('form[action$="/logout/"]')) {
  form.addEventListener("submit", () => {
    // The worker may be fetching the digest for this very page, also if it is not in charge of it.
    tell({ reader: "" });
    globalThis.caches?.delete(STORE);
    closeNotifications();
    // Nor is anybody else here notified of their news.
    workers?.ready.then(({ pushManager }) => pushManager?.getSubscription()).then((push) => push?.unsubscribe());
  });
}

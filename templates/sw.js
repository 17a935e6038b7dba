{% load static %}// Answers pages that cannot be reached. Without a reader's wish it stores a page that says so and its looks,
// nothing else; with it also today's digest, as one page, until they sign out or somebody else signs in.
const CACHE = "offline-2";
const TODAY = "today-1";
const OFFLINE = "{% url 'offline' %}";
const DIGEST = "{% url 'digest:today_offline' %}";
const KEPT = [OFFLINE, "{% static 'tidings.css' %}", "{% static 'reading.css' %}", "{% static 'article.css' %}"];
// Without a network a device cannot learn that somebody signed out elsewhere.
const STORED_MS = 3 * 24 * 60 * 60 * 1000;
const ITEM = /^\/ui\/item\/(\d+)$/;
let turn = Promise.resolve();
let shown = null;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(KEPT)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(tidyUp());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate" && request.method === "GET") {
    event.respondWith(fetch(request).catch(() => unreachable(new URL(request.url))));
  } else if (KEPT.includes(new URL(request.url).pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(request)));
  }
});

// Each page says whose it is, "" for nobody who wants their digest here; Today asks to store it anew.
self.addEventListener("message", (event) => {
  const { reader, store } = event.data;
  event.waitUntil(inTurn(() => shownTo(reader)).then(() => (store && reader ? storeToday(reader) : null)));
});

/** Delete stores of earlier kinds, and the looks of earlier releases: they have other addresses in each. */
async function tidyUp() {
  const old = (await caches.keys()).filter((name) => ![CACHE, TODAY].includes(name));
  await Promise.all(old.map((name) => caches.delete(name)));
  const cache = await caches.open(CACHE);
  const unused = (await cache.keys()).filter(({ url }) => !KEPT.includes(new URL(url).pathname));
  await Promise.all(unused.map((request) => cache.delete(request)));
}

/** Look at the stored digest and change it one after the other: two pages speak at once. */
function inTurn(work) {
  turn = turn.then(work, work);
  return turn;
}

/** Delete the stored digest unless it is that of `reader`. */
async function shownTo(reader) {
  shown = reader;
  const stored = await caches.match(DIGEST, { cacheName: TODAY });
  if (stored && stored.headers.get("X-Tidings-Reader") !== reader) await caches.delete(TODAY);
}

async function storeToday(reader) {
  const answer = await fetch(DIGEST, { credentials: "same-origin" });
  if (!answer.ok || answer.headers.get("X-Tidings-Reader") !== reader) return;
  // Somebody may have signed out, or in, meanwhile.
  await inTurn(async () => shown === reader && (await caches.open(TODAY)).put(DIGEST, answer));
}

// A notification: what was encrypted for this browser, shown, and led to by a tap.
self.addEventListener("push", (event) => {
  const { title, body, url } = event.data.json();
  const looks = { body, data: url, icon: "{% static 'icon-192.png' %}" };
  event.waitUntil(self.registration.showNotification(title, looks));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data));
});

/** The stored digest; nothing, and it is deleted, once it is so old that its session may have ended elsewhere. */
async function storedToday() {
  const digest = await caches.match(DIGEST, { cacheName: TODAY });
  if (!digest || Date.now() - Date.parse(digest.headers.get("Date")) < STORED_MS) return digest;
  await caches.delete(TODAY);
}

async function unreachable(url) {
  const digest = await storedToday();
  if (digest && url.pathname === "/") return digest;
  const item = url.pathname.match(ITEM);
  if (digest && item && (await digest.text()).includes(`id="item-${item[1]}"`)) {
    return Response.redirect(`/#item-${item[1]}`);
  }
  return caches.match(OFFLINE);
}

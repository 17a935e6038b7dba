// Feeds that were just added: says how far their first fetch is, and shows what came.
import { announce, ask } from "./http.js";

const POLL_MS = 1000;
const POLL_MAX_MS = 10_000;
const PATIENCE_MS = 20_000;
let box = document.querySelector("[data-filling]");
let touched = false;

// Whoever reads or types already keeps the page as it is.
for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => (touched = true), { once: true });

if ("watched" in box.dataset) follow();

async function follow() {
  let pause = POLL_MS;
  while ("watched" in box.dataset) {
    await new Promise((done) => setTimeout(done, pause));
    if (document.hidden) await shown();
    const fresh = await renew();
    if (fresh === null) return;
    // Slower while nothing moves, and while nothing answers.
    const moved = fresh && said(fresh) !== said(box);
    pause = moved ? POLL_MS : Math.min(pause * 1.5, POLL_MAX_MS);
    if (!fresh) continue;
    box.replaceWith(fresh);
    box = fresh;
    if (moved) document.dispatchEvent(new Event("filled"));
    if (isEmpty() && Number(box.dataset.newer)) return location.reload();
  }
  announce(said(box));
  await finish();
}

const TOO_OFTEN = 429;

/** The part of the page as it is now; undefined where nothing answered, null where it is of no use to ask. */
async function renew() {
  try {
    const response = await ask(box.dataset.filling, {
      headers: { "X-Requested-With": "fetch" },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (response.status === TOO_OFTEN) return undefined;
    if (response.redirected || (response.status >= 400 && response.status < 500)) return null;
    if (!response.ok) return undefined;
    return part(await response.text(), "[data-filling]");
  } catch {
    return undefined;
  }
}

/** Bring in what the end of the fetch changed, where that takes nothing from under the reader's eyes. */
async function finish() {
  const list = document.querySelector("[data-filled]");
  if (list) {
    const response = await ask(location.href).catch(() => null);
    const fresh = response?.ok ? part(await response.text(), "[data-filled]") : null;
    if (fresh && !list.contains(document.activeElement)) list.replaceWith(fresh);
  } else if (document.querySelector("[data-today]") && (isEmpty() || (!touched && scrollY < 100))) {
    location.reload();
  }
}

function isEmpty() {
  return document.querySelector("[data-today]") !== null && !document.querySelector("[data-item]");
}

function said(element) {
  return element.querySelector("[data-words]")?.textContent ?? "";
}

function part(html, selector) {
  return new DOMParser().parseFromString(html, "text/html").querySelector(selector) ?? undefined;
}

function shown() {
  return new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
}

// Where there is room, the reader's sources and folders stand beside a page that does not bring them along. Their
// counts follow while feeds are fetched for the first time.
import { ask } from "./http.js";

const box = document.querySelector(".side");
const FOLDS = "folds";
const wide = matchMedia("(min-width: 68.75rem)");
const PAUSE_MS = 2000;
let busy = false;
let again = false;

// Only its triangle unfolds a folder, and folds it. This browser tab keeps that from page to page.
box.addEventListener("click", ({ target }) => {
  const details = target.closest("summary")?.parentElement;
  if (details) sessionStorage.setItem(FOLDS, JSON.stringify({ ...folds(), [nameOf(details)]: !details.open }));
});
fold();

if (!box.querySelector("nav")) {
  if (wide.matches) fill();
  else wide.addEventListener("change", fill, { once: true });
}

// Nobody looks at lists that are not shown, and one question at a time is enough.
document.addEventListener("filled", async () => {
  if (busy || box.hidden) return void (again = busy);
  busy = true;
  do {
    again = false;
    await fill();
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  } while (again);
  busy = false;
});

async function fill() {
  try {
    const answer = await ask(box.dataset.side);
    if (answer.redirected || !answer.ok) return;
    const piece = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("nav");
    if (piece) put(piece);
  } catch {
    // Without the lists, the page is as it is on a narrow screen.
  }
}

/** Show the fresh lists: folders stay as open as they were, and the focus stays on its line. */
function put(piece) {
  const old = box.querySelector("nav");
  const focused = old?.contains(document.activeElement) ? document.activeElement : null;
  if (old) old.replaceWith(piece);
  else box.replaceChildren(piece);
  fold();
  box.hidden = false;
  if (focused?.href) [...piece.querySelectorAll("a")].find((one) => one.href === focused.href)?.focus({ preventScroll: true });
  else if (focused) [...piece.querySelectorAll("summary")].find((one) => nameOf(one.parentElement) === nameOf(focused.parentElement))?.focus({ preventScroll: true });
}

/** Open and close the folders as the reader last did. */
function fold() {
  const kept = folds();
  for (const one of box.querySelectorAll("details")) one.open = kept[nameOf(one)] ?? one.open;
}

function folds() {
  return JSON.parse(sessionStorage.getItem(FOLDS) ?? "{}");
}

function nameOf(details) {
  return details.querySelector("summary").textContent.trim();
}

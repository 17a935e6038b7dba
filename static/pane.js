// Where there is room, an article opens beside its list; on a narrow screen its link is followed.
import { forget } from "./done.js";
import { announce, ask, said } from "./http.js";
import { pass, show, unsee } from "./marks.js";
import { sayNotStored, storedArticle } from "./offline.js";
import { watchPictures } from "./pictures.js";
import { watchEnd } from "./reading.js";
import { tell } from "./rows.js";

const pane = document.querySelector("[data-pane]");
const wide = matchMedia("(min-width: 68.75rem)");
const root = document.documentElement;
// Whoever walks on within this time looks at none of the articles between.
const REST_MS = 150;
// The link whose article the reader rests at, since when, and whether one is being asked for.
let wanted = null;
let since = 0;
let loading = false;
// What is being marked as unread again, by its link.
const unseen = new Map();

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-pane-close]")) return close();
  const link = event.target.closest("article[data-item] a[data-open]");
  const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !plain || !wide.matches || event.defaultPrevented) return;
  event.preventDefault();
  open(link);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !pane.hidden && !document.querySelector("dialog[open]")) close();
});

// Back closes the article and stays on the list. Where the list was scrolled to before is restored only once it is left.
addEventListener("popstate", () => {
  if (!pane.hidden) hide();
  setTimeout(() => (history.scrollRestoration = "auto"));
});

/**
 * Open the article of `link` beside the list, which reads it. One is asked for at a time: whoever walks on meanwhile
 * gets the one they rest at. Those between were never shown, and stay unread.
 */
async function open(link) {
  wanted = link;
  since = performance.now();
  if (loading) return;
  loading = true;
  root.dataset.paneComes = "";
  try {
    for (let next = link; next; next = wanted === next ? null : await rest()) await load(next);
  } finally {
    loading = false;
    delete root.dataset.paneComes;
  }
}

/** Return the link that the reader rests at, once they do. */
async function rest() {
  for (let left; (left = since + REST_MS - performance.now()) > 0; ) await new Promise((done) => setTimeout(done, left));
  return wanted;
}

/** Fill the pane with the piece of the item's page. Without a network it is the stored article, if there is one. */
async function load(link) {
  const isWanted = () => wanted === link;
  if (!navigator.onLine) return openStored(link);
  try {
    await unseen.get(link);
    const waits = () => isWanted() && say(link, said("waits"));
    const answer = await ask(`${link.href}?pane=1`, { waits, wanted: isWanted });
    const html = await answer.text();
    const came = answer.ok && !answer.redirected;
    if (!isWanted()) return void (came && unseen.set(link, unsee(rowOf(link))));
    const piece = came && new DOMParser().parseFromString(html, "text/html").querySelector("[data-pane-item]");
    if (piece) fill(link, piece);
    else say(link, said(answer.redirected ? "signed_out_here" : answer.status === 404 ? "gone" : "lost_article"), said("again"));
  } catch {
    // Only a network that is gone makes `fetch` itself fail.
    if (isWanted()) await openStored(link);
  }
}

/** Say in the pane what is with the article of `link`, and offer `again` as a button that asks for it again. */
function say(link, text, again = "") {
  const piece = document.createElement("div");
  const bar = Object.assign(document.createElement("p"), { className: "row apart" });
  bar.append(text);
  if (again) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "text", textContent: again });
    button.addEventListener("click", () => open(link));
    bar.append(button);
  }
  bar.append(closer());
  piece.append(bar);
  put(link, piece);
  announce(text);
}

function closer() {
  const close = Object.assign(document.createElement("button"), { type: "button", className: "text", textContent: said("close") });
  close.dataset.paneClose = "";
  return close;
}

async function openStored(link) {
  const stored = await storedArticle(rowOf(link).dataset.item);
  if (!stored) return sayNotStored();
  pass(rowOf(link));
  fill(link, pieceOf(stored));
}

/** What the pane shows of a stored article: where it comes from, its heading and text, and a way to close it. */
function pieceOf(stored) {
  const piece = document.createElement("div");
  const bar = Object.assign(document.createElement("p"), { className: "row apart", textContent: said("stored_here") });
  bar.append(closer());
  piece.append(bar, stored.querySelector("h2"), stored.querySelector(".article"));
  return piece;
}

function fill(link, piece) {
  put(link, piece);
  watchPictures(pane);
  watchEnd(pane);
  show(rowOf(link), true);
  announce(said("opened_beside", { title: link.textContent.trim() }));
}

/** Show `piece` in the pane, beside the row of `link`. */
function put(link, piece) {
  leave();
  link.setAttribute("aria-current", "true");
  tell(link);
  forget();
  pane.replaceChildren(piece);
  const state = { pane: rowOf(link).dataset.item };
  if (pane.hidden) {
    history.scrollRestoration = "manual";
    history.pushState(state, "");
    history.scrollRestoration = "auto";
  } else history.replaceState(state, "");
  pane.hidden = false;
  pane.scrollTop = 0;
  root.dataset.paneOpen = "";
  rowOf(link).scrollIntoView({ block: "nearest" });
  link.focus({ preventScroll: true });
}

function close() {
  if (history.state?.pane) history.back();
  else hide();
}

function hide() {
  wanted = null;
  const link = leave();
  const row = link && rowOf(link);
  const top = row?.getBoundingClientRect().top;
  pane.hidden = true;
  pane.replaceChildren();
  delete root.dataset.paneOpen;
  // Rows are higher without an article beside them. The one just read stays where it is.
  link?.focus({ preventScroll: true });
  if (row) scrollBy({ top: row.getBoundingClientRect().top - top, behavior: "instant" });
  row?.scrollIntoView({ block: "nearest", behavior: "instant" });
}

/** Return the link whose article is open, which is so no more. */
function leave() {
  const link = document.querySelector("article[data-item] a[data-open][aria-current]");
  link?.removeAttribute("aria-current");
  if (link) tell(link);
  return link;
}

function rowOf(link) {
  return link.closest("article[data-item]");
}

// Back from the full page, the reader stands where they were.
if (history.state?.pane) document.querySelector(`article[data-item="${history.state.pane}"] a[data-open]`)?.focus();

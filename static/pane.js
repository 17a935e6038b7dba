// Where there is room, an article opens beside its list; on a narrow screen its link is followed.
import { announce, said } from "./http.js";
import { show } from "./marks.js";
import { sayNotStored, storedArticle } from "./offline.js";
import { watchPictures } from "./pictures.js";
import { watchEnd } from "./reading.js";

const pane = document.querySelector("[data-pane]");
const wide = matchMedia("(min-width: 68.75rem)");
const root = document.documentElement;
let asked = null;

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

// Back closes the article and stays on the list.
addEventListener("popstate", () => {
  if (!pane.hidden) hide();
});

/** Fill the pane with the piece of the item's page. Without a network it is the stored article, if there is one. */
async function open(link) {
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  if (!navigator.onLine) return openStored(link);
  try {
    const answer = await fetch(`${link.href}?pane=1`, { credentials: "same-origin", signal });
    if (answer.redirected || !answer.ok) throw new Error(String(answer.status));
    const piece = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-pane-item]");
    if (!piece) throw new Error("The answer is no piece of a page.");
    fill(link, piece);
  } catch (error) {
    if (signal.aborted) return;
    // Only a network that is gone makes `fetch` itself fail; the server's refusals have a page of their own.
    if (error instanceof TypeError) await openStored(link);
    else location.assign(link.href);
  }
}

async function openStored(link) {
  const stored = await storedArticle(link.closest("[data-item]").dataset.item);
  if (stored) fill(link, pieceOf(stored));
  else sayNotStored();
}

/** What the pane shows of a stored article: where it comes from, its heading and text, and a way to close it. */
function pieceOf(stored) {
  const piece = document.createElement("div");
  const bar = Object.assign(document.createElement("p"), { className: "row apart", textContent: said("stored_here") });
  const close = Object.assign(document.createElement("button"), { type: "button", className: "text", textContent: said("close") });
  close.dataset.paneClose = "";
  bar.append(close);
  piece.append(bar, stored.querySelector("h2"), stored.querySelector(".article"));
  return piece;
}

function fill(link, piece) {
  current()?.removeAttribute("aria-current");
  link.setAttribute("aria-current", "true");
  pane.replaceChildren(piece);
  if (pane.hidden) history.pushState({ pane: true }, "");
  pane.hidden = false;
  pane.scrollTop = 0;
  root.dataset.paneOpen = "";
  watchPictures(pane);
  watchEnd(pane);
  const row = link.closest("article[data-item]");
  show(row, true);
  row.scrollIntoView({ block: "nearest" });
  link.focus({ preventScroll: true });
  announce(said("opened_beside", { title: link.textContent.trim() }));
}

function close() {
  if (history.state?.pane) history.back();
  else hide();
}

function hide() {
  asked?.abort();
  const link = current();
  link?.removeAttribute("aria-current");
  pane.hidden = true;
  pane.replaceChildren();
  delete root.dataset.paneOpen;
  link?.focus();
}

function current() {
  return document.querySelector("article[data-item] a[data-open][aria-current]");
}

// After rows of a list are marked, and after that is undone, its reader is at the row they were at, and it is scrolled as before.
import { more } from "./endless.js";

// Where the reader was as they marked a list, and where they are to be on the page that comes next.
const [LEFT, BACK] = ["place-left", "place-back"];
// The row one was at may be gone from a list of unread ones. Then it is the next of so many.
const NEXT_MAX = 50;

document.addEventListener("submit", ({ target, submitter }) => {
  if (target.matches(".marked")) return keep(BACK, back());
  if (!target.matches(".progress-of-day") || submitter?.dataset.key === "m") return;
  const at = place(submitter?.closest("article[data-item]"));
  keep(LEFT, at);
  if (at?.walked || scrollY) keep(BACK, at);
});

const there = read(BACK);
sessionStorage.removeItem(BACK);
if (there?.list === list()) restore(there);

/** Return the place to go back to: this one if the reader walked on since they marked the list, else where they did that. */
function back() {
  const [left, here] = [read(LEFT), place()];
  return left?.list === list() && !(here && (here.walked || scrollY)) ? left : here;
}

/**
 * Return the row one is at, which is `pressed` if a button of it was, or the first in sight: its items, how far from the
 * top it is, and how many rows there are.
 */
function place(pressed) {
  const all = rows();
  const walked = pressed ?? document.activeElement.closest("article[data-item]");
  const row = walked ?? all.find((one) => one.getBoundingClientRect().bottom > 0);
  if (!row) return null;
  const items = all.slice(all.indexOf(row)).slice(0, NEXT_MAX).map(({ dataset }) => dataset.item);
  return { list: list(), items, top: row.getBoundingClientRect().top, walked: Boolean(walked), rows: all.length };
}

async function restore({ items, top, walked, rows: seen }) {
  const find = (item) => document.querySelector(`article[data-item="${item}"]`);
  while (!find(items[0]) && rows().length < seen && (await more()));
  const row = items.map(find).find(Boolean);
  if (!row) return;
  if (walked) row.querySelector("a[data-open]").focus({ preventScroll: true });
  const scroll = () => scrollBy({ top: row.getBoundingClientRect().top - top, behavior: "instant" });
  scroll();
  bring(document.querySelector(".marked.notice"), row);
  scroll();
  // Rows that come into sight are laid out now, and may be higher than was thought.
  requestAnimationFrame(scroll);
}

/** Bring the line with Undo beside the row one is at, if it stands at the top of the page and out of sight. */
function bring(line, row) {
  if (!line || line.getBoundingClientRect().bottom > 0) return;
  const isRoomAbove = row.getBoundingClientRect().top > 2 * line.offsetHeight;
  if (isRoomAbove) row.before(line);
  else row.after(line);
}

function rows() {
  return [...document.querySelectorAll("article[data-item]")];
}

/** Return which list this is, however its address is written. */
function list() {
  return [location.pathname, ...[...new URLSearchParams(location.search)].map(String).sort()].join();
}

function read(key) {
  return JSON.parse(sessionStorage.getItem(key) ?? "null");
}

function keep(key, value) {
  sessionStorage.setItem(key, JSON.stringify(value));
}

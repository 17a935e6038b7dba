// One key for what a reader does all day. Nothing happens while typing, with a modifier, or when switched off.
import { more } from "./endless.js";
import { toggle } from "./marks.js";

const help = document.getElementById("keys");
const off = help.querySelector("[data-keys-off]");
const opener = document.querySelector("[data-keys-open]");
const SWITCH = "keys-off";
const EDITABLE = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
// `g` and one of these goes to a page; the second key has to come within this time.
const PLACE_MS = 1500;
// On the page of an article the keys that walk a list follow its links.
const NEIGHBOURS = Object.fromEntries(
  Object.entries({ j: "next", k: "previous", n: "next-unread", p: "previous-unread" }).map(([key, place]) => [key, `[data-neighbour=${place}][href]`]),
);
// So much of the open article's height goes by with Space, PageDown and PageUp: a few lines are seen twice.
const SCREEN = 0.9;
const SCROLLS = new Set([" ", "PageDown", "PageUp", "Home", "End", "ArrowDown", "ArrowUp"]);
const PRESSED_BY_SPACE = "button, summary, input, audio, video";
// The item that was last walked to, for when a button inside it has the focus, or nothing has.
let current = null;
// Whether the reader scrolled since. While a step of a walk still glides, the next one goes on from where it leads to.
let strayed = true;
let going = -PLACE_MS;

off.checked = localStorage.getItem(SWITCH) === "yes";
off.addEventListener("change", () => localStorage.setItem(SWITCH, off.checked ? "yes" : "no"));
opener.hidden = false;
opener.addEventListener("click", () => help.showModal());

document.addEventListener("focusin", ({ target }) => {
  current = target.closest("article[data-item]") ?? current;
});

for (const kind of ["wheel", "touchmove", "mousedown"]) document.addEventListener(kind, () => (strayed = true), { passive: true });

document.addEventListener("keydown", (event) => {
  strayed ||= SCROLLS.has(event.key);
  if (off.checked || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.isComposing || event.target.closest(EDITABLE) || document.querySelector("dialog[open]")) return;
  const place = event.timeStamp - going < PLACE_MS;
  going = event.key === "g" && !place ? event.timeStamp : -PLACE_MS;
  if (place ? go(event.key) : turn(event) || act(event.key)) event.preventDefault();
});

/** Do what `key` stands for; whether it stands for anything here. */
function act(key) {
  if (key in NEIGHBOURS && document.querySelector("[data-neighbours]")) return click(document.querySelector(NEIGHBOURS[key]));
  if (key === "j") return walk(1);
  if (key === "k") return walk(-1);
  if (key === "n") return walk(1, unread);
  if (key === "p") return walk(-1, unread);
  if (key === "J") return toList(1) || walk(1, ofAnotherSource());
  if (key === "K") return toList(-1) || walk(-1, ofAnotherSource());
  if (key === "x") return click(here()?.querySelector("a[data-mute]"));
  if (key === "/") return search();
  if (key === "?") return help.showModal() ?? true;
  if (key === "o") return click(here()?.querySelector("a[data-open]"));
  if (key === "v") return click(here()?.querySelector("a[data-original]"));
  if (key === "m") return mark(here());
  if (key === "A" || key === "z") return click(document.querySelector(`main [data-key=${key}]`));
  if (key === "+" || key === "-") return act(key === "+" ? "u" : "d");
  if (["s", "u", "d", "l"].includes(key)) return click(here()?.querySelector(`[data-key=${key}]`));
  if (/^[1-9]$/.test(key)) return click(here()?.querySelectorAll(".tags button")[key - 1]);
  return false;
}

/** Scroll the article that is open beside the list by a screen. At its end, Space goes on to the next unread one. */
function turn({ key, shiftKey, repeat, target }) {
  const pane = document.querySelector("[data-pane]:not([hidden])");
  const space = key === " " && !target.closest(PRESSED_BY_SPACE);
  if (!pane || !(space || key === "PageDown" || key === "PageUp")) return false;
  const back = key === "PageUp" || (space && shiftKey);
  const from = pane.scrollTop;
  pane.scrollBy({ top: (back ? -SCREEN : SCREEN) * pane.clientHeight, behavior: "instant" });
  if (space && !back && !repeat && pane.scrollTop === from) walk(1, unread);
  return true;
}

function items() {
  return [...document.querySelectorAll("article[data-item]")].filter((row) => !row.closest("[hidden], details:not([open])"));
}

/** The item that a key is about: the one walked to, or the only one of the page. */
function here() {
  const all = items();
  return all.includes(current) ? current : all.length === 1 ? all[0] : null;
}

/**
 * Go to the next item, or with a step of -1 to the one before, that `wanted` is true for. Whoever scrolled the item
 * walked to out of the screen goes on at the first one in sight.
 */
function walk(step, wanted = () => true) {
  const all = items();
  const at = all.indexOf(current);
  const first = strayed && !(at >= 0 && isInSight(all[at])) ? all.findIndex(isInSight) : -1;
  let next = first >= 0 ? first : at < 0 ? 0 : at + step;
  while (all[next] && !wanted(all[next])) next += step;
  if (all[next]) return stand(all[next]);
  // At the end of what is loaded, the next page of the list is loaded and walked into.
  if (step > 0) more().then((loaded) => loaded && walk(step, wanted));
  return all.length > 0;
}

/** Return whether the title of an item is on the screen. */
function isInSight(article) {
  const { top } = article.getBoundingClientRect();
  return top >= 0 && top < innerHeight;
}

function stand(article) {
  const target = article.querySelector("a[data-open]");
  if (!target) return false;
  strayed = false;
  target.focus({ preventScroll: true });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  article.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
  // Beside an article that is open, or about to be, walking on reads on.
  const { paneOpen, paneComes } = document.documentElement.dataset;
  if ((paneOpen ?? paneComes) !== undefined) target.click();
  return true;
}

/** Return whether an item counts as unread: an old one does not. */
function unread({ classList }) {
  return !classList.contains("read") && !classList.contains("old");
}

/** Return a test of items: whether one is of another source than the item walked to. */
function ofAnotherSource() {
  const source = sourceOf(current);
  return (article) => sourceOf(article) !== source;
}

function sourceOf(article) {
  return article?.querySelector(".meta a:not([data-original])")?.href;
}

/** From the list of a feed or folder, go to the next one that has unread items, or with a step of -1 to the one before. */
function toList(step) {
  const here = document.querySelector("#lists li a[aria-current]");
  if (!here) return false;
  const isFeed = (link) => "feed" in link.parentElement.dataset;
  const alike = [...document.querySelectorAll("#lists li a")].filter((link) => isFeed(link) === isFeed(here));
  const lists = alike.filter((link) => link === here || hasUnread(link));
  click(lists[lists.indexOf(here) + step]);
  return true;
}

/** Return whether the list of `link` has unread items, as its count beside the lists says. Whoever hides counts gets any. */
function hasUnread(link) {
  const line = link.closest("[data-feed]") ?? link.closest("details")?.querySelector("summary");
  const count = line?.querySelector("[data-count]");
  return count ? Number(count.dataset.count) > 0 : !document.querySelector("#lists [data-count]");
}

/** Go to the page that has `key` as its place in the main navigation. */
function go(key) {
  return click(document.querySelector(`.masthead a[data-place="${CSS.escape(key)}"]`));
}

function mark(article) {
  if (!article) return false;
  const button = article.querySelector("[data-key=m]");
  if (button) button.click();
  else toggle(article);
  return true;
}

function click(element) {
  if (!element) return false;
  element.click();
  return true;
}

function search() {
  const field = document.querySelector("input[type=search]");
  if (!field) location.assign(help.dataset.search);
  else {
    field.focus();
    field.select();
  }
  return true;
}

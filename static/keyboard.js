// One key for what a reader does all day. Nothing happens while typing, with a modifier, or when switched off.
import { done } from "./done.js";
import { more } from "./endless.js";
import { announce, said } from "./http.js";
import { pass, toggle } from "./marks.js";
import { unattended } from "./unattended.js";

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
// The buttons of a row that mark what stands above or below it.
const AROUND = { "<": "above", ">": "below" };
// So much of the open article's height goes by with Space, PageDown and PageUp: a few lines are seen twice.
const SCREEN = 0.9;
const SCROLLS = new Set([" ", "PageDown", "PageUp", "Home", "End", "ArrowDown", "ArrowUp"]);
// What a walk stops at: each makes a test of items.
const ANY = () => () => true;
const UNREAD = () => unread;
// So many pages are loaded to look for an unread article or another source. The oldest of a list may all be read.
const PAGES_MAX = 3;
// How long a line of what a key found stays.
const TOLD_MS = 8000;
const PRESSED_BY_SPACE = "button, summary, input, audio, video";
// Asked with every key. In a list of a thousand rows, to look for each of them takes milliseconds; a browser keeps these.
const articles = document.getElementsByTagName("article");
const dialogs = document.getElementsByTagName("dialog");
const pane = document.querySelector("[data-pane]");
const neighbours = document.querySelector("[data-neighbours]");
// The item that was last walked to, for when a button inside it has the focus, or nothing has.
let current = document.activeElement.closest("article[data-item]");
// Whether the reader scrolled since. While a step of a walk still glides, the next one goes on from where it leads to.
let strayed = true;
let going = -PLACE_MS;
// The steps that wait for rows to be loaded, in the order of their keys.
const owed = [];

off.checked = localStorage.getItem(SWITCH) === "yes";
document.documentElement.toggleAttribute("data-keys", !off.checked);
off.addEventListener("change", () => {
  localStorage.setItem(SWITCH, off.checked ? "yes" : "no");
  document.documentElement.toggleAttribute("data-keys", !off.checked);
});
opener.hidden = false;
opener.addEventListener("click", () => help.showModal());

document.addEventListener("focusin", ({ target }) => {
  current = target.closest("article[data-item]") ?? current;
});

for (const kind of ["wheel", "touchmove", "mousedown"]) document.addEventListener(kind, () => (strayed = true), { passive: true });

document.addEventListener("keydown", (event) => {
  strayed ||= SCROLLS.has(event.key);
  if (off.checked || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.isComposing || event.target.closest(EDITABLE) || [...dialogs].some((dialog) => dialog.open)) return;
  const place = event.timeStamp - going < PLACE_MS;
  going = event.key === "g" && !place ? event.timeStamp : -PLACE_MS;
  if (place ? go(event.key) : turn(event) || act(event.key)) event.preventDefault();
});

/** Do what `key` stands for; whether it stands for anything here. */
function act(key) {
  if (key === "Escape" && owed.length) return Boolean(owed.splice(0));
  if (key in NEIGHBOURS && neighbours) return click(document.querySelector(NEIGHBOURS[key]));
  if (key === "j") return walk(1);
  if (key === "k") return walk(-1);
  if (key === "n") return walk(1, UNREAD);
  if (key === "p") return walk(-1, UNREAD);
  if (key === "J") return toFeed(1) || walk(1, ofAnotherSource);
  if (key === "K") return toFeed(-1) || walk(-1, ofAnotherSource);
  if (key === "x") return click(here()?.querySelector("a[data-mute]"));
  if (key === "/") return search();
  if (key === "?") return help.showModal() ?? true;
  if (key === "o") return click(here()?.querySelector("a[data-open]"));
  if (key === "v") return click(here()?.querySelector("a[data-original]"));
  if (key === "m") return mark(here());
  if (key === "A" || key === "z") return click(document.querySelector(`main [data-key=${key}]`));
  if (key === "+" || key === "-") return rate(key === "+" ? "u" : "d");
  if (key in AROUND) return click(here()?.querySelector(`[name=${AROUND[key]}]`));
  if (["s", "u", "d", "l"].includes(key)) return click(here()?.querySelector(`[data-key=${key}]`));
  if (/^[1-9]$/.test(key)) return reason(key - 1);
  return false;
}

/** Choose the nth reason for a rating. If they are folded, unfold them first: each says its number there. */
function reason(n) {
  const row = here();
  const beside = pane && !pane.hidden ? pane.querySelector(`[data-item="${row?.dataset.item}"]`) : null;
  const reasons = (beside ?? row)?.querySelector(".tags");
  if (!reasons) return false;
  if (reasons.open) return click(reasons.querySelectorAll("[data-key^=tag-]")[n]);
  reasons.open = true;
  reasons.scrollIntoView({ block: "nearest" });
  announce([...reasons.querySelectorAll("[data-key^=tag-]")].slice(0, 9).map((one, at) => `${at + 1} ${one.textContent}`).join(", "));
  return true;
}

/** Scroll the article that is open beside the list by a screen. At its end, Space goes on to the next unread one. */
function turn({ key, shiftKey, repeat, target }) {
  const space = key === " " && !target.closest(PRESSED_BY_SPACE);
  if (!pane || pane.hidden || !(space || key === "PageDown" || key === "PageUp")) return false;
  const back = key === "PageUp" || (space && shiftKey);
  const from = pane.scrollTop;
  pane.scrollBy({ top: (back ? -SCREEN : SCREEN) * pane.clientHeight, behavior: "instant" });
  if (space && !back && !repeat && pane.scrollTop === from) walk(1, UNREAD);
  return true;
}

function items() {
  return [...articles].filter((article) => "item" in article.dataset);
}

/** Return whether an item is on the page, and in nothing that is closed. Asked of a thousand rows, this takes a while. */
function isShown(article) {
  return article.isConnected && !article.closest("[hidden], details:not([open])");
}

/** The item that a key is about: the one walked to, or the only one of the page. */
function here() {
  if (current && isShown(current)) return current;
  const shown = items().filter(isShown);
  return shown.length === 1 ? shown[0] : null;
}

/**
 * Go to the next item, or with a step of -1 to the one before, that the test made by `wanted` is true for. At the end of
 * what is loaded, the step waits until the next page of the list is, and so do the steps after it. A step that looks for
 * a kind of item waits for long, so another key takes its place.
 */
function walk(step, wanted = ANY) {
  document.querySelector("[data-told]")?.remove();
  if (owed.length && owed[0][1] !== ANY && owed[0][1] !== wanted) owed.length = 0;
  if (!owed.length && (take(step, wanted) || step < 0)) return true;
  if (owed.push([step, wanted]) === 1) settle();
  return true;
}

/** Take the steps that wait, once there are rows for them. Where the list ends, or after `PAGES_MAX`, they lead nowhere. */
async function settle() {
  let pages = 0;
  let seen = items().length;
  while (owed.length && (await more())) {
    pages += 1;
    while (owed.length && (take(...owed[0]) || owed[0][0] < 0)) {
      owed.shift();
      [pages, seen] = [0, items().length];
    }
    if (pages < PAGES_MAX || !owed.length || owed[0][1] === ANY) continue;
    tell(said(owed[0][1] === UNREAD ? "none_unread" : "none_other", { rows: items().length - seen }));
    break;
  }
  owed.length = 0;
}

/** Say `text` to a screen reader, and for a while on the page. */
function tell(text) {
  document.querySelector("[data-told]")?.remove();
  const line = Object.assign(document.createElement("p"), { textContent: text });
  line.dataset.told = "";
  document.querySelector("main").append(line);
  unattended(line, TOLD_MS, () => line.remove());
  announce(text);
}

/** Take one step of a walk; return whether there was a row. Whoever scrolled on goes on at the first row in sight. */
function take(step, made) {
  const wanted = made();
  const all = items();
  const at = all.indexOf(current);
  const first = strayed && !(at >= 0 && isInSight(all[at])) ? all.findIndex(isInSight) : -1;
  let next = first >= 0 ? first : at < 0 ? 0 : at + step;
  while (all[next] && !(isShown(all[next]) && wanted(all[next]))) next += step;
  if (all[next] === undefined) return false;
  // The next unread one is asked for on purpose: that reads the one whose article did not come yet.
  if (made === UNREAD && current && "paneComes" in document.documentElement.dataset) pass(current);
  return stand(all[next]);
}

/** Return whether the title of an item is on the screen. */
function isInSight(article) {
  const { top } = article.getBoundingClientRect();
  return top >= 0 && top < innerHeight && isShown(article);
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

/** Press a thumb of the item that a key is about, unless it is pressed: only `u` and `d` take a rating back. */
function rate(key) {
  const button = here()?.querySelector(`[data-key=${key}]`);
  if (button?.getAttribute("aria-pressed") !== "true") return click(button);
  done(here().dataset.item, said("rated_so"));
  return true;
}

/** Return a test of items: whether one is of another source than the item walked to. */
function ofAnotherSource() {
  const source = sourceOf(current);
  return (article) => sourceOf(article) !== source;
}

function sourceOf(article) {
  return article?.querySelector(".meta a:not([data-original])")?.href;
}

/**
 * From the list of a feed, go to the next one of its folder that has unread items, or with a step of -1 to the one before.
 * In another folder, `A` would mark what nobody chose.
 */
function toFeed(step) {
  const feeds = "[data-feed] > a";
  const here = document.querySelector(`#lists ${feeds}[aria-current]`);
  if (!here) return false;
  const folder = here.closest(".folder") ?? document.getElementById("lists");
  const lists = [...folder.querySelectorAll(feeds)].filter((link) => link === here || hasUnread(link));
  if (!click(lists[lists.indexOf(here) + step])) tell(said(folder.matches(".folder") ? "no_feed" : "no_list"));
  return true;
}

/** Return whether the list of `link` has unread items, as its count beside the lists says. Whoever hides counts gets any. */
function hasUnread(link) {
  const count = link.parentElement.querySelector("[data-count]");
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

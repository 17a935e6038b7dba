// Marking items as read and unread without a reload: one by key or button, many by scrolling past them.
import { done } from "./done.js";
import { announce, ask, figure, said } from "./http.js";

const token = document.querySelector('meta[name="csrf-token"]').content;
// What was passed waits so long to be told together, and no more at once than the server takes.
const TOGETHER_MS = 1000;
const IDS_MAX = 1000;
// The rows that were passed since.
const passed = new Set();
let timer = 0;

/** Mark an item as read, or as unread again where it is read. */
export async function toggle(article) {
  const read = !article.classList.contains("read");
  passed.delete(article);
  show(article, read);
  done(article.dataset.item, said(read ? "read_now" : "unread_now"), { undo: () => toggle(article) });
  try {
    const answer = await send(`/api/items/${article.dataset.item}/read`, read ? "POST" : "DELETE");
    if (!answer.ok) throw new Error(String(answer.status));
  } catch {
    show(article, !read);
    announce(said("not_stored"));
  }
}

/** Mark an item as unread again whose article came after its reader had walked on, so that they did not see it. */
export async function unsee(article) {
  if (article.classList.contains("read")) return;
  try {
    const answer = await send(`/api/items/${article.dataset.item}/read`, "DELETE");
    if (answer.ok) return;
  } catch {
    // The server keeps it as read.
  }
  show(article, true);
}

/** Mark an item as read that its reader passed. The server is told a second's worth at a time. */
export function pass(article) {
  if (article.classList.contains("read")) return;
  show(article, true);
  passed.add(article);
  timer ||= setTimeout(flush, TOGETHER_MS);
}

async function flush() {
  clearTimeout(timer);
  timer = 0;
  const rows = [...passed].slice(0, IDS_MAX);
  if (!rows.length) return;
  for (const row of rows) passed.delete(row);
  if (passed.size) flush();
  try {
    const body = JSON.stringify({ item_ids: rows.map(({ dataset }) => Number(dataset.item)) });
    const answer = await send("/api/items/read", "POST", body);
    if (answer.ok) return;
    for (const row of rows) show(row, false);
    announce(said("not_stored"));
  } catch {
    // Without a network they wait for it.
    for (const row of rows) passed.add(row);
  }
}

addEventListener("online", flush);
addEventListener("pagehide", flush);

/** Ask the API; the request outlives the page. */
function send(url, method, body) {
  const headers = { "X-CSRFToken": token, "Content-Type": "application/json" };
  return ask(url, { method, headers, body, keepalive: true });
}

/** Give an item the looks of a read or an unread one. */
export function show(article, read) {
  // What is open beside the list is an item of the list, which is counted there. What is folded away is not.
  const isCounted = article.closest("[data-thumbs]") && !article.closest("[data-aside]");
  if (isCounted && article.classList.contains("read") !== read) count(article, read ? -1 : 1);
  article.classList.toggle("read", read);
  const button = article.querySelector("button[data-key=m][aria-pressed]");
  if (!button) return;
  button.setAttribute("aria-pressed", String(read));
  button.name = read ? "unread_item" : "read_item";
  button.title = said(read ? "is_read" : "mark_read");
}

/** Move the counts of unread items that the page shows, if it shows any: its own, and those of the lists beside it. */
function count(article, step) {
  const shown = document.querySelector("[data-unread]");
  const { counts } = article.dataset;
  // A digest counts all of its items, a list those that are not too old to count.
  if (!shown || !(shown.dataset.size || counts)) return;
  const { size } = shown.dataset;
  const unread = Number(shown.dataset.unread) + step;
  shown.dataset.unread = unread;
  if (size) {
    shown.textContent = said(unread ? "unread_of" : "all_read", { unread, size });
    return;
  }
  shown.textContent = said("unread", { unread });
  const feed = document.querySelector(`li[data-feed="${counts}"]`);
  const folder = feed?.closest(".folder")?.querySelector("p");
  for (const line of [document.querySelector("#lists .whole"), feed, folder]) countBeside(line, step);
}

function countBeside(line, step) {
  const shown = line?.querySelector("[data-count]");
  if (!shown) return;
  const unread = Number(shown.dataset.count) + step;
  shown.dataset.count = unread;
  shown.hidden = !unread;
  shown.firstChild.data = figure(unread);
}

// On a narrow screen, one button shows what else a row can do.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-unfold]");
  if (!button) return;
  const open = button.closest("[data-item]").toggleAttribute("data-unfolded");
  button.setAttribute("aria-expanded", String(open));
});

document.addEventListener("submit", (event) => {
  if (!event.target.closest("form[data-marks]") || event.submitter?.dataset.key !== "m") return;
  event.preventDefault();
  toggle(event.submitter.closest("[data-item]"));
});

const scrolled = document.querySelector("[data-read-on-scroll]");
if (scrolled) watch(scrolled);

/** Mark as read what leaves the screen at its top. */
function watch(list) {
  const left = ({ target, isIntersecting, boundingClientRect }) => {
    if (isIntersecting || boundingClientRect.bottom > 0) return;
    observer.unobserve(target);
    pass(target);
  };
  // As if the screen had no lower end: what a jump passes over leaves it too.
  const endless = { rootMargin: "0px 0px 1000000px 0px" };
  const observer = new IntersectionObserver((entries) => entries.forEach(left), endless);
  for (const article of list.querySelectorAll("article[data-item]")) observer.observe(article);
  document.addEventListener("rows", ({ detail }) => detail.forEach((article) => observer.observe(article)));
}

// Following an item's original marks it as read, and so does reading it to its end; nothing waits for it.
import { ask } from "./http.js";
import { show } from "./marks.js";

const token = document.querySelector('meta[name="csrf-token"]').content;
// Half the time that silent reading of so many characters takes (Brysbaert 2019: 238 words a minute), at least 5 s.
const CHARS_PER_SECOND = 48;
const SHORTEST_MS = 5000;
// Of less than this there is no end to speak of.
const CHARS_MIN = 600;
let watched = null;

function followed(event) {
  const link = event.target.closest("[data-item] a[data-original]");
  // A right click opens a menu, not the link.
  if (!link || event.button > 1) return;
  const box = link.closest("[data-item]");
  show(box, true);
  tell(box.dataset.item, "opened");
}

function tell(item, how) {
  const headers = { "X-CSRFToken": token };
  ask(`/api/items/${item}/read?how=${how}`, { method: "POST", headers, keepalive: true }).catch(() => {});
}

document.addEventListener("click", followed);
document.addEventListener("auxclick", followed);

/** Tell once that the article in `root` was read to its end: its end was in view, and there was time to read it. */
export function watchEnd(root) {
  watched?.disconnect();
  const article = root.querySelector("[data-watch-end]");
  const text = article?.textContent.trim() ?? "";
  const end = article?.lastElementChild;
  if (!end || text.length < CHARS_MIN) return;
  const needed = Math.max(SHORTEST_MS, (text.length / CHARS_PER_SECOND) * 1000);
  const { item } = end.closest("[data-item]").dataset;
  let inView = false;
  let seen = 0;
  let last = performance.now();
  watched = new IntersectionObserver(([entry]) => {
    inView = entry.isIntersecting;
  });
  watched.observe(end);
  const watching = watched;
  const timer = setInterval(() => {
    const now = performance.now();
    if (!document.hidden) seen += Math.min(now - last, 2000);
    last = now;
    if (watched !== watching || !end.isConnected) return clearInterval(timer);
    if (!inView || document.hidden || seen < needed) return;
    clearInterval(timer);
    watching.disconnect();
    tell(item, "finished");
  }, 1000);
}

watchEnd(document);

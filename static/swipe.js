// Swiping a row by touch: to the right marks it as read, or unread again, to the left saves it, or takes that back.
import { said } from "./http.js";
import { toggle } from "./marks.js";

// So far a row has to be moved, in pixels. Less springs back.
const FAR = 72;
// A move counts as a swipe if it is this many times as wide as high. Anything else scrolls the page.
const FLAT = 1.5;

// Whoever meets a list by touch is told once what a swipe does.
const TOLD = "swipe-told";

let start = null;

function begin(event) {
  const row = event.target.closest("article[data-item]");
  const [touch, second] = event.touches;
  start = row && !second ? { row, x: touch.clientX, y: touch.clientY, across: 0 } : null;
}

function move(event) {
  if (!start) return;
  const [touch] = event.touches;
  const [x, y] = [touch.clientX - start.x, touch.clientY - start.y];
  if (!start.across && Math.abs(x) < FLAT * Math.abs(y)) start = null;
  else if (Math.abs(x) > FAR / 4) show(x, event);
}

function show(x, event) {
  start.across = x;
  const { row } = start;
  const ready = Math.abs(x) >= FAR;
  const saved = row.querySelector("[data-key=s]")?.getAttribute("aria-pressed") === "true";
  const name = x > 0 ? (row.classList.contains("read") ? "mark_unread" : "mark_read") : saved ? "unsave" : "save";
  row.dataset.swipe = said(name);
  row.toggleAttribute("data-swipe-back", x < 0);
  row.toggleAttribute("data-swipe-ready", ready);
  row.style.translate = `${Math.max(-2 * FAR, Math.min(2 * FAR, x))}px`;
  if (event.cancelable) event.preventDefault();
}

function end() {
  if (!start) return;
  const { row, across } = start;
  start = null;
  row.style.translate = "";
  delete row.dataset.swipe;
  row.removeAttribute("data-swipe-ready");
  if (Math.abs(across) >= FAR) document.querySelector(".swipe-hint")?.remove();
  if (across >= FAR) toggle(row);
  else if (across <= -FAR) row.querySelector("[data-key=s]")?.click();
}

function tell() {
  const hint = Object.assign(document.createElement("p"), { className: "swipe-hint no-print", textContent: said("swipe_hint") });
  const close = Object.assign(document.createElement("button"), { type: "button", className: "text", textContent: said("close") });
  close.addEventListener("click", () => hint.remove());
  hint.append(close);
  // Between two rows, the first that is out of sight: it covers no headline, and nothing in sight moves.
  const below = [...list.querySelectorAll(":scope > article[data-item]")].find((row) => row.getBoundingClientRect().top >= innerHeight);
  if (below) below.before(hint);
  else list.append(hint);
  const seen = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && localStorage.setItem(TOLD, "yes"));
  seen.observe(hint);
}

const list = document.querySelector("[data-thumbs]");
if (matchMedia("(pointer: coarse)").matches && list.querySelector("article[data-item]") && !localStorage.getItem(TOLD)) tell();
list.addEventListener("touchstart", begin, { passive: true });
list.addEventListener("touchmove", move, { passive: false });
list.addEventListener("touchend", end);
list.addEventListener("touchcancel", () => {
  if (start) start.across = 0;
  end();
});

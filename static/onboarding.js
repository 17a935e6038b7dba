// Answering a headline by a key or a swipe. The buttons are a plain form, which works without this.
const form = document.querySelector("[data-teach]");
const card = document.querySelector("[data-teach-card]");
const KEYS = { y: "yes", ArrowRight: "yes", n: "no", ArrowLeft: "no", s: "skip" };
const EDITABLE = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const SWIPE_PX = 80;
// One answer a page: a second press is no answer to the next headline.
let sent = false;
let from = null;

form.addEventListener("submit", (event) => {
  if (sent) event.preventDefault();
  sent = true;
});
// A page that comes back from the browser's memory can be answered.
window.addEventListener("pageshow", () => { sent = false; });

document.addEventListener("keydown", (event) => {
  const answer = Object.hasOwn(KEYS, event.key) && KEYS[event.key];
  if (!answer || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (localStorage.getItem("keys-off") === "yes" || document.querySelector("dialog[open]")) return;
  if (event.target.closest(EDITABLE)) return;
  event.preventDefault();
  give(answer);
});

card.addEventListener("pointerdown", (event) => {
  if (event.pointerType === "touch" && event.isPrimary) from = { x: event.clientX, y: event.clientY };
});
card.addEventListener("pointermove", (event) => {
  if (from && event.isPrimary) card.style.translate = `${event.clientX - from.x}px`;
});
card.addEventListener("pointercancel", back);
card.addEventListener("pointerup", (event) => {
  if (!from || !event.isPrimary) return;
  const x = event.clientX - from.x;
  const isAcross = Math.abs(x) > SWIPE_PX && Math.abs(x) > 2 * Math.abs(event.clientY - from.y);
  back();
  if (isAcross) give(x > 0 ? "yes" : "no");
});

function back() {
  from = null;
  card.style.translate = "";
}

function give(answer) {
  if (!sent) form.querySelector(`button[value=${answer}]`).click();
}

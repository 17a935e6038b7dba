// One key for what a reader does all day. Nothing happens while typing, with a modifier, or when switched off.
import { toggle } from "./marks.js";

const help = document.getElementById("keys");
const off = help.querySelector("[data-keys-off]");
const opener = document.querySelector("[data-keys-open]");
const SWITCH = "keys-off";
const EDITABLE = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
// The item that was last walked to, for when a button inside it has the focus, or nothing has.
let current = null;

off.checked = localStorage.getItem(SWITCH) === "yes";
off.addEventListener("change", () => localStorage.setItem(SWITCH, off.checked ? "yes" : "no"));
opener.hidden = false;
opener.addEventListener("click", () => help.showModal());

document.addEventListener("focusin", ({ target }) => {
  current = target.closest("article[data-item]") ?? current;
});

document.addEventListener("keydown", (event) => {
  if (off.checked || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.isComposing || event.target.closest(EDITABLE) || document.querySelector("dialog[open]")) return;
  if (act(event.key)) event.preventDefault();
});

/** Do what `key` stands for; whether it stands for anything here. */
function act(key) {
  if (key === "j") return walk(1);
  if (key === "k") return walk(-1);
  if (key === "/") return search();
  if (key === "?") return help.showModal() ?? true;
  if (key === "o") return click(here()?.querySelector("a[data-open]"));
  if (key === "v") return click(here()?.querySelector("a[data-original]"));
  if (key === "m") return mark(here());
  if (key === "A") return click(document.querySelector("main [data-key=A]"));
  if (["s", "u", "d", "l"].includes(key)) return click(here()?.querySelector(`[data-key=${key}]`));
  if (/^[1-9]$/.test(key)) return click(here()?.querySelectorAll(".tags button")[key - 1]);
  return false;
}

function items() {
  return [...document.querySelectorAll("article[data-item]")];
}

/** The item that a key is about: the one walked to, or the only one of the page. */
function here() {
  const all = items();
  return all.includes(current) ? current : all.length === 1 ? all[0] : null;
}

function walk(step) {
  const all = items();
  const at = all.indexOf(current);
  const next = at < 0 ? all[0] : all[at + step];
  const target = next?.querySelector("a[data-open]");
  if (!target) return false;
  target.focus({ preventScroll: true });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  next.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
  // Beside an open article, walking on reads on.
  if ("paneOpen" in document.documentElement.dataset) target.click();
  return true;
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

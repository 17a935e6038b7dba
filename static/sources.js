// The list of sources: found as one types, chosen by the dozen, weighed without a reload.
import { announce, ask, said } from "./http.js";

const rows = [...document.querySelectorAll("[data-source]")];
const many = document.getElementById("many");
const find = document.querySelector("[data-find]");
const found = document.querySelector("[data-found]");
const counted = document.querySelector("[data-chosen]");
const whole = many.elements.namedItem("whole");
const box = (row) => row.querySelector("input[type=checkbox]");
const shown = () => rows.filter((row) => !row.hidden);
const text = new Map(rows.map((row) => [row, words(row)]));
let last = null;

/** What a row is found by: its names and its address. */
function words(row) {
  const parts = [row.querySelector("strong"), row.querySelector(".address")];
  return [row.dataset.also, ...parts.map((part) => part?.textContent ?? "")].join(" ").toLowerCase();
}

function filter() {
  const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rows) row.hidden = !wanted.every((word) => text.get(row).includes(word));
  for (const group of document.querySelectorAll("[data-group]")) {
    group.hidden = !group.querySelector("[data-source]:not([hidden])");
    // What is found is shown; without a search, folders are as the page made them.
    if (group.matches("details")) group.open = wanted.length > 0 || group.hasAttribute("data-unfolded");
  }
  found.textContent = wanted.length ? said("of_all", { n: shown().length, all: rows.length }) : "";
  count();
}

/** Only what is shown can be chosen. */
function count() {
  const chosen = shown().filter((row) => box(row).checked);
  counted.textContent = chosen.length ? said("chosen", { n: chosen.length }) : said("none_chosen");
  whole.checked = chosen.length > 0 && chosen.length === shown().length;
  whole.indeterminate = chosen.length > 0 && !whole.checked;
  for (const control of many.querySelectorAll("button, .join input, select")) control.disabled = !chosen.length;
}

// The server is told which, in one field: a form may not have thousands.
whole.removeAttribute("name");
many.addEventListener("submit", (event) => {
  if (event.submitter?.closest("[data-source]")) return;
  const chosen = shown().filter((row) => box(row).checked);
  many.elements.namedItem("feeds").value = chosen.map((row) => box(row).value).join(",");
  for (const row of rows) box(row).removeAttribute("name");
});
addEventListener("pageshow", () => count());
whole.addEventListener("change", () => {
  for (const row of shown()) box(row).checked = whole.checked;
  count();
});
// With Shift, all from the last one that was ticked.
document.addEventListener("click", (event) => {
  const row = event.target.closest?.("[data-source]");
  if (!row || event.target !== box(row)) return;
  const list = shown();
  if (event.shiftKey && list.includes(last)) {
    const [from, to] = [list.indexOf(last), list.indexOf(row)].sort((a, b) => a - b);
    for (const one of list.slice(from, to + 1)) box(one).checked = event.target.checked;
  }
  last = row;
  count();
});
find.addEventListener("input", filter);
find.form.elements.namedItem("show").addEventListener("change", () => find.form.submit());

const token = document.querySelector('meta[name="csrf-token"]').content;
document.addEventListener("submit", async (event) => {
  const button = event.submitter;
  if (!button?.closest(".levels")) return;
  event.preventDefault();
  const body = new URLSearchParams({ [button.name]: button.value });
  const headers = { "X-CSRFToken": token, "X-Requested-With": "fetch" };
  try {
    const answer = await ask(many.action, { method: "POST", headers, body });
    if (answer.status !== 204) throw new Error(String(answer.status));
    const source = button.closest("[data-source]").dataset.source;
    for (const row of rows.filter((one) => one.dataset.source === source)) level(row, button.name);
    announce(`${button.parentElement.getAttribute("aria-label")}: ${button.textContent}`);
  } catch {
    announce(said("not_stored"));
  }
});

/** Show the level that a source has now. */
function level(row, name) {
  row.dataset.level = name;
  for (const one of row.querySelectorAll(".levels button")) {
    one.setAttribute("aria-pressed", String(one.name === name));
  }
  row.querySelector("[data-exact]")?.remove();
}

// A browser that goes back brings along what was typed.
if (find.value !== find.defaultValue) filter();
else count();

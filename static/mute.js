// Muting something of an article in a dialog over the page: what fits it, what that would hide, and Undo.
import { announce, ask, said } from "./http.js";

const PARTS = "[aria-labelledby=suggested], [data-preview], .notice.undo, .messages";
const dialog = Object.assign(document.createElement("dialog"), { className: "keys mute" });
document.body.append(dialog);
// The link to the page that does the same, and the row of its article if it stands in a list.
let page = null;
let row = null;
// The rows that the mute of this dialog took from the page.
let gone = [];

document.addEventListener("click", (event) => {
  const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!plain || event.defaultPrevented) return;
  const link = event.target.closest("a[data-mute]");
  if (link) {
    event.preventDefault();
    page = link.href;
    const item = new URL(page).searchParams.get("item");
    row = rows().find((one) => one.dataset.item === item) ?? null;
    gone = [];
    load(page);
  }
});

dialog.addEventListener("click", (event) => {
  if (event.target.closest("[data-close]")) return dialog.close();
  const link = event.target.closest("a[href]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (link.matches("[data-cancel]")) dialog.close();
  else load(link.href);
});

dialog.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const body = new FormData(form);
  body.set("shown", rows().map((one) => one.dataset.item).join(","));
  if (!(await load(form.action, { method: "POST", body }))) return;
  // Muted, articles are gone from every list, and so from this one; undone, they are back.
  const ids = (dialog.querySelector(".undo")?.dataset.hides ?? "").split(",");
  for (const one of gone) one.hidden = false;
  gone = rows().filter((one) => !one.hidden && ids.includes(one.dataset.item));
  for (const one of gone) one.hidden = true;
});

// Whoever was at a row that is gone goes on at the next one; else the browser gives the focus back.
dialog.addEventListener("close", () => {
  if (!row?.hidden) return;
  const all = rows();
  const at = all.indexOf(row);
  const next = [...all.slice(at), ...all.slice(0, at).reverse()].find((one) => !one.hidden);
  next?.querySelector("a[data-open]").focus();
});

/** Return the rows of the page's lists. */
function rows() {
  return [...document.querySelectorAll("article[data-item]:has(a[data-open])")];
}

/** Show the part of the page at `url` that says what to do next; whether there is one. Else the page itself opens. */
async function load(url, options = {}) {
  let part = null;
  try {
    const answer = await ask(url, options);
    const html = await answer.text();
    if (answer.ok) part = new DOMParser().parseFromString(html, "text/html").querySelector(PARTS);
  } catch {
    announce(said("lost"));
  }
  if (!part) {
    location.assign(page);
    return false;
  }
  show(part);
  return true;
}

function show(part) {
  const close = Object.assign(document.createElement("button"), { type: "button", textContent: said("close") });
  close.dataset.close = "";
  dialog.replaceChildren(part);
  // A preview has its own way out.
  if (!part.querySelector("[data-cancel]")) dialog.append(close);
  const heading = part.querySelector("h2");
  if (heading) dialog.setAttribute("aria-labelledby", heading.id);
  else dialog.setAttribute("aria-label", part.textContent.trim());
  if (!heading) dialog.removeAttribute("aria-labelledby");
  if (!dialog.open) dialog.showModal();
  (part.querySelector("button.primary") ?? dialog.querySelector("a, button")).focus();
  if (!heading) announce(part.querySelector("p, li").textContent);
}

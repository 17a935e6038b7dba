// A list goes on where its page ends: the next page is loaded before its reader gets there. Without this there are links.
import { announce, ask, said } from "./http.js";

const AHEAD = "0px 0px 1200px 0px";
let loading = null;

const end = document.querySelector(".pager [rel=next]")?.closest(".pager");
if (end && document.querySelector("[data-endless]")) {
  new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && more(), { rootMargin: AHEAD }).observe(end);
}

/** Load the next page of the list into this one; resolves to whether it had rows, or another follows it. Calls while it loads share it. */
export function more() {
  loading ??= load().finally(() => (loading = null));
  return loading;
}

async function load() {
  const list = document.querySelector("[data-endless]");
  const link = document.querySelector(".pager [rel=next]");
  if (!list || !link) return false;
  try {
    const answer = await ask(link.href, { waits: () => note(link, said("waits")) });
    if (answer.redirected || !answer.ok) return note(link, said("lost_page"));
    note(link, "");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const known = new Set([...list.querySelectorAll("article[data-item]")].map((row) => row.dataset.item));
    const rows = [...page.querySelectorAll("[data-endless] > article[data-item]")].filter((row) => !known.has(row.dataset.item));
    const next = page.querySelector(".pager [rel=next]");
    list.append(...rows);
    // The form that marks what stands here as read is told of it.
    const [named, further] = [document, page].map((whole) => whole.querySelector("#marks [name=items]"));
    if (named && further) named.value += `,${further.value}`;
    if (next) link.href = next.href;
    else link.remove();
    document.dispatchEvent(new CustomEvent("rows", { detail: rows }));
    if (rows.length) announce(said("more_rows", { rows: rows.length }));
    return rows.length > 0 || Boolean(next);
  } catch {
    return note(link, said("lost_page"));
  }
}

/** Say beside the link to the next page what is with it; return false, as nothing was loaded. */
function note(link, text) {
  link.parentElement.querySelector("[data-note]")?.remove();
  if (!text) return false;
  const line = Object.assign(document.createElement("span"), { className: "quiet small", textContent: text });
  line.dataset.note = "";
  link.before(line, " ");
  announce(text);
  return false;
}

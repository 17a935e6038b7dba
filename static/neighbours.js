// An article's page leads to the articles before and after it in the list that it was opened from. This browser
// tab keeps the last list; where it lacks the article, the links are those of its source, as the server made them.

const KEY = "list";
const nav = document.querySelector("[data-neighbours]");

/** Return the rows of the list on this page: address, title, and whether the article was read. */
function rowsHere() {
  return [...document.querySelectorAll("article[data-item]")].flatMap((row) => {
    const link = row.querySelector("a[data-open]");
    const read = row.classList.contains("read");
    return link ? [{ href: new URL(link.href).pathname, title: link.textContent.trim(), read }] : [];
  });
}

/** Lead the link of `place` to a row, or nowhere. The links to unread ones are for keys alone and stay hidden. */
function point(place, row) {
  const link = nav.querySelector(`[data-neighbour="${place}"]`);
  const words = link.querySelector("bdi");
  if (row) link.href = row.href;
  else link.removeAttribute("href");
  if (!words) return;
  link.hidden = !row;
  words.textContent = row?.title ?? "";
}

if (nav) {
  const rows = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
  const at = rows.findIndex((row) => row.href === location.pathname);
  if (at >= 0) {
    rows[at].read = true;
    sessionStorage.setItem(KEY, JSON.stringify(rows));
    const unread = (row) => !row.read;
    point("next", rows[at + 1]);
    point("previous", rows[at - 1]);
    point("next-unread", rows.slice(at + 1).find(unread));
    point("previous-unread", rows.slice(0, at).findLast(unread));
  }
} else {
  addEventListener("pagehide", () => {
    const rows = rowsHere();
    if (rows.length) sessionStorage.setItem(KEY, JSON.stringify(rows));
  });
}

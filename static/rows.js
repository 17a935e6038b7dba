// What a row is stands on the row, for the style sheets: templates/jinja2/items.html writes it, this keeps it true.
// Style sheets that look into rows cost half a second a change in a list of three hundred.

/** Say on the row of `part`, if it stands in one, what its buttons and its picture are. */
export function tell(part) {
  const row = part.closest("article.item");
  const box = row?.querySelector("[data-response]");
  if (!box) return;
  const states = {
    saved: box.querySelector('[data-key=s][aria-pressed="true"]'),
    disliked: box.querySelector("[data-key=undo]"),
    tapped: box.querySelector('.taps [aria-pressed="true"]'),
    asks: box.querySelector(".tags:not([open])"),
    pictured: row.querySelector(":scope > .thumb:not(.gone)"),
    current: row.querySelector("a[data-open][aria-current]"),
  };
  for (const [name, there] of Object.entries(states)) row.classList.toggle(name, there !== null);
  row.toggleAttribute("data-rated", "rated" in box.dataset);
}

document.addEventListener("toggle", ({ target }) => target.matches(".tags") && tell(target), true);

// A row that keys walk to shows its buttons once Tab reaches one. Without scripts, it shows them at once.
document.documentElement.dataset.rows = "";
document.addEventListener("focusin", ({ target }) => {
  const isButton = target.closest(".taps, .marks") && target.matches(":focus-visible");
  if (isButton) target.closest("article.item")?.setAttribute("data-at-button", "");
});
document.addEventListener("focusout", ({ target }) => target.closest("[data-at-button]")?.removeAttribute("data-at-button"));

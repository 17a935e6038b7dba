// Where there is room, the reader's sources and folders stand beside a page that does not bring them along.
const box = document.querySelector("[data-side]");
const wide = matchMedia("(min-width: 68.75rem)");

if (wide.matches) fill();
else wide.addEventListener("change", fill, { once: true });

async function fill() {
  try {
    const answer = await fetch(box.dataset.side, { credentials: "same-origin" });
    if (answer.redirected || !answer.ok) return;
    const piece = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("nav");
    if (!piece) return;
    box.replaceChildren(piece);
    box.hidden = false;
  } catch {
    // Without the lists, the page is as it is on a narrow screen.
  }
}

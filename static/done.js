// Says what was just done: to a screen reader, and on top of the open article, whose buttons may be out of view.
import { announce, said } from "./http.js";
import { unattended } from "./unattended.js";

// So long the line stays: twice what reading it and reaching for Undo takes. The buttons can undo it later, too.
const SEEN_MS = 8000;

/** Remove the line of what was done before. */
export function forget() {
  document.querySelector("[data-done]")?.remove();
}

/** Announce `text`. If the item is open beside its list, show `short` there, with an Undo if `undo` can take it back. */
export function done(item, text, { short = text, undo } = {}) {
  announce(text);
  const pane = document.querySelector("[data-pane]:not([hidden])");
  if (pane?.querySelector("[data-item]")?.dataset.item !== item) return;
  forget();
  const line = Object.assign(document.createElement("p"), { className: "done", textContent: short });
  line.dataset.done = "";
  if (undo) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "text", textContent: said("undo") });
    button.addEventListener("click", undo);
    line.append(button);
  }
  pane.after(line);
  unattended(line, SEEN_MS, () => line.remove());
}

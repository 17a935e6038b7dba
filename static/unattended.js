// What goes by itself waits until nobody is at it.

const LEAVES = ["pointerleave", "focusout"];
const canHover = matchMedia("(hover: hover)");

/** Call `act` after `ms`, and not before the pointer and the focus of the keyboard have left `element`. */
export function unattended(element, ms, act) {
  const look = () => {
    if (isAttended(element)) return;
    for (const kind of LEAVES) element.removeEventListener(kind, soon);
    act();
  };
  // The focus that leaves one button may be on its way to the next one of the element.
  const soon = () => setTimeout(look);
  setTimeout(() => {
    for (const kind of LEAVES) element.addEventListener(kind, soon);
    look();
  }, ms);
}

/** Return whether the pointer, or the focus of whoever works by keyboard, is on an element. A finger leaves no pointer behind. */
function isAttended(element) {
  return element.matches(":focus-visible, :has(:focus-visible)") || (canHover.matches && element.matches(":hover"));
}

// Keeps keys that are pressed before the scripts of the page listen, and presses them again once they do.
{
  const EDITABLE = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
  const early = [];
  const keep = (event) => {
    const { key, ctrlKey, metaKey, altKey, isComposing, target } = event;
    if (key.length > 1 || key === " " || ctrlKey || metaKey || altKey || isComposing) return;
    if (target.closest?.(EDITABLE)) return;
    // Some scripts may listen already: no key acts twice.
    event.stopImmediatePropagation();
    early.push(key);
  };
  document.addEventListener("keydown", keep);
  document.addEventListener("listening", () => {
    document.removeEventListener("keydown", keep);
    for (const key of early) {
      // Where the focus is by now: after "/", letters are no keys any more.
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }
  }, { once: true });
}

// A link in a mail acts by one touch or key anywhere on its page, and never by being opened: scanners of mails
// open every link, with scripts and perhaps in a browser that does not say that a program drives it.

const form = document.querySelector("form[data-link-once]");
if (form) {
  const act = (event) => {
    // Buttons and links do what they say. Keys that scroll or belong to the browser are no answer.
    const own = event.target instanceof Element && event.target.closest("a, button, summary, input, select");
    if (!event.isTrusted || own || (event.type === "keydown" && event.key !== "Enter")) return;
    for (const kind of ["click", "keydown"]) document.removeEventListener(kind, act);
    form.requestSubmit();
  };
  for (const kind of ["click", "keydown"]) document.addEventListener(kind, act);
}

// A link in a mail acts by one tap: its page sends its own form. Not in a page nobody looks at, nor in a
// browser that is driven by a program, as scanners of mails are; there the button waits for a person.

const form = document.querySelector("form[data-link-once]");
if (form && !navigator.webdriver) {
  if (document.visibilityState === "visible") form.requestSubmit();
  else document.addEventListener("visibilitychange", () => form.requestSubmit(), { once: true });
}

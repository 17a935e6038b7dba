// Thumbs and reasons without a reload: the server sends back the changed piece of the page.

import { announce } from "./http.js";

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-thumb]");
  if (!form) return;
  event.preventDefault();
  const button = event.submitter;
  const box = form.closest("[data-response]");
  if (box.dataset.busy) return;
  box.dataset.busy = "yes";
  try {
    const response = await fetch(form.action, {
      method: "POST",
      body: new FormData(form, button),
      headers: { "X-Requested-With": "fetch" },
      credentials: "same-origin",
    });
    if (response.redirected || response.status === 403) return say(box, "You are signed out. Sign in and try again.");
    if (!response.ok) throw new Error(String(response.status));
    replace(box, await response.text(), button);
  } catch {
    say(box, "That did not reach us. Please try again.");
  }
});

function say(box, text) {
  delete box.dataset.busy;
  announce(text);
  box.querySelector("[data-failed]")?.remove();
  const note = document.createElement("p");
  note.className = "meta";
  note.dataset.failed = "";
  note.textContent = text;
  box.append(note);
}

function replace(box, html, button) {
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector("[data-response]");
  if (!fresh) throw new Error("The answer is no piece of a page.");
  const label = button.getAttribute("aria-label") ?? button.textContent;
  box.replaceWith(fresh);
  const same = [...fresh.querySelectorAll("button")].find(
    (b) => b.name === button.name && (b.getAttribute("aria-label") ?? b.textContent) === label,
  );
  same?.focus({ preventScroll: true });
  announce(same?.getAttribute("aria-pressed") === "true" ? `${label}: noted` : `${label}: taken back`);
}

// Thumbs, reasons and saving without a reload: the server sends back the changed piece of the page.
import { done } from "./done.js";
import { announce, ask, said } from "./http.js";
import { show } from "./marks.js";
import { tell } from "./rows.js";

// The taps that wait, by the box of the buttons they were made on.
const waiting = new WeakMap();
// The second half of a double click is no second thought.
const DOUBLE_MS = 500;
const NOTHING = { what: "", at: -DOUBLE_MS };
let pressed = NOTHING;

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-thumb]");
  if (!form) return;
  event.preventDefault();
  const what = `${form.action} ${event.submitter.dataset.key}`;
  const twice = what === pressed.what && event.timeStamp - pressed.at < DOUBLE_MS;
  pressed = { what, at: event.timeStamp };
  if (!twice) send(form, event.submitter);
});

async function send(form, button) {
  const box = form.closest("[data-response]");
  // Taps while one is under way wait for their turn: quick keys lose nothing.
  if (box.dataset.busy) return waiting.set(box, [...(waiting.get(box) ?? []), { ...marks(button), pressed: button.getAttribute("aria-pressed") }]);
  box.dataset.busy = "yes";
  try {
    const response = await ask(form.action, {
      method: "POST",
      body: new FormData(form, button),
      headers: { "X-Requested-With": "fetch" },
      waits: () => note(box, said("waits")),
    });
    if (response.redirected) return say(box, said("signed_out"));
    if (response.status === 403) return say(box, said("stale"), { word: said("reload"), act: () => location.reload() });
    if (response.status === 404) return say(box, said("gone"));
    if (!response.ok) throw new Error(String(response.status));
    replace(box, await response.text(), button);
  } catch {
    say(box, said(navigator.onLine ? "lost" : "offline"), { word: said("again"), act: () => send(form, button) });
  }
}

// Back online, a row that was not stored says so, and not that there is no network.
addEventListener("online", () => {
  for (const { firstChild: words } of document.querySelectorAll("[data-failed]")) {
    if (words.data === said("offline")) words.data = said("lost");
  }
});

/** What tells a button apart from its neighbours, also in a fresh copy of them. */
function marks(button) {
  return { key: button.dataset.key, label: button.getAttribute("aria-label") ?? button.textContent };
}

function find(box, { key }) {
  return [...box.querySelectorAll("button[data-key]")].find((b) => b.dataset.key === key);
}

/** Say what went wrong beside the buttons, and offer what helps as a button. */
function say(box, text, help) {
  delete box.dataset.busy;
  note(box, text, help);
}

function note(box, text, help) {
  announce(text);
  box.querySelector("[data-failed]")?.remove();
  const line = document.createElement("p");
  line.className = "meta failed";
  line.dataset.failed = "";
  line.append(text);
  if (help) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "text", textContent: help.word });
    button.addEventListener("click", help.act);
    line.append(" ", button);
  }
  box.append(line);
}

/** Bring the same item's other buttons, in the list or beside it, up to date. */
function elsewhere(fresh) {
  const { action } = fresh.querySelector("form[data-thumb]");
  for (const form of document.querySelectorAll("form.rate[data-thumb]")) {
    const box = form.closest("[data-response]");
    if (form.action !== action || box === fresh || box.dataset.busy) continue;
    const copy = fresh.cloneNode(true);
    fit(copy, box, "rated" in fresh.dataset);
    box.replaceWith(copy);
    tell(copy);
  }
}

/**
 * Make the new buttons as high as those in `box`, which they replace: no row below may move under a finger. In a list
 * the reasons stay folded until they are asked for, and an item that was `rated` on this page keeps its words.
 */
function fit(fresh, box, rated) {
  const reasons = fresh.querySelector(".tags");
  const listed = box.closest("article.item") !== null;
  if (reasons) reasons.open = !listed || box.querySelector(".tags")?.open === true;
  if (listed && (rated || "rated" in box.dataset)) fresh.dataset.rated = "";
}

/** Words that were typed and not sent outlive a tap on another button. */
function keepTyped(fresh, box) {
  const lines = fresh.querySelectorAll("[name=words]");
  box.querySelectorAll("[name=words]").forEach((typed, n) => {
    if (lines[n] && typed.value !== typed.defaultValue) lines[n].value = typed.value;
  });
}

/** Give the item in the list the looks of a read one, or of an unread one, as a thumb down or its undo made it. */
function looks(fresh) {
  const { item } = fresh.closest("[data-item]").dataset;
  const listed = document.querySelector(`article[data-item="${item}"]`);
  if (listed) show(listed, "read" in fresh.dataset);
}

function replace(box, html, button) {
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector("[data-response]");
  if (!fresh) throw new Error("The answer is no piece of a page.");
  const { label } = marks(button);
  const focused = box.contains(document.activeElement);
  fit(fresh, box, button.name === "useful");
  if (button.dataset.key !== "words") keepTyped(fresh, box);
  box.replaceWith(fresh);
  tell(fresh);
  const same = find(fresh, marks(button));
  // Whoever pressed a key stays where they were; whoever pressed the button stays on it.
  if (focused) (same ?? fresh.querySelector("button")).focus({ preventScroll: true });
  const notice = fresh.querySelector("[data-notice]")?.textContent;
  const on = same?.getAttribute("aria-pressed") === "true";
  const whole = (first) => [first, ...[...fresh.querySelectorAll("[data-ended], [data-tells]")].map((one) => one.textContent)].join(". ");
  const { item } = fresh.closest("[data-item]").dataset;
  const noted = whole(notice ?? said(on ? "noted" : "taken_back", { label }));
  const undo = () => {
    pressed = NOTHING;
    find(document.querySelector(`[data-item="${item}"] [data-response]`), marks(same)).click();
  };
  elsewhere(fresh);
  done(item, noted, !notice && on ? { short: whole(same.title || same.textContent), undo } : {});
  if (["d", "undo"].includes(button.dataset.key)) looks(fresh);
  const taps = waiting.get(box) ?? [];
  // A tap on what the answer took away, or has pressed already, has nothing left to change.
  const first = taps.findIndex((tap) => find(fresh, tap)?.getAttribute("aria-pressed") === tap.pressed);
  if (first < 0) return;
  waiting.set(fresh, taps.slice(first + 1));
  const turn = find(fresh, taps[first]);
  send(turn.form, turn);
}

// Answering suggestions without a reload: each card stays and tells what became of it.

import { announce, ask, post, words } from "./http.js";
import { unattended } from "./unattended.js";

const TEXT = words("suggestion-words");
const UNDO_AFTER_MS = 700;
// How long an answered card keeps its room, and longer while its reader is at it.
const ROOM_MS = 2000;
const WAITING = "[data-card]:not(.done, [data-over])";
let applied = false;
let renewals = 0;
const SIGNED_OUT = ["not_logged_in", "csrf_failed"];
const cards = document.querySelector("[data-cards]");

document.addEventListener("submit", (event) => {
  const form = event.target;
  const card = form.closest("[data-card]");
  if (card && form.dataset.api && form.dataset.verb) {
    event.preventDefault();
    if (card.classList.contains("done")) explain(card, form, event.submitter);
    else answer(card, form, event.submitter);
  } else if (form.dataset.acceptAll) {
    event.preventDefault();
    acceptAll(form);
  }
});

async function answer(card, form, submitter) {
  const pressed = card.contains(document.activeElement) && document.activeElement;
  disable(card, true);
  const body = bodyOf(form, submitter);
  const { ok, data } = await post(form.dataset.api, body);
  if (card.classList.contains("done")) return;  // "Accept all" was quicker
  if (ok) finish(card, form.dataset.verb, data.teaches);
  else fail(card, data);
  if (ok ? form.dataset.verb === "accept" : data.error === "already_resolved") renewEffects();
  // A button that goes out loses the focus; whoever works by keyboard stays where they were.
  if (!pressed || document.activeElement !== document.body) return;
  focus(pressed.isConnected && !pressed.disabled ? pressed : card);
}

// What is said after a no: a reason, or that it shall never be suggested again.
async function explain(card, form, submitter) {
  const { ok, data } = await post(form.dataset.api, bodyOf(form, submitter));
  if (ok) {
    finish(card, form.dataset.verb, data.teaches);
    focus(card);
    return;
  }
  const text = refusalOf(data);
  card.querySelector(".meta").textContent = text;
  announce(text);
}

// An amount as it was typed, for the server to judge; a cleared field asks for no other amount.
// A reason on a button is the answer itself.
function bodyOf(form, submitter) {
  if (submitter?.name === "user_reason") return { user_reason: submitter.value };
  const body = {};
  const { value, user_reason: reason } = form.elements;
  const typed = value && (value.value !== "" || value.validity.badInput);
  if (typed && value.value !== value.defaultValue) body.value = value.value;
  if (reason?.value.trim()) body.user_reason = reason.value.trim();
  return body;
}

async function acceptAll(form) {
  const button = form.querySelector("button");
  button.disabled = true;
  cards.querySelectorAll(WAITING).forEach((card) => disable(card, true));
  const { ok, data } = await post(form.dataset.acceptAll, {});
  button.disabled = ok;
  const results = new Map((data.results ?? []).map((one) => [`suggestion-${one.suggestion_id}`, one]));
  // A card that was answered by itself meanwhile is done, and says so.
  for (const card of cards.querySelectorAll(WAITING)) {
    const result = ok ? (results.get(card.id) ?? { error: "already_resolved" }) : data;
    if (result.status === "accepted") finish(card, "accept", result.teaches);
    else fail(card, result);
  }
  if (ok) renewEffects();
  if (!cards.querySelector(WAITING)) shrink();
}

/** Take the room of an answered card away. What it says stays in its place on the screen, as far as the page scrolls. */
function close(card) {
  const top = () => card.firstElementChild.getBoundingClientRect().top;
  const before = top();
  card.style.minHeight = "0px";
  scrollBy({ top: top() - before, behavior: "instant" });
}

/** Let the cards shrink, and show what became of them: the one button for all of them stands below where they were. */
function shrink() {
  for (const card of cards.querySelectorAll("[data-card]")) card.style.minHeight = "0px";
  cards.querySelector("[data-card]").scrollIntoView({ block: "nearest" });
}

// What the other cards would move, now that the digest is another one. The last page asked for counts, and
// what has the focus waits until it goes.
async function renewEffects() {
  if (!cards.querySelector(WAITING)) return;
  const mine = (renewals += 1);
  const response = await ask(location.href).catch(() => null);
  const html = response?.ok ? await response.text() : "";
  if (!html || mine !== renewals) return;
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const card of cards.querySelectorAll(WAITING)) {
    const fresh = page.getElementById(card.id)?.querySelectorAll("[data-effect]") ?? [];
    card.querySelectorAll("[data-effect]").forEach((effect, n) => {
      if (effect.contains(document.activeElement)) effect.addEventListener("focusout", renewEffects, { once: true });
      else if (fresh[n]) {
        fresh[n].style.minHeight = `${effect.getBoundingClientRect().height}px`;
        effect.replaceWith(fresh[n]);
      }
    });
  }
}

function refusalOf({ error, message }) {
  const detail = ["invalid_weight", "config_changed", "already_resolved"].includes(error) && message ? `. ${message}` : "";
  // A limit says what it is and how long to wait.
  return error === "too_many_requests" && message ? message : (TEXT.errors[error] ?? TEXT.other) + detail;
}

function fail(card, data) {
  const { error } = data;
  const text = refusalOf(data);
  const line = card.querySelector("[data-card-status]");
  line.textContent = text;
  if (SIGNED_OUT.includes(error)) line.append(". ", link(cards.dataset.signIn, TEXT.sign_in));
  announce(text);
  const over = error === "already_resolved";
  if (over) line.append(" ", link(cards.dataset.history, TEXT.history));
  card.toggleAttribute("data-over", over);
  disable(card, over);
  recount();
}

// The one button for all of them counts what still waits. It is hidden for one or none, and keeps its room.
function recount() {
  const waiting = cards.querySelectorAll(WAITING).length;
  const form = document.querySelector("[data-accept-all]");
  if (waiting < 2) form?.style.setProperty("visibility", "hidden");
  else if (form) form.querySelector("button").textContent = TEXT.accept_all.replace("{}", waiting);
}

function link(href, text) {
  return Object.assign(document.createElement("a"), { href, textContent: text });
}

function disable(card, off) {
  card.querySelectorAll("button").forEach((button) => { button.disabled = off; });
}

// The card keeps its height for a moment, so that nothing moves under the pointer. What it says stands where its
// buttons were, in sight on a phone, too.
// What an answer teaches comes in English, as all that programs are told, and is shown in the reader's language.
function finish(card, verb, teaches) {
  const text = TEXT.done[verb];
  applied ||= verb === "accept";
  const title = card.querySelector("[data-headline]").textContent;
  const line = document.createElement("p");
  line.append(`${text} · `, Object.assign(document.createElement("span"), { textContent: title }));
  line.lastChild.dataset.headline = "";
  const taught = document.createElement("p");
  taught.className = "meta";
  taught.textContent = TEXT.teaches[teaches] ?? "";
  const told = document.createElement("div");
  told.append(line, taught);
  const whyNot = verb === "reject" && card.querySelector("template[data-why-not]");
  card.style.minHeight = `${card.getBoundingClientRect().height}px`;
  card.replaceChildren(told, undoOf(card), ...(whyNot ? [reasonsOf(whyNot)] : []));
  card.classList.add("done");
  unattended(card, ROOM_MS, () => close(card));
  recount();
  const isLast = !cards.querySelector("[data-card]:not(.done)");
  announce(`${text}: ${title}. ${taught.textContent} ${isLast ? allDone(told) : ""}`.trim());
}

function reasonsOf(template) {
  const box = document.createElement("details");
  box.className = "why-not";
  box.append(Object.assign(document.createElement("summary"), { textContent: TEXT.why_not }), template.content);
  return box;
}

// A plain form: the page it leads to shows what came back.
function undoOf(card) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = `/ui/suggestions/${card.dataset.card}/undo`;
  const button = Object.assign(document.createElement("button"), { className: "text", textContent: TEXT.undo });
  // The second click of a double click is no change of mind.
  const made = performance.now();
  form.addEventListener("submit", (event) => {
    if (performance.now() - made < UNDO_AFTER_MS) event.preventDefault();
  });
  form.append(card.querySelector("[name=csrfmiddlewaretoken]"), button);
  return form;
}

function focus(element) {
  if (element?.matches("[data-card]")) element.tabIndex = -1;
  element?.focus({ preventScroll: true });
}

// Below the last answer: what comes next, once. Returns its words.
function allDone(told) {
  cards.querySelector("[data-next]")?.remove();
  const next = Object.assign(document.createElement("p"), { className: "meta" });
  next.dataset.next = "";
  const more = document.querySelector("[data-later]");
  if (more) next.append(link(location.pathname, TEXT.more));
  else next.append(`${applied ? TEXT.all_done : TEXT.all_kept} `, link(cards.dataset.today, TEXT.see_today));
  told.append(next);
  return next.textContent;
}

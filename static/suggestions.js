// Answering suggestions without a reload: each card tells what became of it, then makes room.

import { announce, post, words } from "./http.js";

const TEXT = words("suggestion-words");
// Long enough to read what was done and what it teaches.
const FADE_AFTER_MS = 5000;
let applied = false;
const cards = document.querySelector("[data-cards]");

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.api && form.dataset.verb) {
    event.preventDefault();
    answer(form);
  } else if (form.dataset.acceptAll) {
    event.preventDefault();
    acceptAll(form);
  }
});

async function answer(form) {
  const card = form.closest("[data-card]");
  disable(card, true);
  const body = bodyOf(form);
  const { ok, data } = await post(form.dataset.api, body);
  if (ok) return finish(card, form.dataset.verb, kindOf(form.dataset.verb, body));
  fail(card, data);
}

function bodyOf(form) {
  const body = {};
  const { value, user_reason: reason } = form.elements;
  if (value && value.value !== value.defaultValue) body.value = Number(value.value);
  if (reason?.value.trim()) body.user_reason = reason.value.trim();
  return body;
}

// What was answered, in finer words than the verb: a reason or a value of one's own teaches something else.
function kindOf(verb, body) {
  if (verb === "reject" && body.user_reason) return "reject_reason";
  return verb === "accept" && "value" in body ? "edit" : verb;
}

async function acceptAll(form) {
  const button = form.querySelector("button");
  button.disabled = true;
  cards.querySelectorAll("[data-card]").forEach((card) => disable(card, true));
  const { ok, data } = await post(form.dataset.acceptAll, {});
  if (!ok) {
    button.disabled = false;
    cards.querySelectorAll("[data-card]").forEach((card) => fail(card, data));
    return;
  }
  const told = new Set(data.results.map((result) => `suggestion-${result.suggestion_id}`));
  cards.querySelectorAll("[data-card]").forEach((card) => {
    if (!told.has(card.id)) fail(card, { error: "already_resolved" });
  });
  for (const result of data.results) {
    const card = document.getElementById(`suggestion-${result.suggestion_id}`);
    if (!card) continue;
    if (result.status === "accepted") finish(card, "accept");
    else fail(card, result);
  }
  form.hidden = true;
}

function fail(card, { error, message }) {
  const detail = error === "invalid_weight" && message ? `: ${message}` : "";
  const text = (TEXT.errors[error] ?? TEXT.other) + detail;
  card.querySelector("[data-card-status]").textContent = text;
  announce(text);
  disable(card, error === "already_resolved");
}

function disable(card, off) {
  card.querySelectorAll("button").forEach((button) => { button.disabled = off; });
}

function finish(card, verb, kind = verb) {
  const text = TEXT.done[verb];
  applied ||= verb === "accept";
  const title = card.querySelector("h3").textContent;
  const line = document.createElement("p");
  line.textContent = `${text} · ${title}`;
  const taught = document.createElement("p");
  taught.className = "meta";
  taught.textContent = TEXT.teaches[kind] ?? "";
  card.replaceChildren(line, taught);
  card.classList.add("done");
  announce(`${text}: ${title}. ${taught.textContent}`);
  setTimeout(() => leave(card), FADE_AFTER_MS);
}

function leave(card) {
  card.classList.add("fading");
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  setTimeout(() => {
    const group = card.closest("[data-group]");
    card.remove();
    if (group && !group.querySelector("[data-card]")) group.remove();
    const left = cards.querySelectorAll("[data-card]").length;
    if (left < 2) document.querySelector("[data-accept-all]")?.remove();
    if (!left) allDone();
  }, still ? 0 : 150);
}

function allDone() {
  const note = document.querySelector("[data-all-done]");
  note.querySelector("h2").textContent = applied ? TEXT.all_done : TEXT.all_kept;
  note.hidden = false;
  announce(note.querySelector("h2").textContent);
}

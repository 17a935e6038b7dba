// Answering suggestions without a reload: each card tells what became of it, then makes room.

import { announce, post, words } from "./http.js";

const TEXT = words("suggestion-words");
const FADE_AFTER_MS = 2000;
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
  const { ok, data } = await post(form.dataset.api, bodyOf(form));
  if (ok) return finish(card, TEXT.done[form.dataset.verb]);
  fail(card, data);
}

function bodyOf(form) {
  const body = {};
  const { value, user_reason: reason } = form.elements;
  if (value && value.value !== value.defaultValue) body.value = Number(value.value);
  if (reason?.value.trim()) body.user_reason = reason.value.trim();
  return body;
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
  for (const result of data.results) {
    const card = document.getElementById(`suggestion-${result.suggestion_id}`);
    if (!card) continue;
    if (result.status === "accepted") finish(card, TEXT.done.accept);
    else if (result.status === "rejected") finish(card, TEXT.done.reject);
    else fail(card, result);
  }
  if (data.accepted_count) form.hidden = true;
  else button.disabled = false;
}

function fail(card, { error }) {
  const text = TEXT.errors[error] ?? TEXT.other;
  card.querySelector("[data-card-status]").textContent = text;
  announce(text);
  disable(card, error === "already_resolved");
}

function disable(card, off) {
  card.querySelectorAll("button").forEach((button) => { button.disabled = off; });
}

function finish(card, text) {
  const title = card.querySelector("h3").textContent;
  const line = document.createElement("p");
  line.textContent = `${text} · ${title}`;
  card.replaceChildren(line);
  card.classList.add("done");
  announce(`${text}: ${title}`);
  setTimeout(() => leave(card), FADE_AFTER_MS);
}

function leave(card) {
  card.classList.add("fading");
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  setTimeout(() => {
    const group = card.closest("[data-group]");
    card.remove();
    if (group && !group.querySelector("[data-card]")) group.remove();
    if (!cards.querySelector("[data-card]")) allDone();
  }, still ? 0 : 150);
}

function allDone() {
  const note = document.querySelector("[data-all-done]");
  note.hidden = false;
  document.querySelector("[data-accept-all]")?.remove();
  announce(TEXT.all_done);
}

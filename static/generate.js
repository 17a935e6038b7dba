// "Generate suggestions" with the run's turns and tool calls as they happen.

import { get, post, words } from "./http.js";

const TEXT = words("run-words");
const POLL_MS = 1000;
const TOO_OFTEN = 429;
const ACTIVE = ["queued", "running", "in_progress"];
const SHOWN_BY_THE_PAGE = ["completed", "blocked_pending", "budget_exceeded", "agent_timeout", "agent_error"];
const form = document.querySelector("[data-generate]");
const button = form.querySelector("button");
const label = button.textContent;
const line = document.querySelector("[data-progress]");
const steps = document.querySelector("[data-steps]");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  busy(TEXT.starting);
  const { ok, status, data } = await post(form.dataset.generate, {}, { Prefer: "respond-async" });
  // A limit says what it is and how long to wait.
  if (!ok) return end((status === TOO_OFTEN && data.message) || TEXT.other);
  if (data.run_id && ACTIVE.includes(data.status)) return follow(data.run_id);
  close(data);
});

if (form.dataset.active) {
  busy(TEXT.statuses.in_progress);
  follow(form.dataset.active);
}

function busy(text) {
  button.disabled = true;
  button.textContent = TEXT.busy;
  line.textContent = text;
}

function end(text) {
  button.disabled = false;
  button.textContent = label;
  line.textContent = text;
}

async function follow(runId) {
  for (;;) {
    const { ok, status, data } = await get(`${form.dataset.runs}${runId}`);
    if (ok) {
      show(data);
      if (!ACTIVE.includes(data.status)) return close(data);
    } else if (status && status < 500) {
      return end(TEXT.other);
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

function show(run) {
  const last = run.steps.at(-1);
  const doing = (last && TEXT.tools[last.name]) ?? (last ? TEXT.thinking : TEXT.starting);
  const turns = count(run.turns, TEXT.turns);
  const calls = count(run.tool_calls, TEXT.calls);
  line.textContent = `${doing} ${TEXT.so_far.replace("{turns}", turns).replace("{calls}", calls)}`;
  steps.hidden = run.steps.length === 0;
  steps.querySelector("[data-step-list]").replaceChildren(...run.steps.map(stepLine));
}

function stepLine(step) {
  const item = document.createElement("li");
  item.value = step.n;
  item.textContent = (TEXT.tools[step.name] ?? TEXT.thinking) + (step.error ? ` (${step.error})` : "");
  return item;
}

function count(n, [one, more]) {
  return (n === 1 ? one : more).replace("{n}", n);
}

/** New cards, or an end that explains itself, come from the server: reload. Anything else is a message. */
function close(result) {
  const { status, suggestions_created: created, reason } = result;
  if (created > 0 || SHOWN_BY_THE_PAGE.includes(status)) return location.reload();
  end((status === "skipped" && reason) || (TEXT.statuses[status] ?? TEXT.other));
}

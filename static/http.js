// Talking to the server, and to whoever listens instead of looking.

const token = document.querySelector('meta[name="csrf-token"]').content;

// This reader's earlier requests are still being answered, or the server has no place: it says when to ask again.
const BUSY = [429, 503];
// A longer pause than this is a limit that the reader has to hear about, not one to wait out.
const PAUSE_MAX_S = 10;
// Half a minute at two seconds each: another device may ask for as much while feeds are fetched.
const TRIES = 15;

/**
 * Ask the server, and again after the pause it wants while it is busy. `waits` is called before each pause.
 * With `wanted`, no further try is made once it says no. Resolves and fails as `fetch` does.
 */
export async function ask(url, { waits, wanted = () => true, ...options } = {}) {
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(url, { credentials: "same-origin", ...options });
    const pause = Number(answer.headers.get("Retry-After") ?? 1) || 1;
    if (!BUSY.includes(answer.status) || pause > PAUSE_MAX_S || tries === TRIES) return answer;
    waits?.();
    await new Promise((done) => setTimeout(done, pause * 1000));
    if (!wanted()) return answer;
  }
}

/** POST JSON to the API; always resolves to {ok, status, data}, whatever the network does. */
export async function post(url, body, headers = {}) {
  return request(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": token, ...headers },
    body: JSON.stringify(body),
  });
}

/** GET JSON from the API; resolves like `post`. */
export async function get(url) {
  return request(url, {});
}

async function request(url, options) {
  try {
    const response = await ask(url, options);
    return { ok: response.ok, status: response.status, data: await response.json() };
  } catch {
    return { ok: false, status: 0, data: {} };
  }
}

/** Say `text` to a screen reader. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

const WORDS = words("script-words");

/** A number as the server writes it in the page's language. */
export function figure(number) {
  return number.toLocaleString(document.documentElement.lang, { useGrouping: "always" });
}

/** What a script says, in the language of the page; `values` stand in the braces of its text. */
export function said(name, values = {}) {
  const shown = (value) => (typeof value === "number" ? figure(value) : value);
  return WORDS[name].replace(/{(\w+)}/g, (all, key) => shown(values[key] ?? all));
}

/** The words a template left in the page for us. */
export function words(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

// Talking to the server, and to whoever listens instead of looking.

const token = document.querySelector('meta[name="csrf-token"]').content;

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
    const response = await fetch(url, { credentials: "same-origin", ...options });
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

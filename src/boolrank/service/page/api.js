// Requests to the service, and the titles that its answers tell.

const titles = new Map();
let key = sessionStorage.getItem("key") ?? "";

/** An error answer: message, hint, and the status (0: no answer). */
class Problem extends Error {
  constructor(status, detail, hint = "") {
    super(detail);
    Object.assign(this, { status, hint });
  }
}

/** Return the answer to a request; raise a problem otherwise. */
export async function call(path, { body, signal } = {}) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const options = { headers, signal };
  if (body) {
    headers["Content-Type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  }
  const response = await fetch(path, options).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The service does not answer.", "Check that it is running.");
  });
  if (response.ok) {
    const json = response.headers.get("Content-Type")?.includes("json");
    return json ? response.json() : response.text();
  }
  const problem = await response.json().catch(() => ({}));
  throw new Problem(response.status, problem.detail ?? response.statusText, problem.hint);
}

export function get(path, query = {}, options = {}) {
  const words = new URLSearchParams(query).toString();
  return call(`v1/${path}${words ? `?${words}` : ""}`, options);
}

/** Keep an API key as long as the tab is open. */
export function useKey(text) {
  key = text;
  sessionStorage.setItem("key", key);
}

export const nameOf = (id) => titles.get(id) ?? id;

/** Keep the titles of entries, and make their ids texts, as the address has them. */
export function learn(entries) {
  for (const entry of entries) {
    entry.item = entry.tags ? entry.title : String(entry.item); // shared tags are no item
    if (entry.title && !entry.tags) titles.set(entry.item, entry.title);
    if (entry.reasons) learn(entry.reasons);
  }
  return entries;
}

/** Learn the titles of items that a link names. */
export async function learnMissing(ids, signal) {
  const missing = ids.filter((id) => !titles.has(id)).slice(0, 30);
  const found = await Promise.all(missing.map((q) => get("items", { q, n: 1 }, { signal })));
  found.forEach((answer) => learn(answer.items));
  missing.filter((id) => !titles.has(id)).forEach((id) => titles.set(id, id));
}

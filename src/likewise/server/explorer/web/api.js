// Requests to the server that sent this page, and to no other.

import { askForToken } from "./dialogs.js";
import { capital } from "./words.js";

const KEPT_AS = "likewise-token";
const ROOT = new URL("..", import.meta.url); // the server may be behind a proxy, under a prefix
let asking = null;

/** An error response of the server; status 0 if it could not be reached. */
export class Problem extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

/** Request JSON. */
export async function ask(path, options = {}) {
  return (await send(path, options)).json();
}

/** Send JSON, and return the JSON of the response. */
export function tell(path, body = null, options = {}) {
  return ask(path, { method: "POST", body, ...options });
}

/** Save a response as a file; a link could not send the token. */
export async function download(path, name) {
  const blob = await (await send(path)).blob();
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Return an id as a part of an address. */
export const named = (id) => encodeURIComponent(String(id));

async function send(path, { method = "GET", body = null, signal = null } = {}) {
  for (;;) {
    const used = sessionStorage.getItem(KEPT_AS);
    const headers = { accept: "application/json" };
    if (used) headers.authorization = `Bearer ${used}`;
    if (body !== null) headers["content-type"] = "application/json";
    const answer = await reach(
      path,
      { method, headers, signal, body: body === null ? null : JSON.stringify(body) },
    );
    if (answer.ok) return answer;
    if (answer.status !== 401) throw new Problem(answer.status, await sentence(answer));
    await newToken(used);
  }
}

async function reach(path, request) {
  try {
    return await fetch(new URL(path.slice(1), ROOT), request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server cannot be reached. Is it still running?");
  }
}

async function sentence(answer) {
  const unknown = `The server answered ${answer.status}.`;
  try {
    const said = capital((await answer.json()).error || unknown);
    const wait = answer.headers.get("retry-after");
    return wait ? `${said} Wait ${wait} s before trying again.` : said;
  } catch {
    return unknown;
  }
}

/** Ask for the token once, even if several requests need it. */
async function newToken(refused) {
  if (sessionStorage.getItem(KEPT_AS) !== refused) return; // another request has just asked
  asking ??= askForToken(refused !== null).finally(() => (asking = null));
  sessionStorage.setItem(KEPT_AS, await asking);
}

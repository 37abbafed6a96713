// The shell: routing between pages, and the summary of the server.

import { ask } from "./api.js";
import { h, notice, waiting } from "./dom.js";
import { count, several } from "./words.js";
import * as map from "./pages/map.js";
import * as models from "./pages/models.js";
import * as neighbors from "./pages/neighbors.js";
import * as quality from "./pages/quality.js";
import * as teach from "./pages/teach.js";

const PAGES = { neighbors, teach, map, quality, models };
const POLL_INTERVAL = 5_000; // milliseconds
const main = document.getElementById("main");
let leaving = new AbortController();

/** Return the page, the id and the settings in the part of the address after #. */
function where() {
  const [path, settings] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...id] = path.split("/");
  const known = Object.hasOwn(PAGES, page) ? page : "neighbors";
  return {
    page: known,
    id: id.length ? decoded(id.join("/")) : null,
    settings: new URLSearchParams(settings),
  };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function show({ moved = true } = {}) {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { page, id, settings } = where();
  for (const link of document.querySelectorAll(".masthead nav a")) {
    const here = link.getAttribute("href") === `#/${page}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const later = setTimeout(() => main.replaceChildren(waiting()), 150);
  try {
    const summary = await known(signal);
    document.title = `${PAGES[page].title} · ${summary.name} · likewise`;
    clearTimeout(later);
    main.replaceChildren();
    await PAGES[page].open({ root: main, id, settings, summary, signal });
  } catch (error) {
    clearTimeout(later);
    if (error.name === "AbortError") return;
    main.replaceChildren(
      h("h1", { tabindex: "-1" }, PAGES[page].title),
      notice(error.message, { kind: "bad", action: "Try again", act: () => show() }),
    );
  }
  if (moved && !signal.aborted) main.querySelector("h1")?.focus({ preventScroll: true });
  if (moved) scrollTo(0, 0);
}

async function known(signal = null) {
  const summary = await ask("/v1/explore/summary", { signal });
  const learned = summary.learns ? several(summary.answers, "answer") : "does not learn";
  document.getElementById("pulse").replaceChildren(
    h("a", { href: "#/models" },
      h("b", {}, summary.name),
      ` version ${summary.live}`,
      h("span", {}, ` · ${learned}`),
  ));
  const where = summary.store === "sqlite" ? "SQLite" : "PostgreSQL";
  const n = several(summary.n_items, "item");
  const parts = [n, summary.similarity, `${summary.engine} search`, `stored in ${where}`];
  document.getElementById("foot").replaceChildren(
    h("p", {}, parts.join(" · ")),
    h("p", {},
      `${count(summary.acknowledged)} comparisons in the journal, ${count(summary.applied)} consumed.`,
  ));
  return summary;
}

async function look() {
  if (!document.hidden) await known().catch(() => {}); // the next look may succeed
  setTimeout(look, POLL_INTERVAL);
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part after # names the page, not an anchor in it
  main.focus();
});
addEventListener("hashchange", () => show());
addEventListener("likewise-changed", () => known().catch(() => {}));
show({ moved: false }).finally(() => setTimeout(look, POLL_INTERVAL));

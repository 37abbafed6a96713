// The neighbors of an item before and after learning, side by side.

import { ask, named, tell } from "../api.js";
import { choice, h, heading, notice, svg, toggled, waiting } from "../dom.js";
import { picker } from "../picker.js";
import { labelOf, shown } from "../show.js";
import { capital, score, several } from "../words.js";
import { why } from "../why.js";

export const title = "Neighbors";
const SIZES = [5, 10, 20, 50];
const BASE = 1; // the version of the model file
const RANKED = 1_000; // the server's limit of matches

export async function open({ root, id, settings, summary, signal }) {
  const k = SIZES.includes(Number(settings.get("k"))) ? Number(settings.get("k")) : 10;
  const text = summary.takes_text ? settings.get("text") : null;
  const go = (to, words = null, size = k) => { location.hash = address(to, words, size); };
  root.append(heading(
    "Neighbors",
    "The items most similar to an item: under the model file, and after learning.",
  ));
  if (summary.n_items < 2) {
    const advice = "Start the server with --items, or add some with POST /v1/items.";
    root.append(notice(`There are fewer than two items, so none has neighbors. ${advice}`));
    return;
  }
  const item = text === null ? id ?? (await anyItem(summary, signal, 0)).id : null;
  root.append(h("div", { class: "toolbar" },
    picker({
      hidden: summary.label,
      signal,
      chosen: (to) => go(to),
      worded: summary.takes_text ? (words) => go(null, words) : null,
    }),
    h("button", { type: "button", onclick: async () => go((await anyItem(summary, signal)).id) }, "Random item"),
    choice("Show", SIZES.map((size) => [size, `${size} nearest`]), k, (size) => go(item, text, Number(size))),
  ));
  const place = h("div", {}, waiting());
  root.append(place);
  try {
    const byItem = () => ask(`/v1/explore/neighbours/${named(item)}?k=${k}`, { signal });
    const found = await (text === null ? byItem() : byText(text, k, signal));
    place.replaceChildren(...drawn(found, summary, signal));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    place.replaceChildren(notice(error.message, { kind: "bad" }));
  }
}

function address(id, text, k) {
  const settings = new URLSearchParams([
    ...(text === null ? [] : [["text", text]]),
    ...(k === 10 ? [] : [["k", k]]),
  ]);
  return `#/neighbors${id === null ? "" : `/${named(id)}`}${settings.size ? `?${settings}` : ""}`;
}

/** Search by a text before and after learning, in the format of an item's neighbors. */
async function byText(text, k, signal) {
  const search = (version) => tell("/v1/search", { text, k: RANKED, version }, { signal });
  const both = await Promise.all([search(BASE), search(null)]);
  const ranks = both.map(({ matches }) => new Map(matches.map(({ id }, place) => [id, place + 1])));
  const wanted = new Set(both.flatMap(({ matches }) => matches.slice(0, k).map(({ id }) => id)));
  const shownOf = async (id) => [id, await ask(`/v1/items/${named(id)}`, { signal })];
  const items = new Map(await Promise.all([...wanted].map(shownOf)));
  const [base, learned] = both.map(({ matches }, own) => matches.slice(0, k).map(({ id, score }) => ({
    item: items.get(id),
    score,
    rank: ranks[own].get(id),
    other_rank: ranks[1 - own].get(id) ?? null,
  })));
  const item = { id: null, kind: "text", text, label: null };
  return { item, base, learned, base_model: BASE, model: both[1].model };
}

async function anyItem(summary, signal, at = Math.floor(Math.random() * summary.n_items)) {
  return (await ask(`/v1/items?limit=1&after=${at}`, { signal })).items[0];
}

function drawn(found, summary, signal) {
  const { item, base, learned } = found;
  const before = side("before", `version ${found.base_model}, the model file`, base, found, summary, signal);
  const after = side("after", `version ${found.model}, live now`, learned, found, summary, signal);
  const links = h("div", { class: "links", "aria-hidden": "true" });
  const sides = toggled("Before or after learning", "sides", [["Before", before], ["After", after]], 1, links);
  link(sides.querySelector(".sides"), signal);
  return [
    h("section", { class: `asked ${item.kind}`, "aria-label": "The item" },
      h("div", { class: "face" }, shown(item, { hidden: summary.label })),
      h("div", {},
        h("h2", {}, item.id === null ? "Your text" : String(item.id), " ", labelOf(item)),
        h("p", { class: "gist" }, gist(base, learned, summary.label_repeats ? item.label : null)),
    )),
    sides,
  ];
}

/** Summarize the changes in a sentence or two. */
function gist(base, learned, label) {
  const fresh = learned.filter((near) => near.other_rank === null || near.other_rank > base.length).length;
  const moved = learned.filter((near) => near.other_rank !== near.rank).length;
  const said = moved === 0
    ? "These neighbors have not changed."
    : `${fresh} of the ${learned.length} nearest are new, and ${several(moved - fresh, "other")} changed rank.`;
  if (label === null) return said;
  const same = (list) => list.filter((near) => near.item.label === label).length;
  return `${said} Of the same label: ${same(base)} before, ${same(learned)} after.`;
}

function side(which, note, list, found, summary, signal) {
  return h("section", { class: `side ${which}`, "aria-labelledby": `${which}-name` },
    h("h2", { id: `${which}-name` }, capital(which), h("small", {}, note)),
    h("ol", { class: "nearest" },
      list.map((near) => row(which, near, list.length, found, summary, signal)),
  ));
}

function row(which, near, size, found, summary, signal) {
  const { item } = near;
  const same = item.label !== null && item.label === found.item.label;
  const label = labelOf(item);
  if (label && same) label.classList.add("same");
  const reason = h("div", { class: "reason", hidden: true });
  const name = { "aria-expanded": "false", "aria-label": `Why? ${item.id}` };
  const asks = h("button", { type: "button", class: "slim", onclick: explain, ...name }, "Why?");
  const href = `#/neighbors/${named(item.id)}`;
  return h("li", { class: `near ${item.kind}`, "data-item": String(item.id), "data-rank": near.rank },
    h("span", { class: "rank" }, String(near.rank)),
    h("a", { class: "thumb", href, tabindex: "-1", "aria-hidden": item.kind === "image" ? "true" : null },
      shown(item, { small: true, hidden: summary.label }),
    ),
    h("span", { class: "who" }, h("a", { class: "name", href }, String(item.id)), label),
    h("span", { class: "score", title: "score" }, score(near.score)),
    movement(which, near, size),
    asks,
    reason,
  );

  async function explain() {
    const open = reason.hidden;
    asks.setAttribute("aria-expanded", String(open));
    reason.hidden = !open;
    if (!open || reason.dataset.done) return;
    reason.replaceChildren(waiting("Loading…"));
    try {
      const options = { signal, hidden: summary.label };
      reason.replaceChildren(await why(found.item, item, found.base_model, options));
      reason.dataset.done = "yes";
    } catch (error) {
      if (error.name !== "AbortError") reason.replaceChildren(notice(error.message, { kind: "bad" }));
    }
  }
}

/** Show the change of rank by an arrow and in words. */
function movement(which, { rank, other_rank: other }, size) {
  const after = which === "after";
  if (other === null || other > size) {
    const words = other === null ? "" : after ? `was ${other}` : `now ${other}`;
    const name = after ? "new" : "lost";
    return h("span", { class: `move ${name}` }, h("b", {}, name), ` ${words}`);
  }
  if (other === rank) return h("span", { class: "move" }, "= same");
  const way = after === (rank < other) ? "up" : "down";
  return h("span", { class: `move ${way}` },
    h("b", { "aria-hidden": "true" }, way === "up" ? "▲" : "▼"),
    h("span", { class: "unseen" }, way),
    ` ${after ? "was" : "now"} ${other}`,
  );
}

/** Connect the positions of an item in the two lists by lines, and highlight them together. */
function link(sides, signal) {
  const middle = sides.querySelector(".links");
  const rows = (which) => [...sides.querySelectorAll(`.side.${which} .near`)];

  function draw() {
    const frame = middle.getBoundingClientRect();
    if (frame.width === 0) return middle.replaceChildren(); // a phone: the lists are one below the other
    const height = (line) => {
      const box = line.querySelector(".rank").getBoundingClientRect();
      return box.top + box.height / 2 - frame.top;
    };
    const right = new Map(rows("after").map((line) => [line.dataset.item, line]));
    const lines = rows("before").filter((line) => right.has(line.dataset.item)).map((line) => {
      const other = right.get(line.dataset.item);
      const [a, b, w] = [height(line), height(other), frame.width];
      const gained = line.dataset.rank - other.dataset.rank;
      const style = gained > 0 ? "up" : gained < 0 ? "down" : "";
      return svg("path", {
        class: `link ${style}`,
        "data-item": line.dataset.item,
        d: `M0 ${a}C${w / 2} ${a} ${w / 2} ${b} ${w} ${b}`,
      });
    });
    middle.replaceChildren(svg("svg", { width: frame.width, height: frame.height }, lines));
  }

  const light = (on) => (event) => {
    const item = event.target.closest?.(".near")?.dataset.item;
    for (const one of sides.querySelectorAll("[data-item]")) {
      one.classList.toggle("lit", on && one.dataset.item === item);
    }
  };
  for (const name of ["pointerover", "focusin"]) sides.addEventListener(name, light(true));
  for (const name of ["pointerleave", "focusout"]) sides.addEventListener(name, light(false));
  const watch = new ResizeObserver(draw);
  for (const list of sides.querySelectorAll(".nearest")) watch.observe(list);
  signal.addEventListener("abort", () => watch.disconnect());
}

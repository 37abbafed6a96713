// The largest terms of a score, before and after learning.

import { tell } from "./api.js";
import { bars } from "./charts.js";
import { h } from "./dom.js";
import { cell, score, signed } from "./words.js";

const SHOWN = 8, ASKED = 100;

/** Return an explanation of the score of `item` for `query`. */
export async function why(query, item, base, { signal, hidden }) {
  const about = {
    ...(query.id === null ? { text: query.text } : { id: query.id }),
    item: item.id,
    top: ASKED,
  };
  const [before, after] = await Promise.all([
    tell("/v1/explain", { ...about, version: base }, { signal }),
    tell("/v1/explain", about, { signal }),
  ]);
  return h("div", { class: "why" },
    h("p", {},
      "Score ",
      h("b", {}, score(before.score)),
      " before and ",
      h("b", {}, score(after.score)),
      " after. A score is a sum over pairs of features; these contribute most:",
    ),
    h("div", { class: "reasons" },
      item.kind === "image" && pixels(query, item, before, after),
      bars(strongest(before, after), signed)),
    item.kind === "row" && besides(query, item, hidden));
}

function strongest(before, after) {
  const column = commonColumn([...before.terms, ...after.terms]);
  const earlier = new Map(before.terms.map((term) => [nameOf(term, column), term.contribution]));
  // The server returns the largest terms only; a missing term is small.
  const missing = before.terms.length < ASKED ? 0 : null;
  const ordered = [...after.terms].sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const terms = ordered.slice(0, SHOWN).map((term) => ({
    name: nameOf(term, column),
    before: earlier.get(nameOf(term, column)) ?? missing,
    after: term.contribution,
  }));
  const left = (whole, part) => whole - terms.reduce((sum, term) => sum + (term[part] ?? 0), 0);
  return [
    ...terms,
    {
      name: "all others",
      before: left(before.score, "before"),
      after: left(after.score, "after"),
      quiet: true,
    },
  ];
}

/** Return the column that all features are words of; null if there are several. */
function commonColumn(terms) {
  const names = terms.flatMap((term) => [term.query_feature, term.item_feature]);
  const columns = new Set(names.map((name) => (name.includes(":") ? name.slice(0, name.indexOf(":") + 1) : null)));
  return columns.size === 1 ? [...columns][0] : null;
}

function nameOf({ query_feature: query, item_feature: item }, column) {
  // Where there is one column of words, a word is enough.
  const [asked, found] = [query, item].map((name) => (column === null ? name : name.slice(column.length)));
  return asked === found ? asked : `${asked} with ${found}`;
}

/** Return the contributions of the pixels of an image. */
function pixels(query, item, before, after) {
  const both = [before, after].map((told) => heat(told.terms));
  if (both.includes(null)) return null;
  const most = Math.max(
    ...both.flatMap((sums) => [...sums.values()].map(([, , sum]) => Math.abs(sum))),
    1e-12,
  );
  const places = both.flatMap((sums) => [...sums.values()]);
  const side = 1 + Math.max(...places.flatMap(([row, column]) => [row, column]));
  return h("div", { class: "heats" }, both.map((sums, place) => {
    const words = place ? "after" : "before";
    return h("figure", {},
      drawn(sums, side, most, `Contributions of pixels ${words} learning`),
      h("figcaption", {}, words),
    );
    }), h("p", { class: "quiet" }, "Filled pixels raise the score, ringed pixels lower it."));
}

function heat(terms) {
  const sums = new Map();
  for (const { item_feature: name, contribution } of terms) {
    const place = /(\d+)\D(\d+)\D?$/.exec(name);
    if (!place) return null;
    const known = sums.get(name) ?? [Number(place[1]), Number(place[2]), 0];
    sums.set(name, [known[0], known[1], known[2] + contribution]);
  }
  return sums;
}

function drawn(sums, side, most, words) {
  const canvas = h("canvas", { width: 16 * side, height: 16 * side, role: "img", "aria-label": words });
  const brush = canvas.getContext("2d");
  for (const [row, column, sum] of sums.values()) {
    const depth = 0.12 + 0.88 * Math.min(1, Math.abs(sum) / most);
    brush.fillStyle = sum < 0 ? `rgb(214 96 38 / ${depth})` : `rgb(38 122 196 / ${depth})`;
    brush.strokeStyle = brush.fillStyle;
    brush.lineWidth = 3;
    if (sum < 0) brush.strokeRect(16 * column + 2.5, 16 * row + 2.5, 11, 11);
    else brush.fillRect(16 * column + 1, 16 * row + 1, 14, 14);
  }
  return canvas;
}

/** The two rows side by side. */
function besides(query, item, hidden) {
  const names = Object.keys(query.row ?? {}).filter((name) => name !== hidden);
  return h("details", {}, h("summary", {}, "Both rows"), h("table", { class: "cells" },
    h("thead", {},
      h("tr", {},
        h("td", {}),
        h("th", { scope: "col" }, String(query.id)),
        h("th", { scope: "col" }, String(item.id)),
      ),
    ),
    h("tbody", {},
      names.map((name) => h("tr", {},
        h("th", { scope: "row" }, name),
        h("td", {}, cell(query.row[name])),
        h("td", {}, cell(item.row?.[name])),
      )),
  )));
}

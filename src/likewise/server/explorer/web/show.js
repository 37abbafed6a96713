// Display of an item as an image, a text or a row.

import { h } from "./dom.js";
import { cell } from "./words.js";

const SMALL_ROW = 5;
const PIXELATED = 64; // images up to this width are shown without smoothing

/** Return the display of an item; `small` in lists, without the column `hidden`. */
export function shown(item, { small = false, hidden = null } = {}) {
  if (item.kind === "image") return picture(item);
  if (item.kind === "text") return h("blockquote", { class: small ? "said small" : "said" },
    item.text || "(empty)",
  );
  return small ? fewCells(item.row, hidden) : cells(item.row, hidden);
}

/** Return an item's label, where it has one. */
export function labelOf(item) {
  return item.label === null ? null : h("span", { class: "chip" }, item.label);
}

function picture(item) {
  const image = h("img", { class: "picture", alt: `image ${item.id}`, src: item.image });
  const sharpen = () => image.classList.toggle("pixels", image.naturalWidth <= PIXELATED);
  image.addEventListener("load", sharpen);
  return image;
}

function pairs(row, hidden) {
  return Object.entries(row ?? {}).filter(([name]) => name !== hidden && name !== "image");
}

function cells(row, hidden) {
  return h("table", { class: "cells" }, h("tbody", {}, pairs(row, hidden).map(([name, value]) =>
    h("tr", {},
      h("th", { scope: "row" }, name),
      h("td", { class: typeof value === "number" ? "number" : null }, cell(value)),
  ))));
}

/** Return two rows beside a third; the nearer number of each column is marked. */
export function compared(query, left, right, hidden) {
  return h("table", { class: "compared" },
    h("thead", {},
      h("tr", {},
        h("td", {}),
        ["Left", "This one", "Right"].map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h("tbody", {}, pairs(query.row, hidden).map(([name, value]) => {
      const [a, b] = [left.row?.[name], right.row?.[name]];
      const [near, far] = [Math.abs(a - value), Math.abs(b - value)];
      const isNumber = typeof value === "number";
      const same = (one, other, gap, rest) => (isNumber ? gap < rest : one === value && other !== value);
      const side = (one, isNearer) => h("td", { class: isNearer ? "nearer" : null },
        cell(one),
        isNearer && h("span", { class: "unseen" }, ", nearer"),
      );
      return h("tr", {},
        h("th", { scope: "row" }, name),
        side(a, same(a, b, near, far)),
        h("td", { class: "this" }, cell(value)),
        side(b, same(b, a, far, near)),
      );
  })));
}

function fewCells(row, hidden) {
  const all = pairs(row, hidden);
  const more = all.length - SMALL_ROW;
  return h("span", { class: "few" },
    all.slice(0, SMALL_ROW).map(([name, value]) => h("span", {}, h("i", {}, name), " ", cell(value))),
    more > 0 && h("span", { class: "quiet" }, `and ${more} more`));
}

// Display of an item as an image, a text or a row.

import { marked } from "./differences.js";
import { h } from "./dom.js";
import { cell } from "./words.js";

const SMALL_ROW = 5;
const PIXELATED = 64; // images up to this width are shown without smoothing
const NONE = () => false;

/** Return the display of an item; `small` in lists, without the column `hidden`. */
export function shown(item, { small = false, hidden = null } = {}) {
  if (item.kind === "image") return picture(item);
  if (item.kind !== "text") return small ? fewCells(item.row, hidden) : cells(item.row, hidden);
  if (!small) return [titleOf(item), clamped(item.text || "(empty)"), facts(item, hidden)];
  return h("span", { class: "said small" }, titleOf(item), item.title && " ", item.text || "(empty)");
}

/** Return a text or an image as a card: its name and label, and words that are marked. */
export function card(item, { hidden = null, isMarked = NONE, nearer = NONE } = {}) {
  const label = labelOf(item);
  if (item.kind === "image") return [picture(item), label && h("p", { class: "who" }, label)];
  const name = item.title ?? String(item.id);
  return [
    h("p", { class: "who" }, h("b", { class: "title" }, marked(name, isMarked)), label),
    clamped(item.text ? marked(item.text, isMarked) : "(empty)"),
    facts(item, hidden, nearer),
  ];
}

/** Return an item's label, where it has one. */
export function labelOf(item) {
  return item.label === null ? null : h("span", { class: "chip" }, item.label);
}

/** Return what a screen reader says of an item. */
export function spoken(item, most = 200) {
  if (item.kind !== "text") return `${item.kind === "image" ? "image" : "row"} ${item.id}`;
  const said = [item.title, item.text].filter(Boolean).join(": ");
  return said.length > most ? `${said.slice(0, most)}…` : said;
}

/** Return three lines of a text, with a button that shows the rest. */
function clamped(content) {
  const text = h("blockquote", { class: "clamped" }, content);
  const button = h("button",
    { type: "button", class: "unfold", hidden: true, "aria-expanded": "false", onclick: toggle },
    "more",
  );
  const watch = new ResizeObserver(() => {
    if (!text.isConnected) return watch.disconnect();
    const cut = text.scrollHeight > text.clientHeight + 1;
    if (!text.classList.contains("open")) button.hidden = !cut;
  });
  watch.observe(text);
  return h("div", { class: "said" }, text, button);

  function toggle(event) {
    event.stopPropagation(); // around it may be a card that is an answer
    const open = text.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "less" : "more";
    if (open) text.setAttribute("tabindex", "0"); // it scrolls
    else text.removeAttribute("tabindex");
    text.scrollTop = 0;
  }
}

function titleOf(item) {
  return item.title && h("b", { class: "title" }, item.title);
}

/** Return the cells of a text beside its title and text; those that `nearer` tells are marked. */
function facts(item, hidden, nearer = NONE) {
  const isShown = (value) => value === item.title || (typeof value === "string" && item.text && value.startsWith(item.text));
  const all = pairs(item.row, hidden).filter(([, value]) => !isShown(value));
  if (!all.length) return null;
  return h("p", { class: "few" }, all.map(([name, value]) => {
    const near = nearer(name);
    return h("span", { class: near ? "nearer" : null },
      h("i", {}, name), " ", cell(value), near && h("span", { class: "unseen" }, ", nearer"));
  }));
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

/** Tell whether the first of two cells is nearer to a third than the second is. */
export function isNearer(value, one, other) {
  if (typeof value !== "number") return one === value && other !== value;
  return Math.abs(one - value) < Math.abs(other - value);
}

/** Return two rows beside a third; the nearer cell of each column is marked. */
export function compared(query, left, right, hidden) {
  const head = (name, item) => h("th", { scope: "col" }, name, " ", labelOf(item));
  return h("table", { class: "compared" },
    h("thead", {},
      h("tr", {}, h("td", {}), head("Left", left), head("This one", query), head("Right", right)),
    ),
    h("tbody", {}, pairs(query.row, hidden).map(([name, value]) => {
      const [a, b] = [left.row?.[name], right.row?.[name]];
      const side = (one, near) => h("td", { class: near ? "nearer" : null },
        cell(one),
        near && h("span", { class: "unseen" }, ", nearer"),
      );
      return h("tr", {},
        h("th", { scope: "row" }, name),
        side(a, isNearer(value, a, b)),
        h("td", { class: "this" }, cell(value)),
        side(b, isNearer(value, b, a)),
      );
  })));
}

/** Return two rows side by side; cells that differ are marked or, if these are most, equal ones. */
export function beside(left, right, hidden) {
  const all = pairs(left.row, hidden).map(([name, value]) => [name, cell(value), cell(right.row?.[name])]);
  const nDiffering = all.filter(([, one, other]) => one !== other).length;
  const marksEqual = 2 * nDiffering > all.length;
  const head = (name, item) => h("th", { scope: "col" }, name, " ", labelOf(item));
  return h("table", { class: "compared two" },
    h("thead", {}, h("tr", {}, h("td", {}), head("One", left), head("Other", right))),
    h("tbody", {}, all.map(([name, one, other]) => {
      const isMarked = (one === other) === marksEqual;
      const side = (text) => h("td", {}, isMarked ? h("mark", {}, text) : text);
      return h("tr", {}, h("th", { scope: "row" }, name), side(one), side(other));
  })));
}

function fewCells(row, hidden) {
  const all = pairs(row, hidden);
  const more = all.length - SMALL_ROW;
  return h("span", { class: "few" },
    all.slice(0, SMALL_ROW).map(([name, value]) => h("span", {}, h("i", {}, name), " ", cell(value))),
    more > 0 && h("span", { class: "quiet" }, `and ${more} more`));
}

// The items that are selected on a map.

import { named } from "./api.js";
import { h } from "./dom.js";
import { labelOf, shown } from "./show.js";
import { count, several } from "./words.js";

const LISTED = 12;

/** Return the selected items, {id, kind}: how many of each kind, and the first of them. */
export function selectionOf(items, { known, hidden, clear }) {
  if (!items.length) return [];
  const counts = new Map();
  for (const { kind } of items) if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const kinds = [...counts].sort((a, b) => b[1] - a[1]);
  const list = h("ul", { class: "chosen-items" }, items.slice(0, LISTED).map(({ id }) => line(id, known, hidden)));
  const more = items.length - LISTED;
  return [
    h("section", { class: "card selection", "aria-labelledby": "selected" },
      h("div", { class: "row" },
        h("h2", { id: "selected" }, `${several(items.length, "item")} selected`),
        h("button", { type: "button", class: "slim", onclick: clear }, "Clear"),
      ),
      kinds.length > 0 && h("p", { class: "row kinds-counted" }, kinds.map(([kind, n]) =>
        h("span", { class: "chip" }, `${kind}: ${count(n)}`))),
      list,
      more > 0 && h("p", { class: "quiet" }, `and ${several(more, "more item")}`)),
  ];
}

function line(id, known, hidden) {
  const link = h("a", { href: `#/neighbors/${named(id)}` }, h("span", { class: "name" }, String(id)));
  known(id).then((item) => {
    const face = shown(item, { small: true, hidden });
    link.replaceChildren(h("span", { class: `thumb ${item.kind}` }, face), link.firstChild, labelOf(item) ?? "");
  }).catch(() => {}); // its id is enough
  return h("li", {}, link);
}

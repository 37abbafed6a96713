// A search box for items, as an ARIA combobox.

import { ask } from "./api.js";
import { h } from "./dom.js";
import { labelOf, shown } from "./show.js";
import { several } from "./words.js";

const LISTED = 8;
const PAUSE = 150; // milliseconds without a key before a request

/** Return the box; `chosen` is called with an id, `worded` with a text. */
export function picker({ hidden, signal, chosen, worded = null }) {
  let found = [], active = -1, timer = 0, asked = 0, listed = null;
  const list = h("ul",
    { id: "found", class: "found", role: "listbox", "aria-label": "Items found", hidden: true },
  );
  const told = h("span", { class: "unseen", role: "status" });
  const box = h("input", {
    id: "find", type: "search", role: "combobox", autocomplete: "off", spellcheck: "false",
    placeholder: "an id, a label or a word",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "found",
    oninput: () => { clearTimeout(timer); timer = setTimeout(look, PAUSE); },
    onfocus: look, onkeydown: pressed, onblur: () => setTimeout(close, PAUSE),
  });

  async function look() {
    const mine = ++asked, words = box.value.trim();
    clearTimeout(timer);
    try {
      const page = await ask(`/v1/items?limit=${LISTED}&search=${encodeURIComponent(words)}`, { signal });
      if (mine !== asked || document.activeElement !== box) return;
      found = page.items;
      listed = words;
      open(page.total);
    } catch (error) {
      if (error.name !== "AbortError") open(0, error.message);
    }
  }

  function open(total, trouble = null) {
    active = -1;
    box.removeAttribute("aria-activedescendant");
    list.replaceChildren(...found.map((item, place) => h("li",
      {
        id: `found-${place}`,
        role: "option",
        "aria-selected": "false",
        onmousedown: (event) => { event.preventDefault(); choose(place); },
      },
      h("span", { class: `thumb ${item.kind}` }, shown(item, { small: true, hidden })),
      h("span", { class: "name" }, String(item.id)),
      labelOf(item))));
    const none = "No item matches by its id, label or text.";
    const said = trouble ?? (total === 0 ? none : `${several(total, "item")} found.`);
    if (!found.length || trouble) list.replaceChildren(h("li",
      { class: "none", role: "option", "aria-disabled": "true" },
      said,
    ));
    else if (total > found.length) list.append(h("li",
      { class: "none", role: "option", "aria-disabled": "true" },
      `and ${several(total - found.length, "more item", "more items")}`,
    ));
    told.textContent = said;
    list.hidden = false;
    box.setAttribute("aria-expanded", "true");
  }

  function close() {
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  function mark(place) {
    active = (place + found.length) % found.length;
    for (const [at, option] of [...list.children].entries()) option.setAttribute(
      "aria-selected",
      String(at === active),
    );
    box.setAttribute("aria-activedescendant", `found-${active}`);
    list.children[active].scrollIntoView({ block: "nearest" });
  }

  function choose(place) {
    close();
    box.value = "";
    chosen(found[place].id);
  }

  /** Choose the marked item, or the first match of the input, even if it is not listed yet. */
  async function take() {
    if (listed !== box.value.trim()) await look();
    if (found.length) choose(Math.max(active, 0));
  }

  function pressed(event) {
    if (event.key === "Escape") close();
    else if (event.key === "Enter") take();
    else if (event.key === "ArrowDown" && found.length) list.hidden ? look() : mark(active + 1);
    else if (event.key === "ArrowUp" && found.length) mark(active < 0 ? found.length - 1 : active - 1);
    else return;
    event.preventDefault();
  }

  const byWords = worded && h("button",
    { type: "button", onclick: () => box.value.trim() ? worded(box.value.trim()) : box.focus() },
    "Search by this text",
  );
  return [
    h("div", { class: "picker" },
      h("label", { for: "find" }, worded ? "Find an item, or enter a text" : "Find an item"),
      h("div", { class: "box" }, box, list),
      told,
    ),
    byWords,
  ];
}

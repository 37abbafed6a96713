// A question on the Teach page: which of two items is closer, or whether two are the same.

import { differences, shares } from "./differences.js";
import { h } from "./dom.js";
import { beside, card, compared, isNearer, shown, spoken } from "./show.js";

const KEYS = { left: "ArrowLeft", right: "ArrowRight", same: "Y", different: "N" };

/** Return the elements of a question; `answer` is called with the side that is chosen. */
export function drawn(question, hidden, answer) {
  return question.right === null ? pair(question, hidden, answer) : triplet(question, hidden, answer);
}

/** Return what a screen reader says of a question. */
export function said({ query, left, right }) {
  return right === null
    ? `Are these the same? ${spoken(query)}. And: ${spoken(left)}.`
    : `Which is more like ${spoken(query)}? Left: ${spoken(left)}. Right: ${spoken(right)}.`;
}

function triplet({ query, left, right }, hidden, answer) {
  const title = h("h2", {}, "Which is more like this?");
  if (query.kind === "row") return [
    h("div", { class: "query" }, compared(query, left, right, hidden)),
    title,
    h("div", { class: "choices" }, choice("left", left, null, answer), choice("right", right, null, answer)),
  ];
  const marks = shares(...[query, left, right].map(textOf));
  const face = (item, other, isMarked) => card(item, {
    hidden,
    isMarked,
    nearer: (name) => isNearer(query.row?.[name], item.row?.[name], other.row?.[name]),
  });
  return [
    h("div", { class: "query" }, card(query, { hidden, isMarked: marks.query })),
    title,
    h("div", { class: "choices" },
      choice("left", left, face(left, right, marks.left), answer),
      choice("right", right, face(right, left, marks.right), answer),
    ),
    query.kind === "text" && h("p", { class: "quiet hint" },
      h("mark", {}, "Marked"), ": shared with the text above by one only."),
  ];
}

function pair({ query, left }, hidden, answer) {
  const marks = differences(textOf(query), textOf(left));
  const face = (item, isMarked) => h("div", { class: "query" }, card(item, { hidden, isMarked }));
  const both = query.kind === "row"
    ? h("div", { class: "query" }, beside(query, left, hidden))
    : h("div", { class: "twins" }, face(query, marks.left), face(left, marks.right));
  const button = (side, words) => h("button",
    { type: "button", class: "main", onclick: () => answer(side), "aria-keyshortcuts": KEYS[side] },
    words,
    h("kbd", {}, KEYS[side]),
  );
  return [
    h("h2", {}, "Are these the same?"),
    both,
    h("div", { class: "row verdicts" }, button("same", "The same "), button("different", "Different ")),
    query.kind === "text" && h("p", { class: "quiet hint" },
      h("mark", {}, "Marked"), marks.common ? ": in both." : ": in one of the two only."),
  ];
}

function choice(name, item, face, answer) {
  const arrow = h("kbd", { "aria-hidden": "true" }, name === "left" ? "←" : "→");
  const words = name === "left" ? [arrow, "Left"] : ["Right", arrow];
  return h("div", { class: `choice ${name}`, "data-side": name },
    face && h("div", { class: "face" }, face),
    h("button",
      { type: "button", class: "pick", onclick: () => answer(name), "aria-keyshortcuts": KEYS[name] },
      words,
      h("span", { class: "unseen" }, ` is more alike: ${item.title ?? item.id}`),
    ),
  );
}

/** Return the items of a question in a line: what is like what. */
export function past({ question: { query, left, right }, side }, hidden) {
  const part = (item, words) => h("span", { class: "part", title: String(item.id) },
    shown(item, { small: true, hidden }),
    h("span", { class: "unseen" }, ` ${item.id}${words}`),
  );
  const sign = (text) => h("span", { "aria-hidden": "true" }, text);
  if (right === null) {
    const same = side === "same";
    return h("li", {}, part(query, same ? " is the same as" : " is not"), sign(same ? "≈" : "≉"), part(left, "."));
  }
  const [first, second] = side === "right" ? [right, left] : [left, right];
  const alike = side !== "neither", also = side === "both";
  return h("li", {},
    part(query, alike ? " is more like" : " is not like"),
    sign(alike ? "≈" : "≉"),
    part(first, also ? ", and like" : alike ? ", less like" : ", nor like"),
    sign(also ? "≈" : "≉"),
    part(second, "."),
  );
}

function textOf(item) {
  return [item.title, item.text].filter(Boolean).join(" ");
}

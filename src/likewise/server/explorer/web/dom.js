// Elements from data. Text is always set as text: nothing here reads markup.

const NOTHING = [null, undefined, false];
const SVG = "http://www.w3.org/2000/svg";

/** Return an element: h("button", {class: "main", onclick: act}, "Go"). */
export function h(tag, given = {}, ...children) {
  return filled(document.createElement(tag), given, children);
}

/** Return an element of a drawing. */
export function svg(tag, given = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), given, children);
}

function filled(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (NOTHING.includes(value)) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => !NOTHING.includes(child)));
  return element;
}

/** Announce a sentence to screen readers, in place of the last one. */
export function say(sentence) {
  document.getElementById("said").textContent = sentence;
}

/** Announce what happened on the server, without cutting short what `say` announces. */
export function sayNews(sentence) {
  document.getElementById("news").textContent = sentence;
}

/** Return a sentence in a box, optionally with a button. */
export function notice(sentence, { kind = "plain", action = null, act = null } = {}) {
  const button = action && h("button", { type: "button", onclick: act }, action);
  const role = kind === "bad" ? "alert" : null;
  return h("div", { class: `notice ${kind}`, role }, h("p", {}, sentence), button);
}

/** Return a placeholder for content that is loading. */
export function waiting(sentence = "Loading…") {
  return h("p", { class: "waiting", role: "status" },
    h("span", { class: "dot", "aria-hidden": "true" }),
    sentence,
  );
}

/** Return the top of a page. */
export function heading(title, lead) {
  return h("header", { class: "top" },
    h("h1", { tabindex: "-1" }, title),
    lead && h("p", { class: "lead" }, lead),
  );
}

/** Return a large figure with its name and a note. */
export function tile(name, value, note = null) {
  return h("div", { class: "tile" },
    h("dt", {}, name),
    h("dd", {}, h("span", { class: "figure" }, value), note && h("span", { class: "note" }, note)),
  );
}

/** Return parts, [name, element], side by side; a narrow screen shows one at a time. */
export function toggled(name, style, parts, chosen = 0, between = null) {
  const buttons = parts.map(([words], place) => h("button",
    { type: "button", "aria-pressed": String(place === chosen), onclick: () => choose(place) },
    words,
  ));
  for (const [place, [, element]] of parts.entries()) element.dataset.part = place;
  const elements = parts.map(([, element]) => element);
  if (between) elements.splice(1, 0, between);
  const place = h("div", { class: `toggled ${style}`, "data-shown": chosen }, elements);
  return h("div", {},
    h("div", { class: "toggles", role: "group", "aria-label": name }, buttons),
    place,
  );

  function choose(at) {
    place.dataset.shown = at;
    for (const [one, button] of buttons.entries()) button.setAttribute("aria-pressed", String(one === at));
  }
}

/** Return a drop-down with its label. */
export function choice(name, options, chosen, act) {
  const select = h("select", { onchange: () => act(select.value) },
    options.map(([value, words]) => h("option", { value, selected: String(value) === String(chosen) },
      words,
    )),
  );
  return h("label", { class: "field" }, h("span", {}, name), select);
}

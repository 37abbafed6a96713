// Charts, each with its numbers as a table.

import { h, svg } from "./dom.js";

const WIDE = 380, HIGH = 235;
const EDGE = { left: 50, right: 22, top: 12, bottom: 44 };

/**
 * Return a chart of lines: [{name, style: "after" | "before", points: [[x, y]], marks: [[x, y]]}].
 * `form` writes the values of y, `formX` those of x.
 */
export function lineChart({
  title,
  note = null,
  across,
  lines,
  form = String,
  formX = form,
  zero = false,
  range = null,
  asTable = true,
}) {
  const all = lines.flatMap((line) => [...line.points, ...(line.marks ?? [])]);
  const xs = ticks(...ends(all.map(([x]) => x)), 6);
  const ys = ticks(...(range ?? ends([...all.map(([, y]) => y), ...(zero ? [0] : [])])), 5);
  const x = scale(ends([...xs, ...all.map((p) => p[0])]), [EDGE.left, WIDE - EDGE.right]);
  const y = scale(ends([...ys, ...all.map((p) => p[1])]), [HIGH - EDGE.bottom, EDGE.top]);
  const words = lines.map((line) => described(line, form)).join(" ");
  const under = HIGH - EDGE.bottom + 19;
  const whole = { x1: EDGE.left, x2: WIDE - EDGE.right };
  const drawing = svg("svg",
    { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${title}. ${words}` },
    ys.map((value) => svg("line", { class: "grid", ...whole, y1: y(value), y2: y(value) })),
    ys.map((value) => svg("text", { class: "end", x: EDGE.left - 8, y: y(value) + 4 }, form(value))),
    xs.map((value) => svg("text", { class: "middle", x: x(value), y: under }, formX(value))),
    svg("text", { class: "middle axis", x: (EDGE.left + WIDE - EDGE.right) / 2, y: HIGH - 4 }, across),
    zero && svg("line", { class: "zero", ...whole, y1: y(0), y2: y(0) }),
    lines.map((line) => svg("path", { class: `line ${line.style}`, d: path(line.points, x, y) })),
    lines.map((line) => (line.points.length === 1 ? line.points : line.marks ?? []).map(([a, b]) =>
      svg("circle", { class: `mark ${line.style}`, cx: x(a), cy: y(b), r: 4 }))));
  return h("figure", { class: "drawn" },
    h("figcaption", {}, h("b", {}, title), note && h("span", {}, note)),
    h("ul", { class: "legend" },
      lines.map((line) => h("li", {}, h("span", { class: `swatch ${line.style}` }), line.name)),
    ),
    drawing,
    asTable && h("details", {}, h("summary", {}, "The figures"), table(lines, across, form, formX)));
}

/**
 * Return a chart of pairs of values with their standard errors: [{name, before, after, error, n}].
 * The line through `after` is one standard error of the difference to each side.
 */
export function intervalChart({ title, note = null, rows, form = String, names }) {
  const left = 74, line = 46, top = 14, bottom = 44, high = top + line * rows.length + bottom;
  const reach = rows.flatMap(({ before, after, error }) => [before, after - (error ?? 0), after + (error ?? 0)]);
  const xs = ticks(...ends(reach), 5);
  const x = scale(ends([...xs, ...reach]), [left + 8, WIDE - EDGE.right]);
  const y = (place) => top + line * (place + 0.5);
  const words = rows.map((row) => `${row.name}: ${form(row.before)}, then ${form(row.after)}.`).join(" ");
  return h("figure", { class: "drawn" },
    h("figcaption", {}, h("b", {}, title), note && h("span", {}, note)),
    h("ul", { class: "legend" },
      h("li", {}, h("span", { class: "swatch after" }), names.after),
      h("li", {}, h("span", { class: "swatch before" }), names.before),
    ),
    svg("svg",
      { class: "chart", viewBox: `0 0 ${WIDE} ${high}`, role: "img", "aria-label": `${title}. ${words}` },
      xs.map((value) => svg("line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: high - bottom })),
      xs.map((value) => svg("text", { class: "middle", x: x(value), y: high - bottom + 19 }, form(value))),
      rows.map((row, place) => svg("text", { class: "end", x: left, y: y(place) + 4 }, row.name)),
      rows.map(({ before, after, error }, place) => [
        error !== null && svg("line", {
          class: "error", x1: x(after - error), x2: x(after + error), y1: y(place) - 6, y2: y(place) - 6,
        }),
        svg("circle", { class: "mark after", cx: x(after), cy: y(place) - 6, r: 5 }),
        svg("circle", { class: "mark before", cx: x(before), cy: y(place) + 8, r: 5 }),
      ])));
}

/** Return a table with bars: [{name, before, after}]; what is `quiet` has none. */
export function bars(terms, form) {
  const values = terms.filter((term) => !term.quiet).flatMap((term) => [term.before ?? 0, term.after ?? 0]);
  const low = Math.min(...values, 0), reach = Math.max(...values, 0) - low || 1;
  const bar = (value, style) => {
    const filled = h("span", { class: `bar ${style}${value < 0 ? " negative" : ""}` });
    filled.style.width = `${(100 * Math.abs(value)) / reach}%`;
    filled.style.marginLeft = `${(100 * (Math.min(value, 0) - low)) / reach}%`;
    return filled;
  };
  const cell = (value) => h("td", { class: "number" }, value === null ? "–" : form(value));
  const line = ({ name, before, after, quiet }) => h("tr", { class: quiet ? "quiet" : null },
    h("th", { scope: "row" }, name),
    cell(before),
    cell(after),
    h("td", { class: "pair", "aria-hidden": "true" },
      !quiet && [bar(before ?? 0, "before"), bar(after ?? 0, "after")],
    ),
  );
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Terms of the score" },
    h("table", { class: "bars" },
      h("thead", {},
        h("tr", {},
          h("th", { scope: "col" }, "Feature"),
          h("th", { scope: "col", class: "number" }, "Before"),
          h("th", { scope: "col", class: "number" }, "After"),
          h("td", {}),
        ),
      ),
      h("tbody", {}, terms.map(line)),
    ),
  );
}

/** Return round numbers from about `low` to about `high`. */
export function ticks(low, high, most) {
  const rough = (high - low || Math.abs(high) || 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from(
    { length: Math.max(1, last - first + 1) },
    (_, place) => Number(((first + place) * step).toPrecision(12)),
  );
}

function ends(values) {
  return values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
}

function scale([low, high], [from, to]) {
  const reach = high - low || 1;
  return (value) => Number((from + ((value - low) / reach) * (to - from)).toFixed(2));
}

function path(points, x, y) {
  return points.map(([a, b], place) => `${place ? "L" : "M"}${x(a)} ${y(b)}`).join("");
}

function described(line, form) {
  const last = line.points.at(-1);
  if (!last) return `${line.name}: nothing yet.`;
  return `${line.name}: from ${form(line.points[0][1])} to ${form(last[1])}.`;
}

function table(lines, across, form, formX) {
  const rows = lines.flatMap((line) => thinned(line.points).map(([a, b]) => [line.name, formX(a), form(b)]));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The figures" },
    h("table", {},
      h("thead", {}, h("tr", {}, ["Line", across, "Value"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((text) => h("td", {}, text)))))));
}

function thinned(points, most = 25) {
  const step = Math.max(1, Math.ceil(points.length / most));
  return points.filter((_, place) => place % step === 0 || place === points.length - 1);
}

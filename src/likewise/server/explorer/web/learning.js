// Charts of learning: candidates at the gate, and predictions.

import { lineChart } from "./charts.js";
import { h } from "./dom.js";
import { count, percent } from "./words.js";

/** Return a chart of the versions on held-out queries; null until there is one. */
export function heldOut({ lessons }, options = {}) {
  if (!lessons.length) return null;
  const value = (lesson, part) => [lesson.position, lesson.overall[part]];
  return lineChart({
    title: "Accuracy on held-out queries",
    note: "Means over queries that were not used for training. Dots are versions that went live.",
    across: "comparisons given",
    form: percent,
    formX: count,
    range: floor(lessons.map(({ overall }) => Math.min(overall.candidate, overall.live))),
    lines: [
      {
        name: "newly learned",
        style: "after",
        points: lessons.map((lesson) => value(lesson, "candidate")),
        marks: lessons.filter((lesson) => lesson.promoted).map((lesson) => value(lesson, "candidate")),
      },
      {
        name: "live at that time",
        style: "before",
        points: lessons.map((lesson) => value(lesson, "live")),
      },
    ],
    ...options,
  });
}

/** Return a chart of the comparisons predicted before training on them; null until there is one. */
export function predicted({ progress }, options = {}) {
  if (progress.length < 2) return null;
  const points = running(progress);
  return lineChart({
    title: "Predictions before training",
    note: "The share of recent comparisons that the learner predicted correctly before training on them.",
    across: "comparisons given",
    form: percent,
    formX: count,
    range: floor(points.map(([, y]) => y)),
    lines: [{ name: "the last fifth of the comparisons", style: "after", points }],
    ...options,
  });
}

/** Return the share of correct predictions in the last fifth up to each point. */
function running(progress) {
  const all = [{ position: 0, asked: 0, right: 0 }, ...progress];
  let from = 0;
  return all.slice(1).map((now) => {
    while (from + 1 < all.length && all[from + 1].asked <= now.asked - Math.max(10, now.asked / 5)) from += 1;
    return [now.position, (now.right - all[from].right) / Math.max(1, now.asked - all[from].asked)];
  });
}

/** Start the axis at one half, the level of chance, or lower if needed. */
function floor(values) {
  return [Math.min(0.5, Math.floor(10 * Math.min(...values)) / 10), 1];
}

/** Return a placeholder for a chart. */
export function notYet(sentence) {
  return h("p", { class: "empty" }, sentence);
}

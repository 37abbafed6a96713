// How learning goes: the lessons of the gate, and what was foretold, as charts.

import { lineChart } from "./charts.js";
import { h } from "./dom.js";
import { count, percent } from "./words.js";

/** Return a chart of the versions on held-out answers; null until there is one. */
export function heldOut({ lessons }, options = {}) {
  if (!lessons.length) return null;
  const share = (lesson, part) => [lesson.position, lesson[part] / lesson.held_out];
  return lineChart({
    title: "Right on held-out answers",
    note: "One answer in five is kept back to judge by. Dots are versions that went live.",
    across: "answers given",
    form: percent,
    formX: count,
    range: floor(lessons.map((lesson) => Math.min(lesson.right, lesson.live_right) / lesson.held_out)),
    lines: [
      {
        name: "newly learned",
        style: "after",
        points: lessons.map((lesson) => share(lesson, "right")),
        marks: lessons.filter((lesson) => lesson.promoted).map((lesson) => share(lesson, "right")),
      },
      {
        name: "live at that time",
        style: "before",
        points: lessons.map((lesson) => share(lesson, "live_right")),
      },
    ],
    ...options,
  });
}

/** Return a chart of the answers the learner foretold before it was told; null until there is one. */
export function foretold({ progress }, options = {}) {
  if (progress.length < 2) return null;
  const points = running(progress);
  return lineChart({
    title: "Foretold before being told",
    note: "The share of recent answers that the learner would have given too.",
    across: "answers given",
    form: percent,
    formX: count,
    range: floor(points.map(([, y]) => y)),
    lines: [{ name: "the last fifth of the answers", style: "after", points }],
    ...options,
  });
}

/** Return the share that was right in the last fifth up to each point. */
function running(progress) {
  const all = [{ position: 0, asked: 0, right: 0 }, ...progress];
  let from = 0;
  return all.slice(1).map((now) => {
    while (from + 1 < all.length && all[from + 1].asked <= now.asked - Math.max(10, now.asked / 5)) from += 1;
    return [now.position, (now.right - all[from].right) / Math.max(1, now.asked - all[from].asked)];
  });
}

/** Let the axis begin at a half, where guessing is, or lower if need be. */
function floor(values) {
  return [Math.min(0.5, Math.floor(10 * Math.min(...values)) / 10), 1];
}

/** Return what stands where a chart will be. */
export function notYet(sentence) {
  return h("p", { class: "empty" }, sentence);
}

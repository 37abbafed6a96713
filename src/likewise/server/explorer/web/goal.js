// How many more answers the next version needs, and how long they take.

import { h } from "./dom.js";
import { several } from "./words.js";

const SECONDS = 6; // an answer of somebody who has given few
const LONGEST = 60; // seconds; a longer pause is none of an answer
const ENOUGH = 3;

/** Return the goal as a bar and a sentence. */
export function goalOf({ answers, needed, check, evaluated }, pauses) {
  const total = answers + (needed ?? check);
  const sentence = needed === null
    ? `No candidate is better so far. The next one is evaluated after ${several(check, "more answer")}.`
    : `About ${several(rounded(needed), "more answer")} until ${evaluated ? "the next version" : "versions can be evaluated"}, ` +
      `${duration(needed * pace(pauses))} at ${pauses.length < ENOUGH ? "a usual" : "your"} pace.`;
  return h("div", { class: "goal" },
    h("progress", { max: Math.max(1, total), value: answers, "aria-label": "Answers given" }),
    h("p", { class: "quiet" }, h("b", { class: "count" }, several(answers, "answer")), ` given. ${sentence}`),
  );
}

/** Return two figures of a number: an estimate has no more. */
function rounded(n) {
  const unit = Math.max(1, 10 ** (Math.floor(Math.log10(n)) - 1));
  return Math.ceil(n / unit) * unit;
}

/** Return the usual seconds of an answer, from the pauses between answers. */
export function pace(pauses) {
  const kept = pauses.filter((seconds) => seconds <= LONGEST).sort((a, b) => a - b);
  return kept.length < ENOUGH ? SECONDS : kept[Math.floor(kept.length / 2)];
}

function duration(seconds) {
  if (seconds < 60) return "less than a minute";
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? several(minutes, "minute") : several(Math.round(minutes / 60), "hour");
}

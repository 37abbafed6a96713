// How good it is: margins, lessons, recall, and the comparisons won and lost.

import { ask, named } from "../api.js";
import { lineChart } from "../charts.js";
import { h, heading, notice, tile, waiting } from "../dom.js";
import { foretold, heldOut, notYet } from "../learning.js";
import { labelOf, shown } from "../show.js";
import { count, percent, score, several, signed } from "../words.js";

export const title = "Quality";
const SHOWN = 6;
const AGAIN = 700; // milliseconds between looks while the server computes

export async function open({ root, summary, signal }) {
  root.append(heading(
    "Quality",
    "What was gained and what was lost, measured on what was not learned from.",
  ));
  const place = h("div", {}, waiting());
  root.append(place);
  let told = await ask("/v1/explore/quality", { signal });
  place.replaceChildren(...drawn(told, summary));
  while (told.status === "computing") {
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    told = await ask("/v1/explore/quality", { signal });
  }
  place.replaceChildren(...drawn(told, summary));
}

function drawn(told, summary) {
  const computing = told.status === "computing";
  return [
    computing && waiting("Measuring the live version…"),
    !summary.learns && notice(summary.why_not),
    tiles(told),
    h("section", { class: "charts", "aria-label": "Charts" },
      heldOut(told) ?? notYet("Versions are judged from the tenth answer on; their chart will be here."),
      foretold(told) ?? notYet("Once there are answers, the share that was foretold will be drawn here."),
      margins(told.goodness) ?? notYet(computing ? "Margins are computed…" : "Margins need labels or answers."),
    ),
    h("section", { class: "outcomes", "aria-label": "Comparisons won and lost" },
      outcomes(
        "Lost",
        `answers the model file had right and version ${told.model} has wrong; the worst first`,
        told.lost,
        told.n_lost,
        summary,
      ),
      outcomes(
        "Won",
        `answers the model file had wrong and version ${told.model} has right`,
        told.won,
        told.n_won,
        summary,
    )),
  ].filter(Boolean);
}

function tiles({ held_out: n, n_won: won, n_lost: lost, served, lessons, model, base_model: base }) {
  const last = lessons.at(-1);
  return h("dl", { class: "tiles" },
    tile(
      "Live version",
      String(model),
      model === base ? "the model file's" : `against version ${base}, the model file's`,
    ),
    tile(
      "Held-out answers",
      count(n),
      n ? `${several(won, "win")}, ${several(lost, "loss", "losses")} against the file` : "one answer in five",
    ),
    tile(
      "Last lesson",
      last ? percent(last.right / last.held_out) : "–",
      last ? `right, beside ${percent(last.live_right / last.held_out)} of the live one` : "none yet",
    ),
    tile(
      "Served recall",
      served ? percent(served.recall, served.recall < 1 ? 1 : 0) : "–",
      served ? `of the ${served.k} truly nearest, by ${served.engine} search` : "not measured yet",
  ));
}

function margins(goodness) {
  if (!goodness) return null;
  const points = ({ x, y }) => x.map((value, place) => [value, y[place]]);
  const what = goodness.of === "labels" ? "items, by their labels" : "held-out answers";
  return lineChart({
    title: `Margins of ${what}`,
    note: ["Above zero is right. Before:", ended(goodness.said_before), "After:", ended(goodness.said_after)].join(" "),
    across: "share with at least this margin",
    form: (value) => signed(value).replace(/\.?0+$/, ""),
    formX: percent,
    zero: true,
    lines: [
      { name: "after", style: "after", points: points(goodness.after) },
      { name: "before", style: "before", points: points(goodness.before) },
    ],
  });
}

function outcomes(name, meaning, list, n, summary) {
  const lines = h("ul", { class: "triplets" }, list.slice(0, SHOWN).map((one) => outcome(one, summary)));
  const rest = list.slice(SHOWN);
  const onclick = () => {
    lines.append(...rest.map((one) => outcome(one, summary)));
    more.remove();
    lines.children[SHOWN].firstChild.focus();
  };
  const words = `Show ${rest.length} more${n > list.length ? ` of ${count(n)}` : ""}`;
  const more = h("button", { type: "button", class: "slim", onclick }, words);
  return h("section", { "aria-labelledby": `outcome-${name}` },
    h("h2", { id: `outcome-${name}` },
      `${name} `,
      h("span", { class: "chip" }, count(n)),
      h("small", {}, meaning),
    ),
    list.length ? lines : notYet(name === "Lost" ? "Nothing was lost." : "Nothing was won yet."),
    rest.length > 0 && h("p", { class: "more" }, more));
}

function outcome({ query, closer, farther, margin_before: before, margin_after: after }, summary) {
  const part = (words, item) => h("span", { class: "part" },
    h("small", {}, words),
    shown(item, { small: true, hidden: summary.label }),
    h("span", { class: "who" }, h("span", { class: "name" }, String(item.id)), labelOf(item)),
  );
  return h("li", {}, h("a", { class: `triplet ${query.kind}`, href: `#/neighbours/${named(query.id)}` },
    part("for", query), part("closer", closer), part("farther", farther),
    h("span", { class: "margin" },
      h("small", {}, "margin"),
      h("span", {}, score(before), " → ", h("b", {}, score(after))),
  )));
}

function ended(sentence) {
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}

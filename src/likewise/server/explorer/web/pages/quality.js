// Quality: held-out queries, candidates, margins, recall, and comparisons won and lost.

import { ask, named } from "../api.js";
import { intervalChart, lineChart } from "../charts.js";
import { h, heading, notice, tile, toggled, waiting } from "../dom.js";
import { heldOut, notYet, predicted } from "../learning.js";
import { labelOf, shown } from "../show.js";
import { count, gain, percent, score, several, signed } from "../words.js";

export const title = "Quality";
const SHOWN = matchMedia("(max-width: 60rem)").matches ? 2 : 6;
const POLL_INTERVAL = 700; // milliseconds, while the server computes

export async function open({ root, summary, signal }) {
  root.append(heading(
    "Quality",
    "Gains and losses on queries that were not used for training.",
  ));
  const place = h("div", {}, waiting());
  root.append(place);
  let told = await ask("/v1/explore/quality", { signal });
  place.replaceChildren(...drawn(told, summary));
  while (told.status === "computing") {
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
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
    judged(told),
    arms(told.canary),
    h("section", { "aria-label": "Charts" }, toggled("Chart", "charts", [
      [
        "Held out",
        heldOut(told) ?? notYet("Candidates are evaluated once there are twenty queries. The chart will appear here."),
      ],
      ["Predicted", predicted(told) ?? notYet("The share of predicted answers will appear here.")],
      ["Margins", margins(told.goodness) ?? notYet(computing ? "Computing margins…" : "Margins need labels or answers.")],
    ])),
    h("section", { "aria-label": "Comparisons won and lost" }, toggled("Comparisons", "outcomes", [
      [`Lost ${count(told.n_lost)}`, outcomes(
        "Lost",
        `held-out comparisons that only the model file has right, the largest losses first`,
        told.lost,
        told.n_lost,
        summary,
        computing,
      )],
      [`Won ${count(told.n_won)}`, outcomes(
        "Won",
        `held-out comparisons that only version ${told.model} has right`,
        told.won,
        told.n_won,
        summary,
        computing,
      )],
    ])),
  ].filter(Boolean);
}

function tiles({ held_out: n, n_won: won, n_lost: lost, served, lessons, model, base_model: base }) {
  const last = lessons.at(-1);
  return h("dl", { class: "tiles" },
    tile(
      "Live version",
      String(model),
      model === base ? "the model file" : `compared with version ${base}, the model file`,
    ),
    tile(
      "Held-out comparisons",
      count(n),
      n ? `${several(won, "win")}, ${several(lost, "loss", "losses")} against the file` : "none yet",
    ),
    tile(
      "Last candidate",
      last ? percent(last.overall.candidate, 1) : "–",
      last ? `live version: ${percent(last.overall.live, 1)}; ${several(last.overall.n, "query", "queries")}` : "none yet",
    ),
    tile(
      "Served recall",
      served ? percent(served.recall, served.recall < 1 ? 1 : 0) : "–",
      served ? `of the ${served.k} nearest, by ${served.engine} search` : "not measured yet",
  ));
}

const KINDS = [
  ["overall", "all chosen items"],
  ["seen", "items in the training set"],
  ["new", "items not in the training set"],
];

function judged({ standing, model, base_model: base }) {
  if (!standing) return null;
  const rows = KINDS
    .map(([kind, meaning]) => ({ kind, meaning, ...standing[kind] }))
    .filter(({ n }) => n > 0);
  const names = { before: "the model file", after: `version ${model}` };
  const heads = ["Items", "Queries", "Model file", `Version ${model}`, "Gain ± error"];
  const line = ({ kind, meaning, base: before, live, error, n }) => h("tr", {},
    h("th", { scope: "row" }, kind, h("small", {}, meaning)),
    [count(n), percent(before, 1), percent(live, 1), gain(live - before, error)]
      .map((text) => h("td", { class: "number" }, text)));
  return h("section", { class: "standing", "aria-labelledby": "standing" },
    h("h2", { id: "standing" }, "On held-out queries",
      h("small", {}, model === base
        ? "the model file is live"
        : "the live version, trained without these queries and items"),
    ),
    h("div", { class: "judged" },
      intervalChart({
        title: "Share of other items that a chosen item outscores",
        note: "Means over queries. The line is one standard error of the gain.",
        rows: rows.map(({ kind, base: before, live, error }) => ({ name: kind, before, after: live, error })),
        form: percent,
        names,
      }),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Held-out queries" },
        h("table", { class: "figures" },
          h("thead", {}, h("tr", {}, heads.map((name, place) =>
            h("th", { scope: "col", class: place ? "number" : null }, name)))),
          h("tbody", {}, rows.map(line))))));
}

function margins(goodness) {
  if (!goodness) return null;
  const points = ({ x, y }) => x.map((value, place) => [value, y[place]]);
  const what = goodness.of === "labels" ? "items, by their labels" : "held-out comparisons";
  return lineChart({
    title: `Margins of ${what}`,
    note: ["A positive margin is correct. Before:", ended(goodness.said_before), "After:", ended(goodness.said_after)].join(" "),
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

function outcomes(name, meaning, list, n, summary, computing) {
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
    list.length ? lines : notYet(computing ? "Measuring…" : nothing(name, n)),
    rest.length > 0 && h("p", { class: "more" }, more));
}

function outcome({ query, closer, farther, margin_before: before, margin_after: after }, summary) {
  const part = (words, item) => h("span", { class: "part" },
    h("small", {}, words),
    shown(item, { small: true, hidden: summary.label }),
    h("span", { class: "who" }, h("span", { class: "name" }, String(item.id)), labelOf(item)),
  );
  return h("li", {}, h("a", { class: `triplet ${query.kind}`, href: `#/neighbors/${named(query.id)}` },
    part("for", query), part("closer", closer), part("farther", farther),
    h("span", { class: "margin" },
      h("small", {}, "margin"),
      h("span", {}, score(before), " → ", h("b", {}, score(after))),
  )));
}

function nothing(name, n) {
  if (n) return `${n === 1 ? "It" : "They"} cannot be shown: the query is a vector, or an item was replaced or removed.`;
  return name === "Lost" ? "Nothing was lost." : "Nothing was won yet.";
}

/** Return the live version beside the candidate that a share of searches gets; null without one. */
function arms(canary) {
  if (!canary) return null;
  const line = (name, { version, searches, pages, clicks, mrr, error }) => h("tr", {},
    h("th", { scope: "row" }, name, h("small", {}, version === null ? "no candidate yet" : `version ${version}`)),
    [count(searches), count(pages), count(clicks), mrr === null ? "–" : score(mrr) + (error === null ? "" : ` ± ${score(error)}`)]
      .map((text) => h("td", { class: "number" }, text)));
  const heads = ["Served", "Searches", "Pages with a choice", "Choices", "Reciprocal rank"];
  return h("section", { class: "standing canary", "aria-labelledby": "canary" },
    h("h2", { id: "canary" }, "Live and candidate",
      h("small", {}, `the candidate answers ${percent(canary.share)} of the users; rank of the first choice, mean ± standard error`),
    ),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Live and candidate" },
      h("table", { class: "figures" },
        h("thead", {}, h("tr", {}, heads.map((name, place) =>
          h("th", { scope: "col", class: place ? "number" : null }, name)))),
        h("tbody", {}, line("live", canary.live), line("candidate", canary.candidate)))));
}

function ended(sentence) {
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}

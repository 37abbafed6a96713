// Versions of the similarity: their evaluation, promotion and rollback.

import { ask, tell } from "../api.js";
import { sure } from "../dialogs.js";
import { h, heading, notice, say, waiting } from "../dom.js";
import { count, gain, moment, percent, several } from "../words.js";

export const title = "Models";
const POLL_INTERVAL = 3_000; // milliseconds
const SHOWN = 8; // the newest versions; those that were live are always shown
const STATUS = {
  live: ["live", "answers all searches"],
  retired: ["retired", "was live before"],
  rejected: ["not promoted", "not clearly better"],
  kept: ["kept", "while the gate was closed"],
};

export async function open({ root, summary, signal }) {
  root.append(heading(
    "Models",
    "All versions that were learned from feedback. A new version goes live automatically only if it is " +
      "clearly better than the live one on queries that neither was trained on.",
  ));
  if (!summary.learns) root.append(notice(summary.why_not));
  const place = h("div", {}, waiting());
  root.append(place);
  let seen = "";
  const all = { wanted: false, again: () => { seen = ""; look(); } };
  await look();
  const timer = setInterval(() => document.hidden || look().catch(() => {}), POLL_INTERVAL);
  signal.addEventListener("abort", () => clearInterval(timer));

  async function look() {
    const told = await ask("/v1/models", { signal });
    const now = JSON.stringify(told);
    if (now === seen) return; // a focused button keeps the focus
    seen = now;
    place.replaceChildren(gate(told, change), table(told, change, all));
  }

  async function change(version, kind, question) {
    if (!(await sure(...question))) return;
    try {
      const { live } = await tell(`/v1/models/${version}/${kind}`);
      await look();
      say(`Version ${live} is live.`);
      dispatchEvent(new Event("likewise-changed"));
      root.querySelector("h1").focus({ preventScroll: true });
    } catch (error) {
      if (error.name !== "AbortError") place.prepend(notice(error.message, { kind: "bad" }));
    }
  }
}

function gate({ gate, live }, change) {
  if (gate === "open") return h("p", { class: "gate" },
    h("span", { class: "badge" }, "gate open"),
    `Version ${live} is live. A better version replaces it automatically.`,
  );
  const action = "Open the gate";
  const question = [
    action,
    `Version ${live} stays live until a better version replaces it automatically.`,
    action,
  ];
  return h("div", { class: "gate" }, h("span", { class: "badge warn" }, "gate held"),
    h("p", {},
      `Version ${live} stays live, because someone rolled back to it. `,
      "New versions are kept, but none goes live until one is promoted manually.",
    ),
    h("button", { type: "button", onclick: () => change(live, "promote", question) }, action));
}

function table({ models }, change, all) {
  const names = ["Version", "Status", "Comparisons", "Held-out queries", "Seen items", "New items", "Created"];
  const few = models.filter((model, place) => place < SHOWN || model.promoted !== null);
  const shown = all.wanted ? models : few;
  const more = h("button",
    { type: "button", class: "slim", onclick: () => { all.wanted = true; all.again(); } },
    `Show all ${models.length} versions`,
  );
  return h("div", {},
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Versions" },
      h("table", { class: "versions" },
        h("thead", {},
          h("tr", {},
            names.map((name) => h("th", { scope: "col" }, name)),
            h("th", { scope: "col" }, h("span", { class: "unseen" }, "Actions")),
          ),
        ),
        h("tbody", {}, shown.map((model) => line(model, change))))),
    shown.length < models.length && h("p", { class: "more" }, more));
}

function line(model, change) {
  const { version, status, judged } = model;
  const [name, meaning] = STATUS[status];
  return h("tr", { class: status, "data-version": version },
    h("th", { scope: "row" },
      `${version}`,
      h("small", {}, setting(model)),
    ),
    h("td", { "data-name": "Status" },
      h("span", { class: `badge ${status}` }, name),
      h("small", {}, meaning),
    ),
    h("td", { "data-name": "Comparisons", class: "number" }, count(model.position)),
    h("td", { "data-name": "Held-out queries" }, judged ? scored(judged) : "–"),
    h("td", { "data-name": "Seen items", class: "number" }, judged ? gained(judged.seen) : "–"),
    h("td", { "data-name": "New items", class: "number" }, judged ? gained(judged.new) : "–"),
    h("td", { "data-name": "Created", class: "made" }, moment(model.created)),
    h("td", { class: "acts" }, action(model, change)));
}

function setting({ origin, learner, lambda: penalty, gamma, share, rank }) {
  if (origin === "file") return "the model file";
  if (learner === "aroma") return `share ${share}`;
  if (learner === "plda") return `rank ${rank}, γ ${gamma}`;
  if (learner === null) return "learned before an upgrade";
  return `λ ${penalty ?? "∞"}, γ ${gamma}`;
}

function scored({ overall: { live: other, candidate, error, n }, live, against, threshold, test }) {
  const meter = h("span", { class: "meter", "aria-hidden": "true" },
    h("span", { class: "fill" }),
    h("span", { class: "mark" }),
  );
  meter.children[0].style.width = `${100 * candidate}%`;
  meter.children[1].style.left = `${100 * other}%`;
  const errors = error > 0 ? `${((candidate - other) / error).toFixed(1).replace("-", "−")} errors` : "no change";
  return h("div", { class: "scored" },
    meter,
    h("span", {},
      `${percent(candidate, 1)} of ${several(n, "query", "queries")}`,
      h("small", {}, `${against === null ? `live version ${live}` : "model file"}: ${percent(other, 1)}`),
      h("small", {}, `${errors}; ${threshold.toFixed(1)} needed (test ${test})`),
    ),
  );
}

function gained({ live, candidate, error }) {
  return live === null ? "–" : gain(candidate - live, error);
}

function action({ version, status, promoted, available }, change) {
  if (status === "live") return h("span", { class: "quiet" }, "in use");
  if (!available) return h("span", { class: "quiet" }, "deleted");
  const from = `Version ${version} will answer all searches`;
  const [name, kind, label, sentence] = promoted === null
    ? ["Promote", "promote", `Promote version ${version}`, `${from}. A better version can replace it automatically.`]
    : ["Roll back", "rollback", `Roll back to version ${version}`, `${from} until another version is promoted.`];
  const onclick = () => change(version, kind, [`${label}?`, sentence, name]);
  return h("button", { type: "button", class: "slim", "aria-label": label, onclick }, name);
}

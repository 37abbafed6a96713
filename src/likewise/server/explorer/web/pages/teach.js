// Questions to a person, and the progress of learning.

import { Answering, keyButton, randomHex } from "../answering.js";
import { ask, download, tell } from "../api.js";
import { choice, h, heading, notice, say, sayNews, tile, waiting } from "../dom.js";
import { goalOf } from "../goal.js";
import { heldOut, notYet } from "../learning.js";
import { drawn, past, said } from "../question.js";
import { count, percent } from "../words.js";

export const title = "Teach";
const FAST_POLL = 600, SLOW_POLL = 5_000; // milliseconds: while learning, and otherwise
const UNDECIDED = 0.55;
const FIRST = "Versions are evaluated once there are answers about twenty different items. The chart will appear here.";
const ASKS = [["triplet informative", "which is closer"], ["triplet random", "which is closer, at random"]];
const ASKS_PAIRS = [["pair informative", "whether two are the same"]];
const TRIPLET_KEYS = { ArrowLeft: "left", ArrowRight: "right", b: "both", n: "neither" };
const PAIR_KEYS = { y: "same", n: "different" };

export async function open({ root, summary, signal }) {
  root.append(heading(
    "Teach",
    "Which of two items is more like a third? No answer is wrong; your judgment counts.",
  ));
  if (!summary.learns || summary.n_items < 3) {
    root.append(notice(summary.why_not ?? "At least three items are needed."));
    return;
  }
  const page = new Teaching(summary, signal);
  root.append(page.element);
  addEventListener("keydown", (event) => page.pressed(event), { signal });
  await page.next();
  page.follow();
}

class Teaching extends Answering {
  constructor(summary, signal) {
    super("likewise-answers");
    this.summary = summary;
    this.signal = signal;
    [this.kind, this.strategy] = ASKS[0][0].split(" ");
    this.goal = h("div", {});
    const both = summary.takes_pairs
      ? [keyButton("Both ", "B", () => this.answer("both")), keyButton("Neither ", "N", () => this.answer("neither"))]
      : [];
    this.ofTriplets = both;
    const asks = choice("Ask", summary.takes_pairs ? [...ASKS, ...ASKS_PAIRS] : ASKS, ASKS[0][0], (name) => {
      [this.kind, this.strategy] = name.split(" ");
      if (pointed) document.activeElement?.blur(); // the next keys answer; on the keyboard they choose
      this.next();
    });
    let pointed = false;
    asks.addEventListener("pointerdown", () => { pointed = true; });
    asks.addEventListener("keydown", () => { pointed = false; });
    this.panel = h("div", {}, waiting());
    this.past = h("div", {});
    this.element = h("div", { class: "teach" },
      h("section", { "aria-label": "Question" },
        this.trouble,
        this.goal,
        this.stage,
        h("div", { class: "toolbar centered answers" }, both, this.skipButton, this.undoButton),
        this.told,
        h("div", { class: "toolbar centered" }, asks),
      ),
      h("aside", { class: "card", "aria-label": "Progress of learning" }, this.panel, this.past, exports(this)),
    );
    this.list();
  }

  /** Show another question; return whether it is shown. */
  next() {
    return this.guarded(async () => this.show(await this.another()));
  }

  another() {
    return ask(`/v1/teach/next?strategy=${this.strategy}&kind=${this.kind}`, { signal: this.signal });
  }

  show(question) {
    this.question = question;
    this.since = Date.now();
    this.keys = {}; // an answer that is sent twice counts once
    const focused = document.activeElement?.closest?.(".choice")?.dataset.side;
    this.stage.className = `stage ${question.query.kind}`;
    this.stage.replaceChildren(
      ...drawn(question, this.summary.label, (side) => this.answer(side)).filter(Boolean),
    );
    for (const button of this.ofTriplets) button.hidden = question.right === null;
    if (focused) this.stage.querySelector(`.choice.${focused} .pick`)?.focus({ preventScroll: true });
    say(said(question));
  }

  async answer(side) {
    if (!this.question) return;
    await this.guarded(async () => {
      const { question } = this;
      const name = (this.keys[side] ??= `teach-${randomHex(16)}`);
      await tell("/v1/feedback", { ...feedback(question, side), key: name }, { signal: this.signal });
      this.keep({ key: name, question, side, seconds: (Date.now() - this.since) / 1000 });
      this.tell(`Noted: ${side}. ${guess(question.confidence, side)}`);
      this.stage.querySelector(`.choice.${side}`)?.classList.add("chosen");
      this.show(await this.another());
    });
    this.follow();
  }

  withdraw({ key }) {
    return ask(`/v1/feedback/${encodeURIComponent(key)}`, { method: "DELETE", signal: this.signal });
  }

  repeat({ question }) {
    this.show(question);
  }

  wording({ side }) {
    return side;
  }

  actOf(key) {
    const isPair = this.question?.right === null;
    const side = (isPair ? PAIR_KEYS : TRIPLET_KEYS)[key];
    const allowed = side && (isPair || key.length > 1 || this.summary.takes_pairs);
    return allowed ? () => this.answer(side) : null;
  }

  /** Poll the progress of learning, often until everything is learned, then less often. */
  async follow() {
    clearTimeout(this.timer);
    const mine = (this.looks = (this.looks ?? 0) + 1);
    try {
      const paths = ["/v1/feedback", "/v1/explore/quality", "/v1/teach/goal"];
      const told = await Promise.all(paths.map((path) => ask(path, { signal: this.signal })));
      if (mine !== this.looks) return;
      const [state, quality, goal] = told;
      this.goal.replaceChildren(goalOf(goal, this.answers.map(({ seconds }) => seconds)));
      this.panel.replaceChildren(...panel(state, quality, goal));
      const isNew = quality.model !== this.seen;
      if (isNew && this.seen !== undefined) sayNews(`Version ${quality.model} is live now.`);
      if (isNew || goal.answers !== this.counted) dispatchEvent(new Event("likewise-changed"));
      [this.seen, this.counted] = [quality.model, goal.answers];
      this.timer = setTimeout(() => this.follow(), state.applied < state.acknowledged ? FAST_POLL : SLOW_POLL);
    } catch (error) {
      if (error.name === "AbortError" || mine !== this.looks) return;
      this.panel.replaceChildren(notice(error.message, { kind: "bad" }));
      this.timer = setTimeout(() => this.follow(), SLOW_POLL);
    }
  }

  list() {
    super.list();
    this.past.replaceChildren(...lately(this.answers, this.summary.label));
  }
}

function panel({ acknowledged, applied }, quality, { answers }) {
  const waits = acknowledged - applied, isBase = quality.model === quality.base_model;
  return [
    h("dl", { class: "tiles" },
      tile("Answers", count(answers), waits > 0 ? `${count(waits)} more to learn` : "all learned"),
      tile("Version", String(quality.model), isBase ? "the model file" : "learned, live now"),
    ),
    heldOut(quality, { note: null, asTable: false }) ?? notYet(FIRST),
  ];
}

function lately(answers, hidden) {
  if (!answers.length) return [];
  const lines = answers.slice(-4).reverse().map((answer) => past(answer, hidden));
  return [h("h2", {}, "Your last answers"), h("ol", { class: "past" }, lines)];
}

/** Return an answer as feedback: a triplet, or pairs. */
function feedback({ query, left, right }, side) {
  const pair = (item, same) => ({ query: query.id, item: item.id, same });
  if (right === null) return { pairs: [pair(left, side === "same")] };
  if (side === "both" || side === "neither") return { pairs: [left, right].map((item) => pair(item, side === "both")) };
  const [closer, farther] = side === "left" ? [left, right] : [right, left];
  return { triplets: [{ query: query.id, closer: closer.id, farther: farther.id }] };
}

function exports(page) {
  const refused = (error) => page.trouble.replaceChildren(notice(error.message, { kind: "bad" }));
  const save = (form, kind) =>
    download(`/v1/feedback/export?format=${form}&kind=${kind}`, `${kind}.${form}`).catch(refused);
  const button = (words, form, kind) => h("button",
    { type: "button", class: "slim", onclick: () => save(form, kind) },
    words,
  );
  return h("div", { class: "row" },
    h("span", { class: "quiet" }, "Export all answers:"),
    button("CSV", "csv", "triplets"),
    button("JSON lines", "jsonl", "triplets"),
    page.summary.takes_pairs && button("Pairs", "csv", "pairs"),
  );
}

/** Describe the model's own prediction. */
function guess(confidence, side) {
  if (confidence === null || !["left", "right"].includes(side)) return "";
  const sure = Math.max(confidence, 1 - confidence);
  if (sure < UNDECIDED) return "The model was undecided, so your answer is worth a lot.";
  const agreed = confidence > 0.5 === (side === "left");
  return `The model predicted ${agreed ? "the same" : "the other"} with ${percent(sure)} confidence.`;
}

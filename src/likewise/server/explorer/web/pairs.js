// Questions about pairs of records: the same, or not?

import { Answering, keyButton, randomHex } from "./answering.js";
import { ask, download, named, tell } from "./api.js";
import { lineChart } from "./charts.js";
import { marked, wordSet } from "./differences.js";
import { h, heading, notice, say, tile, waiting } from "./dom.js";
import { cell, count, percent, several } from "./words.js";

const WORDS = { true: "the same", false: "different" };

class Teaching extends Answering {
  constructor() {
    super("likewise-pairs");
    this.later = []; // questions that an undo has put off
    this.stage.classList.add("records");
    this.panel = h("div", {}, waiting());
    this.element = h("div", { class: "teach" },
      h("section", { "aria-label": "Question" },
        this.trouble,
        this.stage,
        h("div", { class: "toolbar centered answers" }, this.skipButton, this.undoButton),
        this.told,
      ),
      h("aside", { class: "card", "aria-label": "Progress of learning" },
        h("div", { class: "row" }, // above the panel, whose height changes
          h("span", { class: "quiet" }, "All answers, for --labels:"),
          h("button", { type: "button", class: "slim", onclick: () => this.save() }, "CSV"),
        ),
        this.panel,
      ),
    );
    this.list();
  }

  async next() {
    const isShown = await this.guarded(async () => this.show(await this.another()));
    await this.follow();
    return isShown;
  }

  show(question) {
    this.question = question.key ? question : null;
    if (!this.question) {
      this.stage.replaceChildren(notice("All candidates were asked about."));
      return;
    }
    const { left, right } = question;
    const button = (same, words, letter) => keyButton(words, letter, () => this.answer(same), "main");
    this.stage.replaceChildren(
      fields(left, right),
      h("div", { class: "row verdicts" }, button(true, "The same ", "Y"), button(false, "Different ", "N")),
    );
    say(`Are these the same? ${spoken(left)}. And: ${spoken(right)}.`);
  }

  async answer(same) {
    if (!this.question) return;
    await this.guarded(async () => {
      const { question } = this, { key, left, right } = question;
      const { probability } = await tell("/v1/pairs/answers", { key, left_id: left.id, right_id: right.id, same });
      this.keep({ question, same });
      this.tell(`Noted: ${WORDS[same]}. The matcher gave ${percent(probability)} for the same.`);
      this.question = null; // answered, whatever becomes of the next one
      this.show(await this.another());
    });
    await this.follow();
  }

  async another() {
    return this.later.pop() ?? ask("/v1/pairs/next");
  }

  withdraw({ question: { key } }) {
    return ask(`/v1/pairs/answers/${named(key)}`, { method: "DELETE" });
  }

  repeat({ question }) {
    if (this.question) this.later.push(this.question);
    this.show({ ...question, key: another(question.key) });
  }

  wording({ same }) {
    return WORDS[same];
  }

  /** Save the answers as a file; also while an answer is under way. */
  async save() {
    try {
      await download("/v1/pairs/export", "labels.csv");
    } catch (error) {
      this.trouble.replaceChildren(notice(error.message, { kind: "bad" }));
    }
  }

  actOf(key) {
    return { y: () => this.answer(true), n: () => this.answer(false) }[key];
  }

  async follow() {
    try {
      this.panel.replaceChildren(...panel(await ask("/v1/pairs/progress")));
    } catch (error) {
      this.panel.replaceChildren(notice(error.message, { kind: "bad" }));
    }
  }
}

/** Return two records, field under field; words that one of two cells has alone are marked. */
function fields(left, right) {
  const head = (side, { table, id }) => h("dd", { class: side }, `${table} ${id}`);
  return h("dl", { class: "fields" },
    h("div", { class: "heads" }, h("dt", {}, "Record"), head("left", left), head("right", right)),
    Object.keys(left.fields).map((name) => {
      const [one, other] = [left, right].map((record) => record.fields[name] ?? null);
      return h("div", {}, h("dt", {}, name), value("left", one, other), value("right", other, one));
    }),
  );
}

function value(side, own, other) {
  if (own === null) return h("dd", { class: `${side} missing` }, "missing");
  const known = wordSet(other === null ? null : cell(other));
  // A word is not different where there is nothing to compare it with.
  const isMarked = other === null ? () => false : (word) => !known.has(word);
  return h("dd", { class: side }, marked(cell(own), isMarked));
}

function spoken({ fields: values }) {
  return Object.entries(values).map(([name, one]) => `${name}: ${one === null ? "missing" : cell(one)}`).join(", ");
}

function panel({ answers, judging, waiting: n, judged, forecast, curve, sentences }) {
  return [
    h("dl", { class: "tiles" },
      tile("Answers", count(answers), n > 0 ? `${count(n)} more to learn` : "all learned"),
      tile("F1 forecast", percent(forecast.f1), "by the matcher itself"),
      ["precision", "recall"].map((name) => judgedTile(name, judged?.[name])),
    ),
    chart(curve) ?? h("p", { class: "empty" }, "The matcher learns after every ten questions. The chart will appear here."),
    h("p", { class: "quiet" },
      `${several(judging, "answer judges", "answers judge")}: every fifth question is drawn at random and never learned from.`,
    ),
    h("details", {}, h("summary", {}, "What the matcher says"), sentences.map((one) => h("p", {}, one))),
  ];
}

function judgedTile(name, judged) {
  const title = `Judged ${name}`;
  if (!judged || judged[0] === null) return tile(title, "–", "not known yet");
  const [found, low, high] = judged;
  return tile(title, percent(found), `from ${percent(low)} to ${percent(high)}`);
}

function chart(curve) {
  if (!curve.length) return null;
  const points = (name) => curve.filter((point) => point[name] !== null).map((point) => [point.answers, point[name]]);
  return lineChart({
    title: "F1 by answers",
    note: "Judged by answers that are never learned from, beside the forecast of the matcher.",
    across: "answers",
    form: percent,
    formX: count,
    range: [0, 1],
    lines: [
      { name: "judged", style: "after", points: points("judged") },
      { name: "forecast", style: "before", points: points("forecast") },
    ],
  });
}

/** Return a new key of the same kind: judging questions stay judging. */
function another(key) {
  return `${key.split("-")[0]}-${randomHex(12)}`;
}

const page = new Teaching();
const main = document.getElementById("main");
main.append(
  heading("The same, or not?", "Do these two records mean the same thing? Words that differ are marked."),
  page.element,
);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("keydown", (event) => page.pressed(event));
page.next();

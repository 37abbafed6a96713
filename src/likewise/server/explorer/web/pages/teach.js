// Questions to a person, and the progress of learning.

import { ask, download, tell } from "../api.js";
import { choice, h, heading, notice, say, tile, waiting } from "../dom.js";
import { heldOut, notYet } from "../learning.js";
import { compared, shown } from "../show.js";
import { count, percent } from "../words.js";

export const title = "Teach";
const FAST_POLL = 600, SLOW_POLL = 5_000; // milliseconds: while learning, and otherwise
const STRATEGIES = [["informative", "the most informative"], ["random", "any"]];
const UNDECIDED = 0.55;
const FIRST = "Versions are evaluated once there are answers about twenty different items. The chart will appear here.";
const KEPT_AS = "likewise-answers", MAX_KEPT = 20;

export async function open({ root, summary, signal }) {
  root.append(heading(
    "Teach",
    "Two items are shown with a third: which of them is more like it? " +
      "There are no wrong answers; your own judgment counts.",
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

class Teaching {
  constructor(summary, signal) {
    this.summary = summary;
    this.signal = signal;
    this.strategy = "informative";
    this.answers = kept();
    this.busy = false;
    this.stage = h("div", { class: "stage" }, waiting("Loading a question…"));
    this.told = h("p", { class: "told", role: "status" }, "Use the arrow keys, or press a button.");
    this.trouble = h("div", {});
    const button = (name, letter, onclick) => h("button", { type: "button", onclick },
      name,
      h("kbd", {}, letter),
    );
    this.skipButton = button("Skip ", "S", () => this.skip());
    this.undoButton = button("Undo ", "U", () => this.undo());
    const strategies = choice("Ask about", STRATEGIES, this.strategy, (name) => {
      this.strategy = name;
      this.next();
    });
    this.panel = h("div", {}, waiting());
    this.past = h("div", {});
    this.element = h("div", { class: "teach" },
      h("section", { "aria-label": "Question" },
        this.trouble,
        this.stage,
        h("div", { class: "toolbar centered" }, this.skipButton, this.undoButton, strategies),
        this.told,
      ),
      h("aside", { class: "card", "aria-label": "Progress of learning" }, this.panel, this.past, exports(this)),
    );
    this.list();
  }

  /** Show another question. */
  async next() {
    await this.guarded(async () => this.show(await this.another()));
  }

  another() {
    return ask(`/v1/teach/next?strategy=${this.strategy}`, { signal: this.signal });
  }

  show(question) {
    this.question = question;
    this.keys = { left: key(), right: key() }; // an answer that is sent twice counts once
    const { query, left, right } = question;
    const hidden = this.summary.label;
    const rows = query.kind === "row"; // rows are compared in one table
    const focused = document.activeElement?.closest?.(".choice")?.dataset.side;
    this.stage.className = `stage ${query.kind}`;
    this.stage.replaceChildren(
      h("div", { class: "query" }, rows ? compared(query, left, right, hidden) : shown(query, { hidden })),
      h("h2", {}, "Which is more like this?"),
      h("div", { class: "choices" },
        this.side("left", left, rows ? null : shown(left, { hidden })),
        this.side("right", right, rows ? null : shown(right, { hidden })),
      ),
    );
    if (focused) this.stage.querySelector(`.choice.${focused} button`).focus({ preventScroll: true });
    say(`Which is more like ${spoken(query)}? Left: ${spoken(left)}. Right: ${spoken(right)}.`);
  }

  side(name, item, face) {
    const arrow = h("kbd", { "aria-hidden": "true" }, name === "left" ? "←" : "→");
    const words = name === "left" ? [arrow, "Left"] : ["Right", arrow];
    const shortcut = name === "left" ? "ArrowLeft" : "ArrowRight";
    return h("div", { class: `choice ${name}`, "data-side": name },
      face,
      h("button", { type: "button", onclick: () => this.answer(name), "aria-keyshortcuts": shortcut },
        words,
        h("span", { class: "unseen" }, ` is more alike: ${item.id}`),
      ),
    );
  }

  async answer(side) {
    if (!this.question) return;
    await this.guarded(async () => {
      const { query, left, right, confidence } = this.question;
      const [closer, farther] = side === "left" ? [left, right] : [right, left];
      const name = this.keys[side];
      await tell(
        "/v1/feedback",
        { triplets: [{ query: query.id, closer: closer.id, farther: farther.id }], key: name },
        { signal: this.signal },
      );
      this.keep({ key: name, question: this.question, side });
      this.tell(`Noted: ${side}. ${guess(confidence, side)}`);
      this.stage.querySelector(`.choice.${side}`).classList.add("chosen");
      this.show(await this.another());
    });
    this.follow();
  }

  async skip() {
    await this.next();
    if (!this.trouble.firstChild) this.tell("Skipped. Here is another.");
  }

  /** Take the last answer back, and ask the same again. */
  async undo() {
    const last = this.answers.at(-1);
    if (!last) return this.tell("There is nothing to undo.");
    await this.guarded(async () => {
      try {
        await ask(
          `/v1/feedback/${encodeURIComponent(last.key)}`,
          { method: "DELETE", signal: this.signal },
        );
      } catch (error) {
        if (error.status === 404) this.forget(); // it was sent to another server at this address
        throw error;
      }
      this.forget();
      this.show(last.question);
      this.tell(`Undone: ${last.side}. Here is the question again.`);
    });
    this.follow();
  }

  pressed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (event.target.closest?.("input, select, textarea, dialog")) return;
    const act = {
      ArrowLeft: () => this.answer("left"),
      ArrowRight: () => this.answer("right"),
      s: () => this.skip(),
      u: () => this.undo(),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Run one action at a time; show an error and keep the question. */
  async guarded(act) {
    if (this.busy) return;
    this.busy = true;
    this.stage.setAttribute("aria-busy", "true");
    try {
      await act();
      this.trouble.replaceChildren();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.trouble.replaceChildren(notice(
        error.message,
        { kind: "bad", action: "Another question", act: () => this.next() },
      ));
      if (!this.question) this.stage.replaceChildren();
    } finally {
      this.busy = false;
      this.stage.removeAttribute("aria-busy");
    }
  }

  tell(sentence) {
    this.told.textContent = sentence;
  }

  /** Poll the progress of learning, often until everything is learned, then less often. */
  async follow() {
    clearTimeout(this.timer);
    const mine = (this.looks = (this.looks ?? 0) + 1);
    try {
      const paths = ["/v1/feedback", "/v1/explore/quality"];
      const [state, quality] = await Promise.all(paths.map((path) => ask(path, { signal: this.signal })));
      if (mine !== this.looks) return;
      this.panel.replaceChildren(...panel(state, quality));
      const isNew = quality.model !== this.seen;
      if (isNew && this.seen !== undefined) say(`Version ${quality.model} is live now.`);
      if (isNew || state.applied !== this.applied) dispatchEvent(new Event("likewise-changed"));
      [this.seen, this.applied] = [quality.model, state.applied];
      this.timer = setTimeout(() => this.follow(), state.applied < state.acknowledged ? FAST_POLL : SLOW_POLL);
    } catch (error) {
      if (error.name === "AbortError" || mine !== this.looks) return;
      this.panel.replaceChildren(notice(error.message, { kind: "bad" }));
      this.timer = setTimeout(() => this.follow(), SLOW_POLL);
    }
  }

  keep(answer) {
    this.answers = [...this.answers, answer].slice(-MAX_KEPT);
    this.list();
  }

  forget() {
    this.answers = this.answers.slice(0, -1);
    this.list();
  }

  list() {
    try {
      sessionStorage.setItem(KEPT_AS, JSON.stringify(this.answers));
    } catch {
      sessionStorage.removeItem(KEPT_AS); // images too large for the storage: undo then ends with the page
    }
    this.undoButton.disabled = this.answers.length === 0;
    this.past.replaceChildren(...past(this.answers, this.summary));
  }
}

function panel({ acknowledged, applied }, quality) {
  const waits = acknowledged - applied, isBase = quality.model === quality.base_model;
  return [
    h("dl", { class: "tiles" },
      tile("Answers", count(acknowledged), waits > 0 ? `${count(waits)} more to learn` : "all learned"),
      tile("Version", String(quality.model), isBase ? "the model file" : "learned, live now"),
    ),
    heldOut(quality, { note: null, asTable: false }) ?? notYet(FIRST),
  ];
}

function past(answers, summary) {
  if (!answers.length) return [];
  const part = (item, words) => h("span", { class: "part", title: String(item.id) },
    shown(item, { small: true, hidden: summary.label }),
    h("span", { class: "unseen" }, ` ${item.id}${words}`),
  );
  return [
    h("h2", {}, "Your last answers"),
    h("ol", { class: "past" },
      answers.slice(-4).reverse().map(({ question: { query, left, right }, side }) => {
        const [closer, farther] = side === "left" ? [left, right] : [right, left];
        return h("li", {},
          part(query, " is more like"),
          h("span", { "aria-hidden": "true" }, "≈"),
          part(closer, ", less like"),
          h("span", { "aria-hidden": "true" }, "≉"),
          part(farther, "."),
        );
    })),
  ];
}

function exports(page) {
  const refused = (error) => page.trouble.replaceChildren(notice(error.message, { kind: "bad" }));
  const save = (form) => download(`/v1/feedback/export?format=${form}`, `triplets.${form}`).catch(refused);
  return h("div", { class: "row" },
    h("span", { class: "quiet" }, "Export all answers:"),
    h("button", { type: "button", class: "slim", onclick: () => save("csv") }, "CSV"),
    h("button", { type: "button", class: "slim", onclick: () => save("jsonl") }, "JSON lines"),
  );
}

/** Describe the model's own prediction. */
function guess(confidence, side) {
  const sure = Math.max(confidence, 1 - confidence);
  if (sure < UNDECIDED) return "The model was undecided, so your answer is worth a lot.";
  const agreed = confidence > 0.5 === (side === "left");
  return `The model predicted ${agreed ? "the same" : "the other"} with ${percent(sure)} confidence.`;
}

function spoken(item) {
  return item.kind === "text" ? item.text : `${item.kind === "image" ? "image" : "row"} ${item.id}`;
}

function key() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID requires https except on localhost
  return `teach-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Return the answers of this tab, which can be undone even after a reload. */
function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT_AS)) ?? [];
  } catch {
    return [];
  }
}

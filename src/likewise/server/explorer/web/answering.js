// A page that asks questions: one action at a time, keys, and answers that can be undone.

import { h, notice, waiting } from "./dom.js";

const MAX_KEPT = 20;

/** The base of such pages, which have `next`, `follow`, `actOf`, `withdraw`, `repeat` and `wording`. */
export class Answering {
  /** The answers of this tab are stored under a name: they can be undone even after a reload. */
  constructor(storedAs) {
    this.storedAs = storedAs;
    this.answers = stored(storedAs);
    this.busy = false;
    this.trouble = h("div", {});
    this.stage = h("div", { class: "stage" }, waiting("Loading a question…"));
    this.told = h("p", { class: "told", role: "status" }, "Press a key that is shown, or a button.");
    this.skipButton = keyButton("Skip ", "S", () => this.skip());
    this.undoButton = keyButton("Undo ", "U", () => this.undo());
  }

  async skip() {
    if (await this.next()) this.tell("Skipped. Here is another.");
  }

  /** Take the last answer back, and ask the same again. */
  async undo() {
    const last = this.answers.at(-1);
    if (!last) return this.tell("There is nothing to undo.");
    await this.guarded(async () => {
      try {
        await this.withdraw(last);
      } catch (error) {
        if (error.status === 404) this.forget(); // it was sent to another server at this address
        throw error;
      }
      this.forget();
      this.repeat(last);
      this.tell(`Undone: ${this.wording(last)}. Here is the question again.`);
    });
    await this.follow();
  }

  pressed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (event.target.closest?.("input, select, textarea, dialog")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const act = this.actOf(key) ?? { s: () => this.skip(), u: () => this.undo() }[key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Run one action at a time; show an error and keep the question. Return whether it succeeded. */
  async guarded(act) {
    if (this.busy) return false;
    this.busy = true;
    this.stage.setAttribute("aria-busy", "true");
    try {
      await act();
      this.trouble.replaceChildren();
      return true;
    } catch (error) {
      if (error.name === "AbortError") return false;
      this.trouble.replaceChildren(notice(
        error.message,
        { kind: "bad", action: "Another question", act: () => this.next() },
      ));
      if (this.question === undefined) this.stage.replaceChildren(); // the first did not come
      return false;
    } finally {
      this.busy = false;
      this.stage.removeAttribute("aria-busy");
    }
  }

  tell(sentence) {
    this.told.textContent = sentence;
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
      sessionStorage.setItem(this.storedAs, JSON.stringify(this.answers));
    } catch {
      sessionStorage.removeItem(this.storedAs); // images too large for the storage: undo then ends with the page
    }
    this.undoButton.disabled = this.answers.length === 0;
  }
}

/** Return a button that shows its key. */
export function keyButton(words, key, onclick, style = null) {
  return h("button",
    { type: "button", class: style, onclick, "aria-keyshortcuts": key },
    words,
    h("kbd", {}, key),
  );
}

/** Return random bytes as hexadecimal digits. */
export function randomHex(size) {
  const bytes = crypto.getRandomValues(new Uint8Array(size)); // randomUUID requires https except on localhost
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function stored(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name)) ?? [];
  } catch {
    return [];
  }
}

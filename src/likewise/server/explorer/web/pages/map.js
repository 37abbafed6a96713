// Items in the plane before and after learning.

import { ask, named } from "../api.js";
import { choice, h, heading, notice, say, waiting } from "../dom.js";
import { labelOf, shown } from "../show.js";
import { draw, kindsOf } from "../points.js";
import { several } from "../words.js";

export const title = "Map";
const POLL_INTERVAL = 500, DURATION = 1_100; // milliseconds: of polling, and of the animation
const MARGIN = 24; // pixels around the points
const NEAR = 14; // pixels within which the pointer selects a point

export async function open({ root, settings, summary, signal }) {
  root.append(heading(
    "Map",
    "Similar items are close together. Move the slider to see what learning has changed.",
  ));
  const by = summary.columns.includes(settings.get("by")) ? settings.get("by") : summary.label;
  const place = h("div", {}, waiting("Computing the map…"));
  root.append(place);
  const asked = `/v1/explore/map${by === null ? "" : `?by=${encodeURIComponent(by)}`}`;
  let told = await ask(asked, { signal });
  while (told.status === "computing") {
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
    told = await ask(asked, { signal });
  }
  if (!told.points.length) {
    place.replaceChildren(notice("There is no map: it needs at least three items, and a model whose queries are items."));
    return;
  }
  const chart = new Chart(told, by, summary, signal);
  place.replaceChildren(chart.element);
  chart.start();
}

class Chart {
  constructor(told, by, summary, signal) {
    this.points = told.points;
    this.kinds = kindsOf(told.points);
    const both = told.points.flatMap(({ before, after }) => [before, after]);
    this.spread = [0, 1].map((place) => spread(both.map((point) => point[place])));
    this.summary = summary;
    this.signal = signal;
    this.share = 1;
    this.active = -1;
    this.only = null;
    const left = told.n_items - told.points.length;
    this.canvas = h("canvas", {
      class: "plane", tabindex: "0", role: "application",
      "aria-roledescription": "map", "aria-describedby": "map-help",
      "aria-label": `Map of ${several(told.points.length, "item")}`,
      onpointermove: (event) => this.point(event),
      onpointerleave: () => this.mark(-1),
      onpointerdown: (event) => this.touch(event),
      onclick: () => this.go(),
      onkeydown: (event) => this.pressed(event),
    });
    this.slider = h("input", {
      type: "range",
      id: "way",
      min: 0,
      max: 100,
      value: 100,
      "aria-valuetext": "after",
      oninput: () => { this.stop(); this.to(this.slider.value / 100); },
    });
    this.card = h("div", { class: "card over", "aria-live": "polite" });
    const columns = summary.columns.map((name) => [name, name]);
    this.element = h("div", { class: "mapped" },
      h("div", { class: "toolbar" },
        h("div", { class: "way" },
          h("button", { type: "button", class: "slim", onclick: () => this.play(0) }, "Before"),
          h("label", { class: "unseen", for: "way" }, "From before to after"), this.slider,
          h("button", { type: "button", class: "slim", onclick: () => this.play(1) }, "After")),
        columns.length ? choice(
          "Color by",
          columns,
          by,
          (name) => { location.hash = `#/map?by=${encodeURIComponent(name)}`; },
        ) : null),
      h("div", { class: "frame" }, this.canvas, this.card),
      h("p", { class: "quiet", id: "map-help" },
        "Point at an item to see it, and click to see its neighbors. ",
        "On the keyboard, the arrows move from item to item, and Enter opens one.",
        left > 0 ? ` ${several(this.points.length, "item")} of ${told.n_items} were selected at random.` : ""),
      this.legend(by));
    this.watch = new ResizeObserver(() => this.size());
    this.shades = matchMedia("(prefers-color-scheme: dark)");
  }

  start() {
    this.watch.observe(this.canvas);
    this.shades.addEventListener("change", () => this.draw(), { signal: this.signal });
    this.signal.addEventListener("abort", () => { this.watch.disconnect(); this.stop(); });
    this.size();
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!this.still) { this.to(0); this.pause = setTimeout(() => this.play(1), 600); }
  }

  legend(by) {
    if (this.kinds.scale) return h("p", { class: "quiet" },
      `Color: ${by}, from ${this.kinds.scale[0]} (pale) to ${this.kinds.scale[1]} (deep).`,
    );
    if (this.kinds.names.length < 2) return null;
    return h("ul", { class: "legend kinds", "aria-label": `Colors and shapes: ${by}` },
      this.kinds.names.map((name, place) => {
        const key = h("canvas", { width: 28, height: 28, "aria-hidden": "true", "data-kind": place });
        const button = h("button",
          { type: "button", "aria-pressed": "false", onclick: () => this.alone(place) },
          key,
          name,
        );
        return h("li", {}, button);
    }));
  }

  /** Highlight one kind, or all again. */
  alone(place) {
    this.only = this.only === place ? null : place;
    for (const [at, button] of this.element.querySelectorAll(".kinds button").entries()) {
      button.setAttribute("aria-pressed", String(at === this.only));
    }
    this.draw();
  }

  size() {
    const { width, height } = this.canvas.getBoundingClientRect();
    const scale = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
    this.wide = width;
    this.high = height;
    this.draw();
  }

  /** Where a point is drawn now. */
  at({ before, after }) {
    const [x, y] = this.spread;
    const scale = Math.min(
      (this.wide - 2 * MARGIN) / (x[1] - x[0] || 1),
      (this.high - 2 * MARGIN) / (y[1] - y[0] || 1),
    );
    const mix = (place) => before[place] + (after[place] - before[place]) * this.share;
    return [
      this.wide / 2 + scale * (mix(0) - (x[0] + x[1]) / 2),
      this.high / 2 - scale * (mix(1) - (y[0] + y[1]) / 2),
    ];
  }

  draw() {
    draw(
      this.canvas,
      this.points.map((point) => this.at(point)),
      this.kinds,
      { active: this.active, only: this.only },
    );
    for (const key of this.element.querySelectorAll("canvas[data-kind]")) {
      draw(key, [[7, 7]], { ...this.kinds, of: [Number(key.dataset.kind)] }, { scale: 2 });
    }
  }

  to(share) {
    this.share = share;
    this.slider.value = Math.round(100 * share);
    this.slider.setAttribute(
      "aria-valuetext",
      share === 0 ? "before" : share === 1 ? "after" : `${Math.round(100 * share)} % of the way`,
    );
    this.draw();
  }

  /** Go all the way, smoothly unless motion is unwelcome. */
  play(end) {
    this.stop();
    if (this.still) return this.to(end);
    const from = this.share, began = performance.now();
    const step = (now) => {
      const passed = Math.min(1, (now - began) / DURATION);
      const eased = passed < 0.5 ? 4 * passed ** 3 : 1 - (2 - 2 * passed) ** 3 / 2;
      this.to(from + (end - from) * eased);
      if (passed < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  stop() {
    clearTimeout(this.pause);
    cancelAnimationFrame(this.frame);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1, least = NEAR ** 2;
    for (const [place, point] of this.points.entries()) {
      const [a, b] = this.at(point);
      const far = (a - x) ** 2 + (b - y) ** 2;
      const hidden = this.only !== null && this.kinds.of[place] !== this.only;
      if (far < least && !hidden) [best, least] = [place, far];
    }
    this.mark(best);
  }

  /** With a finger the first touch shows an item, and the second opens it. */
  touch(event) {
    const before = this.active;
    this.point(event);
    this.isFirstTouch = event.pointerType === "touch" && this.active !== before;
  }

  async mark(place) {
    if (place === this.active) return;
    this.active = place;
    this.canvas.classList.toggle("meant", place >= 0);
    this.draw();
    if (place < 0) return this.card.replaceChildren();
    const { id } = this.points[place];
    try {
      const item = await this.known(id);
      if (this.active !== place) return;
      this.card.replaceChildren(
        h("div", { class: `face ${item.kind}` },
          shown(item, { small: item.kind !== "image", hidden: this.summary.label }),
        ),
        h("p", { class: "who" }, h("b", {}, String(item.id)), " ", labelOf(item)),
      );
      this.beside(this.at(this.points[place]));
    } catch (error) {
      if (error.name !== "AbortError") say(error.message);
    }
  }

  beside([x, y]) {
    const { offsetWidth: wide, offsetHeight: high } = this.card;
    this.card.style.left = `${Math.max(6, x + 16 + wide > this.wide ? x - wide - 16 : x + 16)}px`;
    this.card.style.top = `${Math.max(6, Math.min(y - high / 2, this.high - high - 6))}px`;
  }

  known(id) {
    this.items ??= new Map();
    if (!this.items.has(id)) {
      const asked = ask(`/v1/items/${named(id)}`, { signal: this.signal });
      asked.catch(() => this.items.delete(id));
      this.items.set(id, asked);
    }
    return this.items.get(id);
  }

  go() {
    if (this.active < 0 || this.isFirstTouch) return;
    location.hash = `#/neighbors/${named(this.points[this.active].id)}`;
  }

  pressed(event) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    this.isFirstTouch = false;
    if (event.key === "Enter") return this.go();
    if (event.key === "Escape") return this.mark(-1);
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    this.mark(this.next(way));
  }

  /** Return the point that lies best in a direction, from the one that is marked or the middle. */
  next([right, down]) {
    const [x, y] = this.active >= 0 ? this.at(this.points[this.active]) : [this.wide / 2, this.high / 2];
    let best = this.active, least = Infinity;
    for (const [place, point] of this.points.entries()) {
      const [a, b] = this.at(point);
      const along = (a - x) * right + (b - y) * down, across = Math.abs((a - x) * down + (b - y) * right);
      const far = along + 2 * across;
      if (place !== this.active && along > 0.01 && far < least) [best, least] = [place, far];
    }
    return best;
  }
}

function spread(values) {
  return [Math.min(...values), Math.max(...values)];
}

// Items in the plane before and after learning.

import { ask, named } from "../api.js";
import { choice, h, heading, notice, say, waiting } from "../dom.js";
import { watch } from "../gestures.js";
import { picker } from "../picker.js";
import { Plane } from "../plane.js";
import { draw, kindsOf } from "../points.js";
import { selectionOf } from "../selection.js";
import { labelOf, shown } from "../show.js";
import { several } from "../words.js";

export const title = "Map";
const POLL_INTERVAL = 500, DURATION = 1_100; // milliseconds: of polling, and of the animation
const STEP = 1.6; // of a zoom by button or key
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

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
    this.kinds = kindsOf(told.points, told.numeric);
    this.plane = new Plane(told.points);
    this.summary = summary;
    this.signal = signal;
    this.active = -1;
    this.only = null;
    this.selected = new Set();
    const left = told.n_items - told.points.length;
    this.canvas = h("canvas", {
      class: "plane", tabindex: "0", role: "application",
      "aria-roledescription": "map", "aria-describedby": "map-help",
      "aria-label": `Map of ${several(told.points.length, "item")}`,
      onkeydown: (event) => this.pressed(event),
    });
    this.slider = h("input", {
      type: "range", id: "way", min: 0, max: 100, value: 100, "aria-valuetext": "after",
      oninput: () => { this.stop(); this.to(this.slider.value / 100); },
    });
    this.card = h("div", { class: "card over", "aria-live": "polite" });
    this.box = h("div", { class: "box-drawn", hidden: true });
    this.selection = h("div", {});
    this.trouble = h("div", {});
    this.selecting = h("button",
      { type: "button", class: "slim", "aria-pressed": "false", onclick: () => this.select(!this.selects) },
      "Select",
    );
    const columns = summary.columns.map((name) => [name, name]);
    const button = (words, name, act) => h("button",
      { type: "button", class: "slim", "aria-label": name, title: name, onclick: act },
      words,
    );
    this.element = h("div", { class: "mapped" },
      h("div", { class: "toolbar" },
        picker({ hidden: summary.label, signal, chosen: (id) => this.find(id) }),
        columns.length ? choice(
          "Color by",
          columns,
          by,
          (name) => { location.hash = `#/map?by=${encodeURIComponent(name)}`; },
        ) : null),
      h("div", { class: "toolbar" },
        h("div", { class: "way" },
          button("Before", "Before learning", () => this.play(0)),
          h("label", { class: "unseen", for: "way" }, "From before to after"), this.slider,
          button("After", "After learning", () => this.play(1))),
        h("div", { class: "row zooms", role: "group", "aria-label": "View" },
          button("+", "Zoom in", () => this.zoom(STEP)),
          button("−", "Zoom out", () => this.zoom(1 / STEP)),
          button("Reset", "Show the whole map", () => this.reset()),
          this.selecting,
      )),
      this.trouble,
      h("div", { class: "frame" }, this.canvas, this.box, this.card),
      this.selection,
      h("p", { class: "quiet", id: "map-help" },
        "Point at an item to see it, and click to see its neighbors. The wheel or two fingers zoom, and a drag moves. ",
        "Drag a box with Select or Shift to select items. On the keyboard, arrows move from item to item, Enter opens ",
        "one, Space selects it, and + − 0 zoom.",
        left > 0 ? ` ${several(this.points.length, "item")} of ${told.n_items} were selected at random.` : ""),
      this.legend(by));
    this.watch = new ResizeObserver(() => this.size());
    this.shades = matchMedia("(prefers-color-scheme: dark)");
    this.isHidden = (place) => this.only !== null && this.kinds.of[place] !== this.only;
  }

  start() {
    this.watch.observe(this.canvas);
    this.shades.addEventListener("change", () => this.draw(), { signal: this.signal });
    this.signal.addEventListener("abort", () => { this.watch.disconnect(); this.stop(); });
    watch(this.canvas, {
      zoom: (factor, at) => this.zoom(factor, at),
      pan: (right, down) => { this.plane.pan(right, down); this.moved(); },
      box: (from, to, isDone) => this.drag(from, to, isDone),
      hover: (at) => this.mark(at === null ? -1 : this.plane.nearest(at, this.isHidden)),
      tap: (at, isTouch) => this.tap(at, isTouch),
      selects: () => this.selects,
    });
    this.size();
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!this.still) { this.to(0); this.pause = setTimeout(() => this.play(1), 600); }
  }

  legend(by) {
    if (this.kinds.scale) return h("p", { class: "quiet" },
      `Color: ${by}, from ${this.kinds.scale[0]} (pale) to ${this.kinds.scale[1]} (deep).`,
    );
    if (this.kinds.names.length < 2) return by === null ? null : h("p", { class: "quiet" },
      `The values of ${by} differ from item to item, so they have no colors.`,
    );
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
    this.plane.resize(width, height);
    this.draw();
  }

  draw() {
    draw(
      this.canvas,
      this.points.map((point) => this.plane.at(point)),
      this.kinds,
      { active: this.active, only: this.only, selected: this.selected, zoomed: this.plane.zoomed },
    );
    for (const key of this.element.querySelectorAll("canvas[data-kind]")) {
      draw(key, [[7, 7]], { ...this.kinds, of: [Number(key.dataset.kind)] }, { scale: 2 });
    }
  }

  zoom(factor, at) {
    const changed = this.plane.zoom(factor, at);
    if (changed) this.moved();
    return changed;
  }

  reset() {
    this.plane.reset();
    this.moved();
  }

  /** Draw a view that has moved; while all is in view, a finger scrolls the page. */
  moved() {
    this.canvas.classList.toggle("zoomed", this.plane.zoomed > 1);
    this.canvas.dataset.zoom = this.plane.zoomed.toFixed(2);
    this.draw();
    if (this.active >= 0) this.beside(this.plane.at(this.points[this.active]));
  }

  to(share) {
    this.plane.share = share;
    this.slider.value = Math.round(100 * share);
    this.slider.setAttribute(
      "aria-valuetext",
      share === 0 ? "before" : share === 1 ? "after" : `${Math.round(100 * share)} % of the way`,
    );
    this.moved();
  }

  /** Go all the way, smoothly unless motion is unwelcome. */
  play(end) {
    this.stop();
    if (this.still) return this.to(end);
    const from = this.plane.share, began = performance.now();
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

  /** With a finger the first touch shows an item, and the second opens it. */
  tap(at, isTouch) {
    const before = this.active;
    this.mark(this.plane.nearest(at, this.isHidden));
    if (!isTouch || this.active === before) this.go();
  }

  /** Show an item that was searched for. */
  find(id) {
    const place = this.points.findIndex((point) => String(point.id) === String(id));
    if (place < 0) {
      const act = () => { location.hash = `#/neighbors/${named(id)}`; };
      this.trouble.replaceChildren(notice(
        `${id} is not among the ${several(this.points.length, "item")} of the map.`,
        { action: "See its neighbors", act },
      ));
      return;
    }
    this.trouble.replaceChildren();
    this.plane.center(this.points[place]);
    this.moved();
    this.canvas.focus({ preventScroll: true });
    this.mark(place);
  }

  /** Let a drag draw a box, or move again. */
  select(on) {
    this.selects = on;
    this.selecting.setAttribute("aria-pressed", String(on));
    this.canvas.classList.toggle("selecting", on);
  }

  drag(from, to, isDone) {
    this.mark(-1);
    const [left, top] = [0, 1].map((axis) => Math.min(from[axis], to[axis]));
    Object.assign(this.box.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${Math.abs(to[0] - from[0])}px`,
      height: `${Math.abs(to[1] - from[1])}px`,
    });
    this.box.hidden = isDone;
    if (isDone) this.choose(new Set(this.plane.within(from, to, this.isHidden)));
  }

  /** Show which items are selected. */
  choose(places) {
    this.selected = places;
    this.draw();
    const of = [...places].map((place) => ({ id: this.points[place].id, kind: this.kinds.names[this.kinds.of[place]] }));
    this.selection.replaceChildren(...selectionOf(of, {
      known: (id) => this.known(id),
      hidden: this.summary.label,
      clear: () => this.choose(new Set()),
    }));
    say(places.size ? `${several(places.size, "item")} selected.` : "Nothing is selected.");
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
      this.beside(this.plane.at(this.points[place]));
    } catch (error) {
      if (error.name !== "AbortError") say(error.message);
    }
  }

  beside([x, y]) {
    const { offsetWidth: wide, offsetHeight: high } = this.card, { wide: whole, high: tall } = this.plane;
    this.card.style.left = `${Math.max(6, x + 16 + wide > whole ? x - wide - 16 : x + 16)}px`;
    this.card.style.top = `${Math.max(6, Math.min(y - high / 2, tall - high - 6))}px`;
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
    if (this.active >= 0) location.hash = `#/neighbors/${named(this.points[this.active].id)}`;
  }

  pressed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const acts = {
      Enter: () => this.go(),
      Escape: () => (this.active >= 0 ? this.mark(-1) : this.choose(new Set())),
      " ": () => this.toggle(),
      "+": () => this.zoom(STEP),
      "=": () => this.zoom(STEP),
      "-": () => this.zoom(1 / STEP),
      0: () => this.reset(),
    };
    const way = WAYS[event.key];
    const act = way ? () => this.step(way) : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Go to the next item in a direction, and keep it in view. */
  step(way) {
    const place = this.plane.next(this.active, way);
    if (place < 0) return;
    const [x, y] = this.plane.at(this.points[place]);
    if (!this.plane.sees([x, y])) this.plane.center(this.points[place], this.plane.zoomed);
    this.mark(place);
    this.moved();
  }

  /** Add the active item to the selection, or remove it. */
  toggle() {
    if (this.active < 0) return;
    const places = new Set(this.selected);
    if (!places.delete(this.active)) places.add(this.active);
    this.choose(places);
  }
}

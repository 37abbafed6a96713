// The plane of a map: where points are drawn, under a zoom, and which of them is meant.

const MARGIN = 24; // pixels around the points
const NEAR = 14; // pixels within which a position means a point
const MAX_ZOOM = 40;

export class Plane {
  /** Points are {before: [x, y], after: [x, y]}; `share` is 0 before and 1 after learning. */
  constructor(points) {
    this.points = points;
    const both = points.flatMap(({ before, after }) => [before, after]);
    this.spread = [0, 1].map((axis) => {
      const values = both.map((point) => point[axis]);
      return [Math.min(...values), Math.max(...values)];
    });
    this.share = 1;
    [this.wide, this.high] = [1, 1];
    this.reset();
  }

  resize(wide, high) {
    [this.wide, this.high] = [wide, high];
  }

  reset() {
    this.zoomed = 1;
    this.shift = [0, 0]; // pixels
  }

  /** Return where a point is drawn now. */
  at({ before, after }) {
    const [x, y] = this.spread;
    const scale = this.zoomed * Math.min(
      (this.wide - 2 * MARGIN) / (x[1] - x[0] || 1),
      (this.high - 2 * MARGIN) / (y[1] - y[0] || 1),
    );
    const mix = (axis) => before[axis] + (after[axis] - before[axis]) * this.share;
    return [
      this.wide / 2 + this.shift[0] + scale * (mix(0) - (x[0] + x[1]) / 2),
      this.high / 2 + this.shift[1] - scale * (mix(1) - (y[0] + y[1]) / 2),
    ];
  }

  /** Zoom by a factor around a position, which stays where it is; return whether anything changed. */
  zoom(factor, [x, y] = [this.wide / 2, this.high / 2]) {
    const zoomed = Math.min(MAX_ZOOM, Math.max(1, this.zoomed * factor));
    const applied = zoomed / this.zoomed;
    if (applied === 1) return false;
    const from = [x - this.wide / 2, y - this.high / 2];
    this.shift = this.shift.map((shift, axis) => from[axis] + (shift - from[axis]) * applied);
    this.zoomed = zoomed;
    if (zoomed === 1) this.shift = [0, 0];
    else this.pan(0, 0);
    return true;
  }

  /** Move the view, as far as some of the points stay in it. */
  pan(right, down) {
    const reach = [this.wide, this.high].map((size) => (size / 2) * (this.zoomed - 1) + size / 4);
    const limit = (value, most) => Math.min(most, Math.max(-most, value));
    if (this.zoomed === 1) return;
    this.shift = [limit(this.shift[0] + right, reach[0]), limit(this.shift[1] + down, reach[1])];
  }

  /** Bring a point to the middle. */
  center(point, zoom = 4) {
    this.zoom(Math.max(zoom, this.zoomed) / this.zoomed);
    const [x, y] = this.at(point);
    this.pan(this.wide / 2 - x, this.high / 2 - y);
  }

  /** Return the point at a position, of those that are not hidden; -1 if there is none. */
  nearest([x, y], isHidden) {
    let best = -1, least = NEAR ** 2;
    for (const [place, point] of this.points.entries()) {
      const [a, b] = this.at(point);
      const far = (a - x) ** 2 + (b - y) ** 2;
      if (far < least && !isHidden(place)) [best, least] = [place, far];
    }
    return best;
  }

  /** Return the points in a box between two positions. */
  within([x, y], [a, b], isHidden) {
    const [left, right] = [Math.min(x, a), Math.max(x, a)], [top, bottom] = [Math.min(y, b), Math.max(y, b)];
    return this.points.flatMap((point, place) => {
      const [across, down] = this.at(point);
      const inside = across >= left && across <= right && down >= top && down <= bottom;
      return inside && !isHidden(place) ? [place] : [];
    });
  }

  /** Return the point that lies best in a direction, from a point or the middle. */
  next(from, [right, down]) {
    const [x, y] = from >= 0 ? this.at(this.points[from]) : [this.wide / 2, this.high / 2];
    let best = from, least = Infinity;
    for (const [place, point] of this.points.entries()) {
      const [a, b] = this.at(point);
      const along = (a - x) * right + (b - y) * down, across = Math.abs((a - x) * down + (b - y) * right);
      const far = along + 2 * across;
      if (place !== from && along > 0.01 && far < least) [best, least] = [place, far];
    }
    return best;
  }

  /** Tell whether a position is seen. */
  sees([x, y]) {
    return x >= 0 && y >= 0 && x <= this.wide && y <= this.high;
  }
}

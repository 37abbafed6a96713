// Points of a map: each kind has a color and a shape.

const COLORS = 10, MAX_KINDS = 10;
const SHAPES = [disc, square, triangle, diamond, cross];

/** Return the kinds of points by their labels: names if there are few, a scale for numbers. */
export function kindsOf(points) {
  const labels = points.map((point) => point.label);
  const counts = new Map();
  for (const label of labels) if (label !== null) counts.set(label, (counts.get(label) ?? 0) + 1);
  const numbers = labels.map((label) => (label === null || label.trim() === "" ? NaN : Number(label)));
  const allNumbers = numbers.every((value, place) => labels[place] === null || Number.isFinite(value));
  if (counts.size > MAX_KINDS && allNumbers) {
    const there = numbers.filter(Number.isFinite);
    const [low, high] = [Math.min(...there), Math.max(...there)];
    return {
      scale: [low, high],
      names: [],
      depth: numbers.map((value) => (Number.isFinite(value) ? (value - low) / (high - low || 1) : 0)),
      of: labels.map(() => 0),
    };
  }
  const ordered = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  const few = ordered.length > MAX_KINDS;
  const inOrder = (a, b) => a.localeCompare(b, "en", { numeric: true });
  const names = (few ? ordered.slice(0, MAX_KINDS - 1) : ordered).sort(inOrder);
  const rest = few || labels.includes(null) ? [...names, few ? "all others" : "none"] : names;
  return {
    scale: null,
    names: rest,
    of: labels.map((label) => (names.includes(label) ? names.indexOf(label) : rest.length - 1)),
  };
}

/** Draw points; the active one is larger, and kinds other than `only` are faint. */
export function draw(
  canvas,
  places,
  kinds,
  { active = -1, only = null, scale = devicePixelRatio || 1 } = {},
) {
  const brush = canvas.getContext("2d");
  const shades = getComputedStyle(document.documentElement);
  const color = (name) => shades.getPropertyValue(name).trim();
  const colors = Array.from({ length: COLORS }, (_, place) => color(`--k${place}`));
  const edge = color("--card"), ink = color("--ink");
  const size = places.length > 400 ? 4 : 5;
  brush.setTransform(scale, 0, 0, scale, 0, 0);
  brush.clearRect(0, 0, canvas.width, canvas.height);
  for (const [place, [x, y]] of places.entries()) {
    const kind = kinds.of[place];
    const depth = kinds.scale ? 0.15 + 0.85 * kinds.depth[place] : 0.8;
    brush.globalAlpha = only !== null && kind !== only ? 0.1 : depth;
    brush.fillStyle = colors[kinds.scale ? 0 : kind % COLORS];
    brush.strokeStyle = edge;
    brush.lineWidth = 0.75;
    brush.beginPath();
    SHAPES[kinds.scale ? 0 : kind % SHAPES.length](brush, x, y, size);
    brush.fill();
    brush.stroke();
  }
  brush.globalAlpha = 1;
  if (active < 0) return;
  const [x, y] = places[active];
  brush.strokeStyle = ink;
  brush.lineWidth = 2;
  brush.beginPath();
  disc(brush, x, y, size + 4);
  brush.stroke();
}

function disc(brush, x, y, size) {
  brush.arc(x, y, size, 0, 2 * Math.PI);
}

function square(brush, x, y, size) {
  brush.rect(x - 0.88 * size, y - 0.88 * size, 1.76 * size, 1.76 * size);
}

function triangle(brush, x, y, size) {
  outline(
    brush,
    [[x, y - 1.15 * size], [x + 1.1 * size, y + 0.8 * size], [x - 1.1 * size, y + 0.8 * size]],
  );
}

function diamond(brush, x, y, size) {
  outline(brush, [[x, y - 1.2 * size], [x + 1.2 * size, y], [x, y + 1.2 * size], [x - 1.2 * size, y]]);
}

function cross(brush, x, y, size) {
  const [far, near] = [1.1 * size, 0.42 * size];
  outline(
    brush,
    [
      [-near, -far],
      [near, -far],
      [near, -near],
      [far, -near],
      [far, near],
      [near, near],
      [near, far],
      [-near, far],
      [-near, near],
      [-far, near],
      [-far, -near],
      [-near, -near],
    ].map(([a, b]) => [x + a, y + b]),
  );
}

function outline(brush, corners) {
  for (const [place, corner] of corners.entries()) place ? brush.lineTo(...corner) : brush.moveTo(...corner);
  brush.closePath();
}

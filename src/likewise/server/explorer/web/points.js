// Points of a map: each kind has a color and a shape.

const COLORS = 10, MAX_KINDS = 20, FEW = 10;
const SHAPES = [disc, square, triangle, diamond, cross];

/** Return the kinds of points by their labels: names, or a scale for many different numbers. */
export function kindsOf(points, areNumbers) {
  const labels = points.map((point) => point.label);
  const counts = new Map();
  for (const label of labels) if (label !== null) counts.set(label, (counts.get(label) ?? 0) + 1);
  if (areNumbers && counts.size > FEW) {
    const numbers = labels.map((label) => (label === null ? NaN : Number(label)));
    const there = numbers.filter(Number.isFinite);
    const [low, high] = [Math.min(...there), Math.max(...there)];
    return {
      scale: [low, high],
      names: [],
      depth: numbers.map((value) => (Number.isFinite(value) ? (value - low) / (high - low || 1) : 0)),
      of: labels.map(() => 0),
    };
  }
  // Colors of labels that hardly repeat would say nothing.
  if (counts.size > MAX_KINDS && 2 * counts.size > labels.length) return { scale: null, names: [], of: labels.map(() => 0) };
  const ordered = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  const many = ordered.length > MAX_KINDS;
  const inOrder = (a, b) => a.localeCompare(b, "en", { numeric: true });
  const names = (many ? ordered.slice(0, MAX_KINDS - 1) : ordered).sort(inOrder);
  const all = many || labels.includes(null) ? [...names, many ? "all others" : "none"] : names;
  const place = new Map(names.map((name, at) => [name, at]));
  return { scale: null, names: all, of: labels.map((label) => place.get(label) ?? all.length - 1) };
}

/** Return the shape of a kind: kinds of the same color have different ones. */
function shapeOf(kind) {
  return SHAPES[(kind + Math.floor(kind / COLORS)) % SHAPES.length];
}

/** Draw points; the active one is ringed, and those not selected or of kinds other than `only` are faint. */
export function draw(
  canvas,
  places,
  kinds,
  { active = -1, only = null, selected = new Set(), zoomed = 1, scale = devicePixelRatio || 1 } = {},
) {
  const brush = canvas.getContext("2d");
  const shades = getComputedStyle(document.documentElement);
  const color = (name) => shades.getPropertyValue(name).trim();
  const colors = Array.from({ length: COLORS }, (_, place) => color(`--k${place}`));
  const edge = color("--card"), ink = color("--ink");
  const size = (places.length > 400 ? 4 : 5) * Math.min(2, zoomed ** 0.3);
  brush.setTransform(scale, 0, 0, scale, 0, 0);
  brush.clearRect(0, 0, canvas.width, canvas.height);
  for (const [place, [x, y]] of places.entries()) {
    const kind = kinds.of[place];
    const depth = kinds.scale ? 0.15 + 0.85 * kinds.depth[place] : 0.8;
    const isFaint = (only !== null && kind !== only) || (selected.size > 0 && !selected.has(place));
    brush.globalAlpha = isFaint ? 0.1 : depth;
    brush.fillStyle = colors[kinds.scale ? 0 : kind % COLORS];
    brush.strokeStyle = edge;
    brush.lineWidth = 0.75;
    brush.beginPath();
    shapeOf(kinds.scale ? 0 : kind)(brush, x, y, size);
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

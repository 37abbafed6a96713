// Gestures on a map: wheel, pinch, drag, box and tap.

const WHEEL = 0.0016, LINE = 30; // zoom by a pixel of the wheel, and pixels of its line
const STILL = 6; // pixels that a tap may move

/**
 * Watch an element. `on` has the methods zoom(factor, at), pan(right, down), box(from, to, isDone),
 * hover(at) and tap(at, isTouch); zoom returns whether it changed anything, and selects() whether a
 * drag draws a box.
 */
export function watch(element, on) {
  const pointers = new Map();
  let from = null, drags = false, draws = false;

  const at = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  element.addEventListener("wheel", (event) => {
    const pixels = event.deltaMode === 1 ? LINE * event.deltaY : event.deltaY;
    // At the end of the zoom the page scrolls.
    if (on.zoom(Math.exp(-WHEEL * pixels * (event.ctrlKey ? 4 : 1)), at(event))) event.preventDefault();
  }, { passive: false });

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, at(event));
    element.setPointerCapture(event.pointerId);
    if (pointers.size > 1 && draws) on.box(from, from, true);
    [from, drags, draws] = [at(event), pointers.size > 1, pointers.size === 1 && (event.shiftKey || on.selects())];
  });

  element.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId), now = at(event);
    if (!before) return on.hover(now);
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]);
      const middle = [0, 1].map((axis) => (now[axis] + other[axis]) / 2);
      on.zoom(apart(now) / (apart(before) || 1), middle);
      on.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    } else {
      drags ||= Math.hypot(now[0] - from[0], now[1] - from[1]) > STILL;
      if (drags && draws) on.box(from, now, false);
      else if (drags) on.pan(now[0] - before[0], now[1] - before[1]);
    }
    pointers.set(event.pointerId, now);
  });

  element.addEventListener("pointerup", (event) => {
    if (!pointers.delete(event.pointerId)) return;
    if (drags && draws) on.box(from, at(event), true);
    else if (!drags) on.tap(at(event), event.pointerType === "touch");
    if (!pointers.size) draws = false;
  });

  element.addEventListener("pointercancel", (event) => {
    pointers.delete(event.pointerId);
    if (draws) on.box(from, from, true);
    draws = false;
  });
  element.addEventListener("pointerleave", (event) => pointers.has(event.pointerId) || on.hover(null));
}

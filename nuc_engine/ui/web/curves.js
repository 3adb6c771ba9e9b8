// Functions of muscles: what the engine computes, and small pictures of it with the point it is at.

import { h, setAttribute, setText, svg } from "./dom.js";
import { number } from "./format.js";

const POINTS = 64;
const [WIDE, HIGH, EDGE] = [120, 64, 4];

/** How many numbers a function has, and how it is computed of x. @type {Record<string, [number, (p: number[], x: number) => number]>} */
const TYPES = {
  constant: [1, ([p]) => p],
  linear: [2, ([slope, at], x) => slope * x + at],
  parabolic: [3, ([a, x0, c], x) => ((x - x0) * (x - x0) + 4 * a * c) / (4 * a)],
  hyperbolic: [3, ([a, x0, c], x) => a / (x - x0) + c],
};

/**
 * Return a function of these numbers; null for one that was added, or with other numbers than it needs.
 * @param {string} type
 * @param {number[]} numbers
 * @returns {((x: number) => number) | null}
 */
export function functionOf(type, numbers) {
  if (!Object.hasOwn(TYPES, type)) return null;
  const [count, compute] = TYPES[type];
  return numbers.length === count ? (x) => compute(numbers, x) : null;
}

/** @param {string} type */
export function isDrawn(type) {
  return Object.hasOwn(TYPES, type);
}

/**
 * A small picture of a function.
 * @param {string} title
 * @param {string} argument
 * @param {number} from
 * @param {number} to
 */
export function curve(title, argument, from, to) {
  const path = svg("path", { class: "curve-line" });
  const zero = svg("path", { class: "curve-axis" });
  const point = svg("circle", { class: "curve-point", r: 3 });
  const text = h("figcaption", {}, title);
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "curve-picture live", "aria-hidden": "true" }, zero, path, point);
  /** @type {((x: number) => number) | null} */
  let compute = null;
  let [low, high] = [0, 1];
  let drawn = "";
  const across = (/** @type {number} */ x) => EDGE + (Math.max(0, Math.min(1, (x - from) / (to - from))) * (WIDE - 2 * EDGE));
  const up = (/** @type {number} */ y) => HIGH - EDGE - Math.max(0, Math.min(1, (y - low) / (high - low))) * (HIGH - 2 * EDGE);
  return {
    element: h("figure", { class: "curve" }, picture, text),
    /**
     * @param {string} type
     * @param {number[]} numbers
     * @param {number} x where it is now
     */
    draw(type, numbers, x) {
      const key = `${type} ${numbers}`;
      if (key !== drawn) {
        drawn = key;
        compute = functionOf(type, numbers);
        const xs = Array.from({ length: POINTS + 1 }, (_, k) => from + (k / POINTS) * (to - from));
        const ys = xs.map((at) => compute?.(at) ?? NaN).filter(Number.isFinite);
        low = Math.min(0, ...ys);
        high = Math.max(low + 1e-9, 0, ...ys);
        // Where a hyperbola has its pole there is no value.
        const line = xs.map((at) => [at, compute?.(at) ?? NaN]).filter(([, y]) => Number.isFinite(y));
        setAttribute(path, "d", line.map(([at, y], k) => `${k ? "L" : "M"}${across(at).toFixed(1)} ${up(y).toFixed(1)}`).join(""));
        setAttribute(zero, "d", `M${EDGE} ${up(0).toFixed(1)}H${WIDE - EDGE}`);
      }
      const y = compute && Number.isFinite(x) ? compute(x) : NaN;
      point.style.display = Number.isFinite(y) ? "" : "none";
      if (Number.isFinite(y)) {
        setAttribute(point, "cx", across(x).toFixed(1));
        setAttribute(point, "cy", up(y).toFixed(1));
      }
      setText(text, `${title} ${number(y, 2)} at ${argument} ${number(x, 2)}`);
    },
  };
}

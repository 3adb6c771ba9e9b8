// A diagram, built element by element of what the server tells of it, and lit by what is true. Nothing in it is read as
// markup: tags and attributes that are not listed here stay out. What its parts are called stands in docs/diagrams.md.

import { fill, h, setAttribute, setText, svg } from "./dom.js";
import { parseRule, truth } from "./rules.js";

/** An element: tag, attributes, then texts and elements in it. @typedef {[string, Record<string, string>, ...(string | any[])[]]} Tree */
/** What the server draws: thresholds are those it was drawn with. @typedef {{svg: Tree, thresholds: Record<string, number>}} Drawing */
/** @typedef {import("./rules.js").ValueOf} ValueOf */
/** Records as they lie in memory. @typedef {{begin: number, end: number, at: (column: number, record: number) => number}} Records */
/** @typedef {{element: SVGElement, xName: string, yName: string, x: number[][], y: number[][], bottom: number,
 *   where: [string, [number | null, number | null]][], paths: SVGPathElement[], newest: SVGElement}} Plane */

const TAGS = new Set(["svg", "defs", "g", "rect", "circle", "path", "polyline", "text", "title", "pattern", "clipPath"]);
const ATTRIBUTES = new Set(
  "x y width height rx cx cy r d points fill fill-opacity stroke stroke-width stroke-dasharray stroke-linejoin font-size font-weight font-family text-anchor transform viewBox patternUnits clip-path id aria-hidden".split(" "),
);
const DATA = /^data-[a-z-]+$/;
const OWN = /^url\(#([\w-]+)\)$/;
const MOST_DEEP = 12;
/** How long a reading stays on the planes, and in how many shades it fades. */
const DOTS_S = 4;
const SHADES = 5;
/** Readings on a plane at most. */
const MOST_DOTS = 400;

/**
 * Build an element; null for one that is none of a diagram.
 * @param {Tree} tree
 * @param {number} [depth]
 * @returns {SVGElement | null}
 */
export function built([tag, attributes, ...inside], depth = 0) {
  // The whole drawing's title would stand wherever the pointer rests.
  if (!TAGS.has(tag) || depth > MOST_DEEP || (tag === "title" && depth < 2)) return null;
  const element = svg(/** @type {"g"} */ (tag), {});
  for (const [name, value] of Object.entries(attributes)) {
    const kept = allowed(name, String(value));
    if (kept !== null) element.setAttribute(name, kept);
  }
  for (const each of inside) {
    if (typeof each === "string") element.append(each);
    else {
      const child = built(/** @type {Tree} */ (each), depth + 1);
      if (child) element.append(child);
    }
  }
  return element;
}

/**
 * Return the value an attribute may have; null where it may not be at all.
 * @param {string} name
 * @param {string} value
 */
export function allowed(name, value) {
  if (DATA.test(name)) return value;
  if (!ATTRIBUTES.has(name)) return null;
  // Names of patterns are this drawing's: nothing else on the page is called so.
  if (name === "id") return `diagram-${value}`;
  if (!/url|[:\\]/i.test(value)) return value;
  const [, own] = OWN.exec(value) ?? [];
  return own === undefined ? null : `url(#diagram-${own})`;
}

/**
 * Return where a value is drawn, or, turned round, which value is drawn there. Beyond the ends it stays at the end.
 * @param {number[][]} scale pairs of value and place
 * @param {number} from
 * @param {0 | 1} [of] 0: from a value to its place, 1: from a place to its value
 */
export function placed(scale, from, of = 0) {
  const to = 1 - of;
  const rises = scale[scale.length - 1][of] >= scale[0][of];
  const pairs = rises ? scale : scale.toReversed();
  if (!(from > pairs[0][of])) return pairs[0][to];
  for (let k = 1; k < pairs.length; k += 1) {
    const [a, b] = [pairs[k - 1], pairs[k]];
    if (from <= b[of]) return b[of] === a[of] ? b[to] : a[to] + ((from - a[of]) / (b[of] - a[of])) * (b[to] - a[to]);
  }
  return pairs[pairs.length - 1][to];
}

/**
 * Return what operands are where 1 and 0 stand for what no sensor decides.
 * @param {ValueOf} value
 * @returns {ValueOf}
 */
export function withConstants(value) {
  return (name) => (name === "1" ? 1 : name === "0" ? 0 : value(name));
}

export class DiagramView {
  /** @param {string} [className] */
  constructor(className = "") {
    this.place = h("div", { class: "diagram-paper", tabindex: 0, role: "region", "aria-label": "diagram" });
    this.note = h("p", { class: "diagram-note note", role: "status" });
    this.element = h("div", { class: `diagram ${className}`.trim() }, this.note, this.place);
    /** @type {SVGSVGElement | null} */
    this.svg = null;
    /** @type {{element: SVGElement, tree: import("./rules.js").Tree | null}[]} */
    this.conditions = [];
    /** @type {{element: SVGElement, code: number}[]} */
    this.actions = [];
    /** @type {{element: SVGElement, codes: number[]}[]} */
    this.states = [];
    /** @type {Plane[]} */
    this.planes = [];
    this.state = "";
  }

  /** @param {Drawing} drawing */
  show({ svg: tree }) {
    const root = built(tree);
    if (!(root instanceof SVGSVGElement)) return this.fail("what the server tells is no diagram");
    const title = /** @type {any[]} */ (tree.slice(2).find((each) => Array.isArray(each) && each[0] === "title"))?.[2];
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", typeof title === "string" ? title : "diagram");
    // In pixels it is as wide as it is drawn: narrower screens move it.
    this.svg = root;
    this.place.setAttribute("aria-label", root.getAttribute("aria-label") ?? "diagram");
    const parts = (/** @type {string} */ kind) => /** @type {SVGElement[]} */ ([...root.querySelectorAll(`[data-part="${kind}"]`)]);
    this.conditions = /** @type {SVGElement[]} */ ([...root.querySelectorAll("[data-when]")]).map((element) => ({ element, tree: parseRule(element.dataset.when) }));
    this.actions = /** @type {SVGElement[]} */ ([...root.querySelectorAll('[data-part="action"], [data-part="region"]')]).map((element) => ({ element, code: Number(element.dataset.action) }));
    this.states = parts("state").map((element) => ({ element, codes: (element.dataset.state ?? "").split(" ").map(Number) }));
    this.planes = parts("plane").map(planeOf);
    for (const kind of ["event", "comparison", "sense", "action"]) for (const element of parts(kind)) lamp(element);
    for (const element of parts("action")) now(element, false);
    for (const element of parts("state")) now(element, true);
    this.state = "";
    setText(this.note, "");
    fill(this.place, root);
  }

  /** There is no diagram, and why. @param {string} why */
  fail(why) {
    this.svg = null;
    [this.conditions, this.actions, this.states, this.planes] = [[], [], [], []];
    fill(this.place);
    setText(this.note, why);
  }

  /**
   * Light what is true.
   * @param {ValueOf} value of sensors and thresholds, by name
   * @param {ReadonlySet<number>} codes actions that joints are in
   */
  light(value, codes) {
    const of = withConstants(value);
    for (const { element, tree } of this.conditions) {
      const is = truth(tree, of);
      setAttribute(element, "data-true", is === null ? "unknown" : is ? "yes" : "no");
    }
    for (const { element, code } of this.actions) setAttribute(element, "data-now", codes.has(code) ? "yes" : "no");
    let state = "";
    for (const { element, codes: own } of this.states) {
      const here = own.every((code) => codes.has(code));
      setAttribute(element, "data-now", here ? "yes" : "no");
      if (here) state = element.dataset.state ?? "";
    }
    if (state && this.state && state !== this.state) {
      for (const passage of this.svg?.querySelectorAll('[data-part="passage"]') ?? []) {
        if (passage.getAttribute("data-begin") === this.state && passage.getAttribute("data-end") === state) flash(passage);
      }
    }
    this.state = state;
  }

  /**
   * An action began: it flashes, and so does what let it begin.
   * @param {number} code
   * @param {readonly string[]} [held] comparisons of its rule that were true
   */
  fired(code, held = []) {
    for (const { element, code: own } of this.actions) if (own === code) flash(element);
    for (const { element } of this.conditions) {
      const { part, action, when = "" } = element.dataset;
      if ((part === "comparison" && Number(action) === code && held.includes(when)) || (part === "event" && when.split(" | ").some((each) => held.includes(each)))) flash(element);
    }
  }

  /**
   * Draw the last readings of sensors on the planes, the older the paler.
   * @param {Records | null} ring
   * @param {Map<string, number>} index columns by name
   * @param {number} time its column of time, s
   * @param {number} last the newest record that counts
   */
  dots(ring, index, time, last) {
    for (const plane of this.planes) {
      const [x, y] = [index.get(plane.xName), index.get(plane.yName)];
      const found = ring && last >= ring.begin && x !== undefined && (!plane.yName || y !== undefined);
      const lines = found ? pathsOf(plane, ring, index, time, last) : [];
      plane.paths.forEach((path, k) => setAttribute(path, "d", lines[k] ?? ""));
      const at = found && fits(plane, ring, index, last) ? pointOf(plane, ring, index, last) : null;
      setAttribute(plane.newest, "visibility", at ? null : "hidden");
      if (at) setAttribute(plane.newest, "transform", `translate(${at[0].toFixed(1)} ${at[1].toFixed(1)})`);
    }
  }
}

/** @param {Element} element */
function flash(element) {
  // Twice as many names as one: an animation begins again when it has another.
  setAttribute(element, "data-flash", element.getAttribute("data-flash") === "a" ? "b" : "a");
}

/** The box of a part: its first rectangle. @param {SVGElement} element */
function boxOf(element) {
  const box = element.querySelector("rect");
  return ["x", "y", "width", "height"].map((name) => Number(box?.getAttribute(name) ?? 0));
}

/** A lamp on the edge of a part's box, full while it is true. @param {SVGElement} element */
function lamp(element) {
  const [x, y, , height] = boxOf(element);
  element.append(svg("circle", { class: "lamp-sign", cx: x, cy: y + Math.min(height / 2, 20), r: 4.5 }));
}

/**
 * Words that say of a part that it is now.
 * @param {SVGElement} element
 * @param {boolean} above
 */
function now(element, above) {
  const [x, y, width] = boxOf(element);
  const at = above ? { x: x + width / 2, y: y - 5, "text-anchor": "middle" } : { x: x + width - 8, y: y + 15, "text-anchor": "end" };
  element.append(svg("text", { class: "now-sign", "font-size": 11, "font-weight": "bold", ...at }, document.createTextNode("\u25b6 now")));
}

/** @param {SVGElement} element @returns {Plane} */
function planeOf(element) {
  const { xSense = "", ySense = "", xScale = "[]", yScale = "[]", y = "0", height = "0", where = "{}" } = element.dataset;
  const paths = Array.from({ length: SHADES }, (_, k) => svg("path", { class: "dots", d: "", opacity: (0.15 + (0.75 * k) / (SHADES - 1)).toFixed(2) }));
  const newest = svg("g", { class: "dot-now", visibility: "hidden" }, svg("circle", { r: 6 }), svg("circle", { r: 1.6 }));
  element.append(...paths, newest);
  return { element, xName: xSense, yName: ySense, x: JSON.parse(xScale), y: JSON.parse(yScale), bottom: Number(y) + Number(height), where: Object.entries(JSON.parse(where)), paths, newest };
}

/**
 * Whether a record lies on this plane: of sensors that are no axis of it, several planes show several ranges.
 * @param {Plane} plane
 * @param {Records} ring
 * @param {Map<string, number>} index
 * @param {number} record
 */
function fits({ where }, ring, index, record) {
  return where.every(([name, [low, high]]) => {
    const column = index.get(name);
    const value = column === undefined ? NaN : ring.at(column, record);
    return value >= (low ?? -Infinity) && value <= (high ?? Infinity);
  });
}

/**
 * @param {Plane} plane
 * @param {Records} ring
 * @param {Map<string, number>} index
 * @param {number} record
 * @returns {[number, number] | null}
 */
function pointOf({ xName, yName, x, y, bottom }, ring, index, record) {
  const [a, b] = [xName, yName].map((name) => (name ? ring.at(/** @type {number} */ (index.get(name)), record) : 0));
  if (Number.isNaN(a) || Number.isNaN(b)) return null;
  return [placed(x, a), yName ? placed(y, b) : bottom - 8];
}

/**
 * Return the readings as points of paths, the oldest shade first.
 * @param {Plane} plane
 * @param {Records} ring
 * @param {Map<string, number>} index
 * @param {number} time
 * @param {number} last
 */
function pathsOf(plane, ring, index, time, last) {
  const lines = Array.from({ length: SHADES }, () => "");
  const end = ring.at(time, last);
  let first = last;
  while (first > ring.begin && end - ring.at(time, first - 1) <= DOTS_S) first -= 1;
  const stride = Math.max(1, Math.ceil((last - first) / MOST_DOTS));
  // By the record's own number: which ones are drawn does not change from picture to picture.
  for (let record = Math.ceil(first / stride) * stride; record < last; record += stride) {
    const point = fits(plane, ring, index, record) ? pointOf(plane, ring, index, record) : null;
    const shade = Math.min(SHADES - 1, Math.floor((1 - (end - ring.at(time, record)) / DOTS_S) * SHADES));
    if (point && shade >= 0) lines[shade] += `M${point[0].toFixed(1)} ${point[1].toFixed(1)}h0`;
  }
  return lines;
}

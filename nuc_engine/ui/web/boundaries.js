// Boundaries of regions: each is a threshold's slider that lies in the diagram, for pointer and keys.

import { h, setAttribute, setHelp, svg } from "./dom.js";
import { kept, snapped, stepOf } from "./edit.js";
import { placed } from "./diagram.js";
import { shortUnit } from "./format.js";

/** @typedef {import("./edit.js").Knob} Knob */
/** @typedef {import("./knob.js").Slider} Slider */
/** @typedef {{knob: Knob, slider: Slider}} Threshold */
/** @typedef {{key: string, element: SVGElement, threshold: Threshold, axis: string, at: number, scale: number[][]}} Boundary */

const HIT = 14;
const GRIP = 11;

/**
 * Return the value of a boundary that was dragged to `value`: whole steps, within what is valid.
 * @param {Knob} knob
 * @param {number} value
 * @param {boolean} fine
 */
export function steppedTo(knob, value, fine) {
  if (!Number.isNaN(knob.low)) return snapped(knob, value, fine);
  const step = stepOf(knob, fine);
  return kept(knob, Number((Math.round(value / step) * step).toPrecision(12)));
}

export class Boundaries {
  /**
   * @param {import("./diagram.js").DiagramView} view
   * @param {() => Map<string, Threshold>} thresholds sliders by name
   */
  constructor(view, thresholds) {
    this.view = view;
    this.thresholds = thresholds;
    /** @type {Boundary[]} */
    this.all = [];
    /** @type {{boundary: Boundary, pointer: number, from: [number, number], perPixel: number, value: number} | null} */
    this.drag = null;
    this.ghost = svg("g", { class: "boundary-ghost", "aria-hidden": "true", visibility: "hidden" }, svg("path", { d: "" }), svg("text", { "font-size": 12 }));
    const { place } = view;
    place.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) place.addEventListener(kind, (event) => this.end(/** @type {PointerEvent} */ (event)));
  }

  /** Whether a boundary is held. */
  get held() {
    return this.drag !== null;
  }

  /** The diagram was drawn anew: what had the focus has it again. @param {string} focused */
  take(focused) {
    this.all = [];
    const thresholds = this.thresholds();
    const seen = new Map();
    for (const [k, { element: plane, x, y }] of this.view.planes.entries()) {
      for (const element of /** @type {NodeListOf<SVGElement>} */ (plane.querySelectorAll('[data-part="boundary"]'))) {
        const { parameter = "", axis = "x", at = "0" } = element.dataset;
        const threshold = thresholds.get(parameter);
        if (!threshold) continue;
        const place = `${k} ${axis} ${at}`;
        const order = seen.get(place) ?? 0;
        seen.set(place, order + 1);
        const boundary = { key: `${k} ${axis} ${parameter}`, element, threshold, axis, at: Number(at), scale: axis === "x" ? x : y };
        this.all.push(boundary);
        this.hold(boundary, order);
      }
      // What is read of the sensors lies below what is held.
      plane.append(...plane.querySelectorAll('[data-part="boundary"]'));
    }
    this.view.svg?.append(this.ghost);
    this.all.find(({ key }) => key === focused)?.element.focus({ preventScroll: true });
  }

  /** What has the focus; "" where none has. */
  get focused() {
    return this.all.find(({ element }) => element === document.activeElement)?.key ?? "";
  }

  /**
   * @param {Boundary} boundary
   * @param {number} order of those that lie at one place: their grips stand beside each other
   */
  hold(boundary, order) {
    const { element, axis, threshold } = boundary;
    const { knob, slider } = threshold;
    const [x1, y1, x2, y2] = (element.querySelector("path")?.getAttribute("d") ?? "").match(/-?[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    const along = order * (GRIP + 4);
    const grip = axis === "x" ? { x: x1 - GRIP / 2, y: Math.min(y1, y2) + 2 + along } : { x: Math.max(x1, x2) - GRIP - 2 - along, y: y1 - GRIP / 2 };
    element.append(svg("path", { class: "boundary-hit", d: `M${x1} ${y1}L${x2} ${y2}`, "stroke-width": HIT, stroke: "transparent", fill: "none" }), svg("rect", { class: "boundary-grip", ...grip, width: GRIP, height: GRIP, rx: 2.5 }));
    for (const [name, value] of Object.entries({ tabindex: "0", role: "slider", "aria-label": `boundary ${knob.label}`, "aria-orientation": axis === "x" ? "horizontal" : "vertical" })) element.setAttribute(name, value);
    if (!Number.isNaN(knob.low)) for (const [name, value] of [["aria-valuemin", knob.low], ["aria-valuemax", knob.high]]) element.setAttribute(String(name), String(value));
    element.addEventListener("keydown", (event) => {
      if (!slider.closed) slider.key(/** @type {KeyboardEvent} */ (event));
    });
    element.addEventListener("pointerdown", (event) => this.start(boundary, /** @type {PointerEvent} */ (event)));
    this.tellOne(boundary);
  }

  /**
   * @param {Boundary} boundary
   * @param {PointerEvent} event
   */
  start(boundary, event) {
    const matrix = this.view.svg?.getScreenCTM();
    if (event.button !== 0 || this.drag || boundary.threshold.slider.closed || !matrix?.a) return;
    event.preventDefault();
    boundary.element.focus({ preventScroll: true });
    // The boundary itself is drawn anew on the way: what holds the pointer stays.
    this.view.place.setPointerCapture(event.pointerId);
    this.drag = { boundary, pointer: event.pointerId, from: [event.clientX, event.clientY], perPixel: 1 / matrix.a, value: boundary.threshold.slider.value };
    boundary.threshold.slider.begin();
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { drag } = this;
    if (!drag || event.pointerId !== drag.pointer) return;
    const { boundary, from, perPixel } = drag;
    const moved = (boundary.axis === "x" ? event.clientX - from[0] : event.clientY - from[1]) * perPixel;
    // Where it is let down again it is what it was, whatever the picture's own steps are.
    const { knob, slider } = boundary.threshold;
    slider.turn(Math.abs(moved) < 0.5 ? drag.value : steppedTo(knob, placed(boundary.scale, boundary.at + moved, 1), event.shiftKey));
    this.tellGhost(drag.boundary);
  }

  /** @param {PointerEvent} event */
  end(event) {
    if (!this.drag || event.pointerId !== this.drag.pointer) return;
    const { slider } = this.drag.boundary.threshold;
    this.drag = null;
    setAttribute(this.ghost, "visibility", "hidden");
    slider.settle();
  }

  /** Where the boundary goes, on the scale it was taken hold of. @param {Boundary} boundary */
  tellGhost({ element, axis, scale, threshold: { knob, slider } }) {
    const [line, text] = this.ghost.children;
    const [x1, y1, x2, y2] = (element.querySelector("path")?.getAttribute("d") ?? "").match(/-?[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    const at = placed(scale, slider.value);
    setAttribute(line, "d", axis === "x" ? `M${at} ${y1}V${y2}` : `M${x1} ${at}H${x2}`);
    setAttribute(text, "x", String(axis === "x" ? at + 6 : Math.max(x1, x2) - 8));
    setAttribute(text, "y", String(axis === "x" ? Math.min(y1, y2) + 32 : at - 6));
    setAttribute(text, "text-anchor", axis === "x" ? "start" : "end");
    text.textContent = `${knob.label} ${slider.value} ${shortUnit(knob.unit)}`.trim();
    setAttribute(this.ghost, "visibility", null);
  }

  /** Tell what each stands at, and whether it can be moved. */
  tell() {
    if (this.drag?.boundary.threshold.slider.closed) {
      const { pointer } = this.drag;
      this.drag = null;
      setAttribute(this.ghost, "visibility", "hidden");
      if (this.view.place.hasPointerCapture(pointer)) this.view.place.releasePointerCapture(pointer);
    }
    for (const boundary of this.all) this.tellOne(boundary);
  }

  /** @param {Boundary} boundary */
  tellOne({ element, threshold: { knob, slider } }) {
    const { closed, value } = slider;
    setAttribute(element, "aria-disabled", closed ? "true" : null);
    setAttribute(element, "aria-valuenow", Number.isNaN(value) ? null : String(value));
    setAttribute(element, "aria-valuetext", `${value} ${knob.unit}`.trim());
    const how = closed ? "take control to move it" : "drag it, or use the arrow keys; with Shift a tenth of a step";
    setHelp(element, `${knob.label} = ${value} ${shortUnit(knob.unit)}: ${how}. ${knob.hdso.description ?? knob.hdso.fullname ?? ""}`);
  }
}

/**
 * A list of thresholds as sliders.
 * @param {Threshold[]} thresholds
 * @param {string[]} absent those that lie on no axis
 */
export function thresholdList(thresholds, absent) {
  if (!thresholds.length) return [h("p", { class: "note" }, "The rules shown have no threshold that can be moved.")];
  return [...thresholds.map(({ slider }) => slider.element), absent.length ? h("p", { class: "note" }, `Beyond what their sensors can be, so on no axis: ${absent.join(", ")}.`) : null].filter((each) => each !== null);
}

// Diagrams of a bout, at the moment that is looked at: with the values its script and its edits had made then.

import { DiagramView } from "./diagram.js";
import { h, setAttribute, setText } from "./dom.js";
import { chainOf } from "./model.js";
import { KINDS } from "./pages/diagrams.js";
import { Refused } from "./session.js";

/** @typedef {import("./diagram.js").Drawing & {from_s: number, until_s: number | null}} Recorded */
/** @typedef {import("./diagram.js").Records} Records */

const ACTUAL = ["actual", "Global states, as recorded"];
/** So often a diagram is lit, at most: while a bout is played, this is beside leg and traces. */
const LIT_MS = 33;
const AGAIN_MS = 1000;

/**
 * @param {import("./session.js").Api} api
 * @param {string} id the bout's
 * @param {import("./model.js").Model} model
 * @param {AbortSignal} signal
 */
export function boutDiagram(api, id, model, signal) {
  const view = new DiagramView();
  const joints = chainOf(model).filter(({ states }) => states.length);
  const kind = h("select", { "aria-label": "which diagram", help: "what the diagram shows" }, Object.entries(KINDS).map(([value, [title]]) => h("option", { value }, title)), h("option", { value: ACTUAL[0] }, ACTUAL[1]));
  const joint = h("select", { "aria-label": "regions of which joint", help: "the joint whose regions are drawn", hidden: true }, joints.map(({ name }) => h("option", { value: name }, name)), h("option", { value: "" }, "all joints"));
  const said = h("p", { class: "diagram-now" });
  const element = h("details", { class: "panel bout-diagram" }, h("summary", { help: "a diagram with the values and the actions of the time above" }, "Diagram at this moment"), h("div", { class: "toolbar" }, kind, joint), said, view.element);
  /** What is drawn, and for which stretch of time. @type {{key: string, from: number, until: number, thresholds: Record<string, number>} | null} */
  let drawn = null;
  let drawing = false;
  let againAt = -Infinity;
  let litAt = -Infinity;
  /** @type {Set<number>} */
  let codes = new Set();
  const key = () => JSON.stringify([kind.value, kind.value === "regions" ? joint.value : ""]);
  const wrong = () => {
    drawn = null;
    againAt = -Infinity;
    joint.hidden = kind.value !== "regions";
    view.fail("drawing \u2026");
  };
  kind.addEventListener("change", wrong);
  joint.addEventListener("change", wrong);

  /** @param {number} time */
  const draw = async (time) => {
    if (drawing || performance.now() < againAt) return;
    const of = key();
    const words = new URLSearchParams({ what: kind.value, at: String(time), joint: kind.value === "regions" ? joint.value : "" });
    drawing = true;
    setAttribute(view.element, "aria-busy", "true");
    try {
      /** @type {Recorded} */
      const answer = await api.json(`bouts/${id}/diagram?${words}`, { signal });
      if (of !== key()) return;
      view.show(answer);
      drawn = { key: of, from: answer.from_s, until: answer.until_s ?? Infinity, thresholds: answer.thresholds };
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refused)) throw error;
      againAt = performance.now() + AGAIN_MS;
      view.fail(`this diagram can not be drawn: ${error.message}`);
    } finally {
      drawing = false;
      setAttribute(view.element, "aria-busy", null);
    }
  };
  return {
    element,
    /**
     * Show what was at a time; `ring` is null where its records are not here yet.
     * @param {number} now
     * @param {number} time
     * @param {Records | null} ring
     * @param {Map<string, number>} index
     * @param {number} timeColumn
     * @param {number} record
     */
    frame(now, time, ring, index, timeColumn, record) {
      if (!element.open || now - litAt < LIT_MS) return;
      litAt = now;
      // Thresholds of another time are none of this one's.
      const old = drawn !== null && (time < drawn.from || time >= drawn.until);
      setAttribute(view.element, "data-old", old ? "yes" : null);
      if (!drawn || old) void draw(time);
      if (!drawn) return;
      const { thresholds } = drawn;
      const valueOf = (/** @type {string} */ name) => {
        if (Object.hasOwn(thresholds, name)) return Math.fround(thresholds[name]);
        const column = index.get(name);
        const value = column === undefined || !ring ? NaN : ring.at(column, record);
        return Number.isNaN(value) ? null : value;
      };
      const states = ring ? joints.flatMap(({ name, states }) => states.filter(({ code }) => code === ring.at(index.get(`${name}.state`) ?? -1, record)).map((state) => ({ name, state }))) : [];
      const before = codes;
      codes = new Set(states.map(({ state }) => state.code));
      view.light(valueOf, codes);
      if (before.size) for (const code of codes) if (!before.has(code)) view.fired(code);
      view.dots(ring, index, timeColumn, record);
      setText(said, states.length ? `Then ${states.map(({ name, state }) => `${name}: ${state.name}`).join(", ")}` : "The records of this moment are not here yet.");
    },
  };
}

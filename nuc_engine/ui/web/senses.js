// What is sensed, beside what is measured, and clamps that part the two; and controls, which other values follow.

import { h, pressOnce, setClass, setHelp, setText } from "./dom.js";
import { knobsOf, valueText } from "./edit.js";
import { number, shortUnit } from "./format.js";
import { knobControl } from "./knob.js";
import { described } from "./model.js";

/** @typedef {import("./pages/joints.js").Bench} Bench */
/** @typedef {import("./pages/joints.js").Part} Part */

const HEADS = [
  ["sensor", "what senses"],
  ["measured", "what muscles and servos go by"],
  ["sensed", "what rules, activations and scripts go by: what is measured, unless it is clamped"],
  ["unit", "of both"],
];
const FOLLOWS = [
  ["follows it", "what the control alone writes"],
  ["now", "what it holds"],
  ["place: value", "what it holds where the control is at that place; in between on a straight line"],
];

/**
 * Sensors, each with what is measured of it and what is sensed; each can be clamped.
 * @param {Bench} bench
 * @param {string} title
 * @param {string} help
 * @param {readonly string[]} names
 * @returns {Part}
 */
export function sensesPart({ context, hdsos }, title, help, names) {
  const { live } = context;
  const clamps = names.map((name) => clampControl(context, name));
  const rows = names.map((name) => {
    const hdso = hdsos.get(name);
    const [measured, sensed] = [h("td", { class: "number live" }), h("td", { class: "number live sensed" })];
    return { name, measured, sensed, element: h("tr", { help: hdso ? described(hdso) || (hdso.signal ? `a signal: ${hdso.signal.replaceAll("_", " ")} of ${hdso.of || (hdso.inputs ?? []).map((input) => input.name).join(", ")}` : name) : "" }, h("th", { scope: "row" }, name), measured, sensed, h("td", { class: "unit" }, shortUnit(hdso?.unit))) };
  });
  const summary = h("summary", { help: "let the leg sense another value than is measured: rules, activations and scripts go by what is sensed, muscles and servos by what is measured" });
  const more = h("details", { class: "more" }, summary, clamps.map((clamp) => clamp.element));
  return {
    element: h(
      "div",
      { class: "senses" },
      h("h3", { help }, title),
      h(
        "table",
        { class: "readings" },
        h("caption", { class: "unseen" }, `measured and sensed of ${title}`),
        h("thead", {}, h("tr", {}, HEADS.map(([head, help]) => h("th", { scope: "col", help }, head)))),
        h("tbody", {}, rows.map((row) => row.element)),
      ),
      more,
    ),
    tell() {
      for (const { name, measured, sensed, element } of rows) {
        const clamped = live.clamps[name] !== undefined;
        setText(measured, number(live.now(name), 2));
        setText(sensed, clamped ? `CLAMPED ${number(live.clamps[name], 2)}` : "the same");
        setClass(element, "clamped", clamped);
      }
      const held = names.filter((name) => live.clamps[name] !== undefined).length;
      setText(summary, held ? `clamps: ${held} of ${names.length}` : "clamps: none");
      if (more.open) for (const clamp of clamps) clamp.tell();
    },
  };
}

/**
 * @param {import("./app.js").Context} context
 * @param {string} name
 * @returns {{element: HTMLElement, tell: () => void}}
 */
function clampControl({ live, desk, act, line, say }, name) {
  const field = h("input", { type: "number", step: "any", class: "tiny", "aria-label": `sense ${name} as` });
  const clamp = h("button", { type: "submit", class: "small", "aria-label": `Clamp ${name}` }, "Clamp");
  const [hold, release] = ["Hold", "Release"].map((text) => h("button", { type: "button", class: "small", "aria-label": `${text} ${name}` }, text));
  const ask = (/** @type {number | "hold" | "off"} */ value) =>
    act("sense", { sensor: name, value }, line("sense", {}, [name, String(value)]), ({ cycle }) => `${name}: sensed ${value === "off" ? "as measured" : value === "hold" ? "as it was" : `as ${value}`} since cycle ${cycle}`).then(() => {
      desk.stale = true;
    });
  const form = h("form", { class: "clamp" }, h("span", { class: "knob-name" }, name), field, clamp, hold, release);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (Number.isNaN(field.valueAsNumber)) return say(`${name} is sensed as a number, which is not there`, "bad");
    void ask(field.valueAsNumber);
  });
  pressOnce(hold, () => ask("hold"));
  pressOnce(release, () => ask("off"));
  return {
    element: form,
    tell() {
      const closed = desk.closed || (live.bout ? "" : "in a bout only");
      const clamped = live.clamps[name] !== undefined;
      field.disabled = clamp.disabled = hold.disabled = !!closed;
      release.disabled = !!closed || !clamped;
      setHelp(form, closed || `let ${name} be sensed as this number, or as it is sensed now (Hold), until you release it or the bout ends; logged`);
    },
  };
}

/**
 * Controls: each one slider, with what follows it; nothing where there is none.
 * @param {Bench} bench
 * @param {import("./model.js").Model | null} model
 * @returns {Part}
 */
export function controlsPart({ context, hdsos, names }, model) {
  const { desk } = context;
  const controls = (model?.controls ?? []).flatMap(({ name, maps }) => {
    const hdso = hdsos.get(name);
    if (!hdso) return [];
    for (const each of [name, ...maps.map((map) => map.name.replace(/\[\d+\]$/, ""))]) names.add(each);
    const knobs = knobsOf(hdso).map((knob) => knobControl(context, knob));
    const rows = maps.map((map) => {
      const [, of = map.name, element = "0"] = /^(.*)\[(\d+)\]$/.exec(map.name) ?? [];
      const points = map.points.flatMap((at, k) => (k % 2 ? [] : [`${at}: ${map.points[k + 1]}`])).join(", ");
      const now = h("td", { class: "number live" });
      const held = () => {
        const value = desk.values.get(of);
        return Array.isArray(value) ? value[Number(element)] : value;
      };
      return { now, held, element: h("tr", { help: hdsos.has(of) ? described(/** @type {import("./model.js").Hdso} */ (hdsos.get(of))) : "" }, h("th", { scope: "row" }, (hdsos.get(of)?.dims ?? [1])[0] === 1 ? of : map.name), now, h("td", { class: "held" }, points)) };
    });
    const follows = h("table", { class: "readings" }, h("caption", { class: "unseen" }, `what follows ${name}`), h("thead", {}, h("tr", {}, FOLLOWS.map(([head, help]) => h("th", { scope: "col", help }, head)))), h("tbody", {}, rows.map((row) => row.element)));
    return [{ knobs, rows, element: h("div", { class: "control" }, knobs.map((knob) => knob.element), follows) }];
  });
  if (!controls.length) return { element: null };
  return {
    element: h("section", { class: "panel controls", "aria-label": "controls" }, h("h2", { help: "one slider for several values: what follows a control is written by it alone, at the next look at the rules" }, "Controls"), controls.map((control) => control.element)),
    tell() {
      for (const { knobs, rows } of controls) {
        for (const knob of knobs) knob.tell();
        for (const { now, held } of rows) setText(now, valueText(held()));
      }
    },
  };
}

// Diagrams of what runs: which sensors joints listen to, events and actions, regions of sensor space, global states; live.

import { Boundaries, thresholdList } from "../boundaries.js";
import { changesBar } from "../changes.js";
import { DiagramView } from "../diagram.js";
import { fill, h, setAttribute, setText } from "../dom.js";
import { knobsOf } from "../edit.js";
import { counted, number } from "../format.js";
import { knobControl } from "../knob.js";
import { actionsOf, chainOf } from "../model.js";
import { comparisons, Firings, leafText, modulesOf, operandsIn, signalsOf } from "../rules.js";
import { Refused } from "../session.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */

/** Kinds of diagrams, as `nuc diagram --what` has them, and what each shows. @type {Record<string, [string, string]>} */
export const KINDS = {
  "sensory-flow": ["Sensory flow", "which sensors each joint listens to, and its rules with their thresholds"],
  "event-space": ["Event space", "which sensory events promote which actions"],
  regions: ["Regions", "where in sensor space each entry rule holds; boundaries can be moved"],
  states: ["Global states", "which combinations of actions should follow which, by the rules alone"],
};
const SLOW_MS = 100;
const DOTS_MS = 50;
/** What could not be drawn is tried again so much later. */
const AGAIN_MS = 2000;

/**
 * @param {Context} context
 * @returns {Page}
 */
export function diagramsPage(context) {
  const { live, desk, api, go } = context;
  const bar = changesBar(context);
  const view = new DiagramView("live");
  const kinds = h("div", { class: "segmented", role: "group", "aria-label": "which diagram" });
  const buttons = new Map(Object.entries(KINDS).map(([kind, [title, help]]) => [kind, h("button", { type: "button", help, on: { click: () => go(`diagrams/${kind}`) } }, title)]));
  kinds.append(...buttons.values());
  const joint = h("select", { "aria-label": "regions of which joint" });
  const nowLine = h("p", { class: "diagram-now live" });
  const list = h("div", { class: "knobs" });
  const side = h("section", { class: "panel boundaries", "aria-label": "boundaries" }, h("h2", {}, "Boundaries"), list);
  const key = h("p", { class: "note" }, "Dots: the sensors over the last 4 s, the older the paler; the ring is now. A boundary is moved by its square, or with the arrow keys.");
  let kind = "sensory-flow";
  let visible = false;
  /** @type {Map<string, import("../boundaries.js").Threshold>} */
  let thresholds = new Map();
  const boundaries = new Boundaries(view, () => thresholds);
  /** @type {string[]} */
  let names = [];
  /** @type {Map<string, import("../model.js").Hdso>} */
  let hdsos = new Map();
  /** @type {ReturnType<typeof actionsOf>} */
  let actions = new Map();
  let firings = new Firings([]);
  /** How often each rule had fired when that was last shown. @type {Map<string, number>} */
  let fired = new Map();
  /** Documents of the configuration in force. @type {Promise<Record<string, string>> | null} */
  let documents = null;
  /** What is drawn: values, kind, joint. */
  let drawn = "";
  let drawing = false;
  let againAt = -Infinity;
  /** Of which model the diagram is. */
  let era = 0;

  const isFloat = (/** @type {string} */ name) => hdsos.get(name)?.datatype === "float";
  const value = operandsIn((name) => live.sensed(name) ?? desk.values.get(name), isFloat);
  const codesNow = () => new Set((live.model ? chainOf(live.model) : []).map(({ name }) => live.now(`${name}.state`)));

  const watch = () => {
    if (visible) desk.watch(names);
  };
  const make = () => {
    const { model } = live;
    era += 1;
    drawn = "";
    documents = null;
    thresholds.clear();
    view.fail(model ? "drawing \u2026" : "Nothing is configured.");
    hdsos = new Map([...(model?.parameters ?? []), ...(model?.sensors ?? [])].map((hdso) => [hdso.name, hdso]));
    names = (model?.parameters ?? []).map(({ name }) => name);
    actions = model ? actionsOf(model) : new Map();
    const joints = (model ? chainOf(model) : []).filter(({ states }) => states.length);
    firings = new Firings(modulesOf(joints), signalsOf(model));
    fired = new Map();
    const chosen = joint.value;
    fill(joint, ...joints.map(({ name }) => h("option", { value: name, selected: name === chosen }, name)), h("option", { value: "" }, "all joints"));
    if (![...joint.options].some((option) => option.value === chosen)) joint.selectedIndex = 0;
    makeSide();
    watch();
  };
  /** Sliders of the thresholds of the joint that is shown. */
  const makeSide = () => {
    const before = thresholds;
    thresholds = new Map();
    for (const { name, states } of live.model && kind === "regions" ? chainOf(live.model) : []) {
      if (joint.value && joint.value !== name) continue;
      for (const state of states) {
        const held = desk.values.get(state.rule.name);
        for (const { left, right } of comparisons(typeof held === "string" ? held : state.rule.by_name)) {
          for (const operand of [left, right]) {
            const hdso = hdsos.get(operand);
            const [knob, more] = hdso && !thresholds.has(operand) ? knobsOf(hdso) : [];
            if (knob && !more) thresholds.set(operand, before.get(operand) ?? { knob, slider: knobControl(context, knob) });
          }
        }
      }
    }
    key.hidden = side.hidden = bar.element.hidden = bar.list.hidden = kind !== "regions";
    joint.hidden = kind !== "regions";
  };
  let listed = "";
  const tellSide = () => {
    const there = new Set(boundaries.all.map(({ threshold }) => threshold.knob.label));
    const absent = [...thresholds.keys()].filter((name) => !there.has(name));
    const names = JSON.stringify([era, [...thresholds.keys()], absent]);
    // A slider that somebody holds stays where it is.
    if (names !== listed) fill(list, ...thresholdList([...thresholds.values()], absent));
    listed = names;
  };

  /** Draw what is in force, unless that is what is drawn. @param {number} now */
  const draw = async (now) => {
    const { model, configuration } = live;
    if (drawing || !model || now < againAt || !names.every((name) => desk.values.has(name))) return;
    const values = Object.fromEntries(names.map((name) => [name, desk.values.get(name)]));
    const [what, which, of] = [kind, kind === "regions" ? joint.value : "", era];
    const wanted = JSON.stringify([what, which, values]);
    if (wanted === drawn) return;
    drawing = true;
    setAttribute(view.element, "aria-busy", "true");
    try {
      documents ??= live.ask("documents");
      const body = { name: configuration, documents: await documents, values, what, joint: which };
      /** @type {import("../diagram.js").Drawing} */
      const answer = await api.json("diagrams", { method: "POST", body });
      // What was asked for when another model ran, or another diagram was wanted, is not this one.
      if (of !== era || what !== kind || (what === "regions" && which !== joint.value)) return;
      const { focused } = boundaries;
      view.show(answer);
      // Rules may compare with others than before.
      makeSide();
      boundaries.take(focused);
      if (what === "regions") tellSide();
      drawn = wanted;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      documents = null;
      againAt = performance.now() + AGAIN_MS;
      // A diagram of other values than those in force is none.
      if (of === era && what === kind) view.fail(`this diagram can not be drawn: ${error.message}`);
      drawn = "";
    } finally {
      drawing = false;
      setAttribute(view.element, "aria-busy", null);
    }
  };
  const tellNow = () => {
    const codes = live.ring.end ? codesNow() : new Set();
    const states = [...codes].flatMap((code) => actions.get(code) ?? []);
    const parts = states.map(({ joint: { name }, state }) => `${name}: ${state.name}`);
    const truths = view.conditions.filter(({ element }) => element.getAttribute("data-true") === "yes" && element.dataset.part === "event").length;
    const more = [
      kind === "event-space" ? `${counted(truths, "event")} of ${view.conditions.filter(({ element }) => element.dataset.part === "event").length} true` : "",
      kind === "states" && view.svg && parts.length && !view.state ? "the rules do not predict this global state: it is not in the diagram" : "",
      kind === "regions" && view.planes.length === 1 ? [view.planes[0].xName, view.planes[0].yName].filter(Boolean).map((name) => `${name} ${number(live.now(name), 2)}`).join(", ") : "",
    ].filter(Boolean);
    setText(nowLine, parts.length ? [`Now ${parts.join(", ")}`, ...more].join("; ") : "No joint is in an action now.");
  };
  live.addEventListener("layout", make);
  live.onRecords.add((from, to) => firings.take(live.ring, live.index, from, to, (name) => desk.values.get(name), isFloat, live.clamps));
  joint.addEventListener("change", () => go(`diagrams/regions/${encodeURIComponent(joint.value)}`));
  make();

  let slowAt = 0;
  let dotsAt = 0;
  return {
    element: h("div", { class: "page page-diagrams" }, h("h1", { class: "unseen" }, "Diagrams"), h("div", { class: "toolbar" }, kinds, joint), bar.element, nowLine, h("div", { class: "diagram-body" }, view.element, side), key, bar.list),
    show(rest) {
      visible = true;
      const [wanted, which] = rest.split("/");
      const before = `${kind} ${joint.value}`;
      if (wanted in KINDS) kind = wanted;
      if (which !== undefined && [...joint.options].some((option) => option.value === decodeURIComponent(which))) joint.value = decodeURIComponent(which);
      for (const [name, button] of buttons) setAttribute(button, "aria-pressed", String(name === kind));
      if (`${kind} ${joint.value}` !== before && live.model) {
        view.fail("drawing \u2026");
        drawn = "";
        againAt = -Infinity;
        makeSide();
      }
      watch();
    },
    hide() {
      visible = false;
    },
    frame(now) {
      desk.keepUp(now);
      const codes = live.ring.end ? codesNow() : new Set();
      view.light(live.ring.end ? value : () => null, codes);
      for (const [code, { joint: { name }, state }] of actions) {
        const count = firings.counts.get(state.name) ?? 0;
        if (count > (fired.get(state.name) ?? 0)) {
          const cause = (firings.causes.get(name) ?? []).find((each) => each.state === state.name);
          view.fired(code, (cause?.true ?? []).map(({ leaf }) => leafText(leaf)));
        }
        fired.set(state.name, count);
      }
      if (now - dotsAt >= DOTS_MS) {
        dotsAt = now;
        view.dots(live.ring, live.index, live.timeColumn, live.ring.end - 1);
      }
      if (now - slowAt < SLOW_MS) return;
      slowAt = now;
      if (kind === "regions") {
        bar.tell();
        for (const { slider } of thresholds.values()) slider.tell();
        boundaries.tell();
      }
      tellNow();
      void draw(now);
    },
  };
}

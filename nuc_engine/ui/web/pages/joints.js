// All joints side by side: their rules, how far each comparison is from turning, and what can be turned of them.

import { changesBar } from "../changes.js";
import { curve, isDrawn } from "../curves.js";
import { fill, h, setAttribute, setText } from "../dom.js";
import { knobsOf } from "../edit.js";
import { clock, digitsFor, number, shortUnit } from "../format.js";
import { knobControl } from "../knob.js";
import { actionsOf, chainOf, described, sensesOf } from "../model.js";
import { controlsPart, sensesPart } from "../senses.js";
import { distance, Firings, leafText, modulesOf, operandsIn, parseRule, signalsOf, truth } from "../rules.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */
/** @typedef {import("../model.js").Joint} Joint */
/** @typedef {import("../model.js").Hdso} Hdso */
/** @typedef {import("../rules.js").Tree} Tree */
/** @typedef {import("../rules.js").ValueOf} ValueOf */
/** `act` is called with each picture, `tell` as fast as one can read. @typedef {{element: Element | null, act?: () => void, tell?: () => void}} Part */

const SLOW_MS = 100;
/** Over how much time the rate of a muscle's length is taken. */
const RATE_S = 0.1;

/**
 * What the parts of this page share.
 * @typedef {{context: Context, hdsos: Map<string, Hdso>, value: ValueOf, firings: Firings, names: Set<string>}} Bench
 */

/**
 * @param {Context} context
 * @returns {Page}
 */
export function jointsPage(context) {
  const { live, desk } = context;
  const bar = changesBar(context);
  const pins = h("div", { class: "knobs" });
  const pinned = h("section", { class: "panel pinned", "aria-label": "pinned values" }, h("h2", {}, "Pinned"), pins);
  const grid = h("div", { class: "joint-grid" });
  const above = h("div", {});
  const again = h("button", { type: "button", help: "count from 0 again how often rules fire, and forget their causes", on: { click: () => firings.forget() } }, "Count anew");
  bar.element.append(again);
  /** @type {Part[]} */
  let parts = [];
  /** @type {Part[]} */
  let pinParts = [];
  /** @type {Map<string, Hdso>} */
  let hdsos = new Map();
  let firings = new Firings([]);
  let names = new Set();
  /** @type {string[]} */
  let pinNames = [];
  let visible = false;
  const isFloat = (/** @type {string} */ name) => hdsos.get(name)?.datatype === "float";
  const value = operandsIn((name) => live.sensed(name) ?? desk.values.get(name), isFloat);

  const makePins = () => {
    const knobs = desk.pins.flatMap((label) => [...hdsos.values()].flatMap(knobsOf).filter((knob) => knob.label === label));
    pinParts = knobs.map((knob) => knobControl(context, knob));
    const lost = desk.pins.filter((label) => !knobs.some((knob) => knob.label === label));
    const unpin = (/** @type {string} */ label) => h("button", { type: "button", class: "small", on: { click: () => desk.pin(label) } }, `Unpin ${label}`);
    fill(pins, ...pinParts.map((part) => part.element), ...(lost.length ? [h("p", { class: "note" }, "not in this configuration: ", lost.map(unpin))] : []));
    pinned.hidden = !desk.pins.length;
    pinNames = knobs.map((knob) => knob.hdso.name);
    watch();
  };
  const watch = () => {
    if (visible) desk.watch([...names, ...pinNames]);
  };
  const make = () => {
    const { model } = live;
    const joints = model ? chainOf(model) : [];
    hdsos = new Map([...(model?.parameters ?? []), ...(model?.sensors ?? [])].map((hdso) => [hdso.name, hdso]));
    firings = new Firings(modulesOf(joints), signalsOf(model));
    names = new Set();
    const bench = { context, hdsos, value, firings, names };
    const senses = model ? sensesOf(model) : new Map();
    const controls = controlsPart(bench, model);
    const joined = joints.map((joint) => jointPart(bench, joint, senses.get(joint.name) ?? []));
    const rest = senses.has("") ? [restPart(bench, senses.get(""))] : [];
    parts = [controls, ...joined, ...rest];
    fill(above, controls.element);
    fill(grid, ...(joints.length ? [...joined, ...rest].map((part) => part.element) : [h("p", { class: "note" }, "Nothing is configured.")]));
    makePins();
  };
  live.addEventListener("layout", make);
  desk.addEventListener("pins", makePins);
  live.onRecords.add((from, to) => firings.take(live.ring, live.index, from, to, (name) => desk.values.get(name), isFloat, live.clamps));
  make();

  let slowAt = 0;
  return {
    element: h("div", { class: "page page-joints" }, h("h1", { class: "unseen" }, "Joints"), bar.element, bar.list, pinned, above, grid),
    show(rest) {
      visible = true;
      watch();
      const name = decodeURIComponent(rest);
      for (const section of grid.children) {
        const here = section.getAttribute("data-joint") === name;
        section.classList.toggle("selected", here);
        if (here) section.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
    },
    hide() {
      visible = false;
    },
    frame(now) {
      desk.keepUp(now);
      for (const part of parts) part.act?.();
      if (now - slowAt < SLOW_MS) return;
      slowAt = now;
      bar.tell();
      for (const part of [...parts, ...pinParts]) part.tell?.();
    },
  };
}

/**
 * @param {Bench} bench
 * @param {Joint} joint
 * @param {readonly string[]} senses what is sensed of it
 * @returns {Part}
 */
function jointPart(bench, joint, senses) {
  const { live } = bench.context;
  const rules = joint.states.map((state) => rulePart(bench, joint, state));
  const felt = new Set(joint.sense_organs.flatMap((organ) => organ.sensors.map(({ name }) => name)));
  const others = senses.filter((name) => !felt.has(name));
  const parts = [
    headPart(bench, joint),
    ...rules,
    ...(joint.states.length ? [causesPart(bench, joint)] : []),
    ...joint.muscles.map((muscle) => musclePart(bench, joint, muscle)),
    ...(joint.motor ? [motorPart(bench, joint, joint.motor)] : []),
    ...joint.sense_organs.map((organ) => sensesPart(bench, organ.name, described(organ), organ.sensors.map(({ name }) => name))),
    ...(others.length ? [sensesPart(bench, "other senses", "what is sensed of this joint beside its sense organs", others)] : []),
  ];
  return {
    element: h("section", { class: "panel joint-panel", "aria-label": joint.name, "data-joint": joint.name }, parts.map((part) => part.element)),
    act: () => {
      if (live.ring.end) for (const part of parts) part.act?.();
    },
    tell: () => {
      for (const part of parts) part.tell?.();
    },
  };
}

/**
 * @param {Bench} bench
 * @param {Joint} joint
 * @returns {Part}
 */
function headPart({ context: { live }, firings }, joint) {
  const actions = live.model ? actionsOf(live.model) : new Map();
  const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
  const action = h("strong", {}, "–");
  const since = h("span", { class: "number" });
  /** @type {unknown} */
  let shown = null;
  return {
    element: h("header", { help: described(joint) }, h("h2", {}, joint.name), joint.states.length ? h("span", { class: "action live" }, swatch, action, since) : h("span", { class: "muted" }, "held, no actions")),
    act() {
      const state = actions.get(live.now(`${joint.name}.state`));
      if (state === shown) return;
      shown = state;
      setText(action, state?.state.name ?? "none");
      swatch.style.background = state?.color ?? "";
    },
    tell() {
      const record = firings.since.get(joint.name);
      const { ring, timeColumn: time } = live;
      const known = record !== undefined && record >= ring.begin && ring.end;
      setText(since, known ? `for ${number(ring.at(time, ring.end - 1) - ring.at(time, record), 1)} s` : "");
    },
  };
}

/**
 * An action: its entry rule as a tree, and what its muscles do in it.
 * @param {Bench} bench
 * @param {Joint} joint
 * @param {import("../model.js").State} state
 * @returns {Part}
 */
function rulePart(bench, joint, state) {
  const { firings, names } = bench;
  const { live } = bench.context;
  const lamp = h("span", { class: "lamp-sign", "aria-hidden": "true" });
  const said = h("span", { class: "rule-said" });
  const inside = h("span", { class: "badge" }, "in it");
  const count = h("span", { class: "fired", help: "how often it let the joint begin this action, since this page was opened" });
  const entry = treePart(bench, joint, state.name, state.rule);
  const element = h("div", { class: "rule live" }, h("div", { class: "rule-head", help: `${described(state)}. Its entry rule: ${state.rule.description ?? state.rule.name}` }, lamp, h("h3", {}, state.name), inside, said, count), entry.element);
  const { dwell, central } = state;
  const forced = central ? treePart(bench, joint, state.name, central) : null;
  const others = [dwell, central?.hold].filter((hdso) => !!hdso);
  if (forced) element.append(h("h4", { help: "a rule of its own, asked where no entry rule leads to another action: a pattern generator" }, "or centrally"), forced.element);
  for (const { name } of others) names.add(name);
  const more = knobsPart(bench, "what its muscles do", [...state.activations.flatMap((each) => each.parameters), ...others]);
  if (more.element) element.append(more.element);
  let fired = 0;
  return {
    element,
    act() {
      const is = entry.is();
      setAttribute(element, "data-true", is === null ? "unknown" : is ? "yes" : "no");
      setText(lamp, is ? "\u25cf" : "\u25cb");
      inside.hidden = live.now(`${joint.name}.state`) !== state.code;
      entry.act();
      forced?.act();
      const now = firings.counts.get(state.name) ?? 0;
      if (now === fired) return;
      setText(count, now ? `\u00d7${now}` : "");
      if (now > fired) flash(element);
      fired = now;
    },
    tell() {
      entry.tell();
      forced?.tell();
      const is = entry.is();
      setText(said, is === null ? "unknown" : is ? "true" : "false");
      more.tell?.();
    },
  };
}

/**
 * A rule taken apart, as it is in force.
 * @param {Bench} bench
 * @param {Joint} joint
 * @param {string} state
 * @param {{name: string, by_name: string | null}} rule
 */
function treePart(bench, joint, state, rule) {
  const { context: { desk }, names, value } = bench;
  const element = h("div", { class: "tree" });
  names.add(rule.name);
  /** @type {string | null} */
  let text = null;
  /** @type {Tree | null} */
  let tree = null;
  /** @type {Part[]} */
  let comparisons = [];
  const make = () => {
    const is = desk.values.get(rule.name) ?? rule.by_name;
    if (is === text) return;
    text = typeof is === "string" ? is : "";
    tree = parseRule(text);
    comparisons = [];
    fill(element, tree ? treeElement(tree, (leaf) => {
      const part = comparisonPart(bench, joint, state, leaf);
      comparisons.push(part);
      return /** @type {Element} */ (part.element);
    }) : h("p", { class: "note" }, text || "no rule"));
  };
  make();
  return {
    element,
    is: () => truth(tree, value),
    act() {
      for (const part of comparisons) part.act?.();
    },
    tell() {
      make();
      for (const part of comparisons) part.tell?.();
    },
  };
}

/**
 * @param {Tree} tree
 * @param {(leaf: import("../rules.js").Leaf) => Element} leafElement
 * @returns {Element}
 */
function treeElement(tree, leafElement) {
  if (!("terms" in tree)) return leafElement(tree);
  const word = tree.op === "&" ? "all of" : "any of";
  return h("div", { class: "terms", role: "group", "aria-label": word }, h("span", { class: "terms-word" }, word), tree.terms.map((term) => treeElement(term, leafElement)));
}

/** @param {Element} element */
function flash(element) {
  // Twice as many names as one: an animation begins again when it has another.
  setAttribute(element, "data-flash", element.getAttribute("data-flash") === "a" ? "b" : "a");
}

/**
 * One comparison: the sensor's bar with the threshold in it, and what of it can be turned.
 * @param {Bench} bench
 * @param {Joint} joint
 * @param {string} state
 * @param {import("../rules.js").Leaf} leaf
 * @returns {Part}
 */
function comparisonPart(bench, joint, state, leaf) {
  const { context, hdsos, value, firings, names } = bench;
  const operands = "name" in leaf ? [leaf.name] : [leaf.left, leaf.right];
  for (const name of operands) if (hdsos.get(name)?.kind !== "sensor") names.add(name);
  const sensor = operands.find((name) => hdsos.get(name)?.kind === "sensor") ?? operands[0];
  const other = operands.find((name) => name !== sensor) ?? "";
  const unit = shortUnit(hdsos.get(sensor)?.unit);
  const [low, high] = scaleOf(bench, joint, sensor, other);
  const digits = digitsFor(high - low);
  const lamp = h("span", { class: "lamp-sign", "aria-hidden": "true" });
  const count = h("span", { class: "fired", help: "how often it was true when its rule fired" });
  const now = h("span", { class: "number" });
  const far = h("span", { class: "distance" });
  const needle = h("span", { class: "bar-needle" });
  const mark = h("span", { class: "bar-mark" });
  const found = operands.flatMap((name) => knobsOf(/** @type {Hdso} */ (hdsos.get(name) ?? { kind: "" })));
  // Of one alone the name is in the comparison.
  const knobs = found.map((knob) => knobControl(context, knob, { name: found.length > 1 }));
  const help = operands.map((name) => described(hdsos.get(name) ?? { fullname: name, description: null })).join(". ");
  const element = h(
    "div",
    { class: "comparison" },
    h("div", { class: "comparison-head", help }, lamp, h("span", { class: "comparison-text" }, leafText(leaf)), count),
    "name" in leaf ? null : h("div", { class: "comparison-bar", help: `${sensor} from ${number(low, 0)} to ${number(high, 0)} ${unit}; the notch is where the comparison turns` }, h("span", { class: "sensor-bar", "aria-hidden": "true" }, mark, needle), now, far),
    ...knobs.map((knob) => knob.element),
  );
  const at = (/** @type {number | null} */ number) => Math.max(0, Math.min(1, ((number ?? low) - low) / (high - low)));
  const key = `${state} ${leafText(leaf)}`;
  let fired = 0;
  return {
    element,
    act() {
      const is = truth(leaf, value);
      setAttribute(element, "data-true", is === null ? "unknown" : is ? "yes" : "no");
      setText(lamp, is ? "\u25cf" : "\u25cb");
      needle.style.transform = `translateX(${(100 * at(value(sensor))).toFixed(1)}%)`;
      mark.style.transform = `translateX(${(100 * at(value(other))).toFixed(1)}%)`;
      const times = firings.counts.get(key) ?? 0;
      if (times === fired) return;
      setText(count, times ? `\u00d7${times}` : "");
      if (times > fired) flash(element);
      fired = times;
    },
    tell() {
      setText(now, `${number(value(sensor), digits)} ${unit}`);
      const by = "left" in leaf ? distance(leaf, value) : null;
      setText(far, by === null ? "" : by > 0 ? `true by ${number(by, digits)}` : `${number(-by, digits)} to go`);
      for (const knob of knobs) knob.tell();
    },
  };
}

/**
 * Return the ends of a sensor's bar: what its joint can reach, or what is normal and suggested.
 * @param {Bench} bench
 * @param {Joint} joint
 * @param {string} sensor
 * @param {string} other what it is compared with
 * @returns {[number, number]}
 */
function scaleOf({ context: { live }, hdsos }, joint, sensor, other) {
  const motor = [joint, ...(live.model?.joints ?? [])].find((each) => each.motor?.angle_sensor.name === sensor)?.motor;
  const ranges = [motor ? { lower: motor.range_deg[0], upper: motor.range_deg[1] } : hdsos.get(sensor)?.ranges.normal, hdsos.get(other)?.ranges.suggested];
  const lower = ranges.flatMap((range) => (typeof range?.lower === "number" ? [range.lower] : []));
  const upper = ranges.flatMap((range) => (typeof range?.upper === "number" ? [range.upper] : []));
  return lower.length && upper.length ? [Math.min(...lower), Math.max(...upper)] : [0, 1];
}

/**
 * The last causes of a joint's changes of action.
 * @param {Bench} bench
 * @param {Joint} joint
 * @returns {Part}
 */
function causesPart({ context: { live }, firings, hdsos }, joint) {
  const list = h("ol", { class: "causes live", tabindex: 0, "aria-label": `last causes of ${joint.name}` });
  const text = (/** @type {import("../rules.js").Held} */ { leaf, left, right }) =>
    "name" in leaf ? leaf.name : `${leaf.left} ${number(left, 2)} ${leaf.op} ${number(right, 2)} ${shortUnit(hdsos.get(leaf.left)?.unit)}`.trim();
  /** @type {unknown} */
  let shown = null;
  return {
    element: h("div", {}, h("h3", { help: "the last five changes of action: when (engine time), which rule, and which of its comparisons held in the record it saw" }, "Last causes"), list),
    tell() {
      const causes = firings.causes.get(joint.name) ?? [];
      const newest = causes[0] ?? null;
      if (newest === shown) return;
      shown = newest;
      fill(
        list,
        ...causes.map((cause) =>
          h(
            "li",
            { help: cause.true.map(({ leaf }) => leafText(leaf)).join(", ") },
            h("span", { class: "number" }, clock(cause.time - (live.starts.get(cause.bout) ?? NaN))),
            h("span", {}, `${cause.state}: ${cause.forced ? "forced, " : ""}`, cause.known ? cause.true.map(text).join(", ") : "not by what is known here of that record"),
          ),
        ),
      );
    },
  };
}

/**
 * What can be turned of these HDSOs, behind a line that is opened.
 * @param {Bench} bench
 * @param {string} title
 * @param {readonly {name: string}[]} of
 * @returns {Part}
 */
function knobsPart({ context, hdsos, names }, title, of) {
  const found = [...new Set(of.map(({ name }) => name))].flatMap((name) => {
    names.add(name);
    const hdso = hdsos.get(name);
    return hdso ? knobsOf(hdso) : [];
  });
  if (!found.length) return { element: null };
  const knobs = found.map((knob) => knobControl(context, knob));
  const element = h("details", { class: "more" }, h("summary", { help: `${title}: each number with a slider` }, title), h("div", { class: "knobs" }, knobs.map((knob) => knob.element)));
  return {
    element,
    tell() {
      if (element.open) for (const knob of knobs) knob.tell();
    },
  };
}

const USES = { "force-length": "force by length", "passive_stiffness": "passive force", "force-velocity": "force by velocity" };

/**
 * @param {Bench} bench
 * @param {Joint} joint
 * @param {import("../model.js").Muscle} muscle
 * @returns {Part}
 */
function musclePart(bench, joint, muscle) {
  const { context: { live, desk } } = bench;
  const activation = h("span", { class: "number" });
  const fill_ = h("span", { class: "meter-fill" });
  const [force, length] = [h("span", { class: "number" }), h("span", { class: "number" })];
  const more = knobsPart(bench, "its functions", Object.values(muscle.functions).flatMap(({ parameters }) => parameters));
  const drawn = Object.entries(muscle.functions).map(([use, made]) => {
    const title = USES[/** @type {keyof typeof USES} */ (use)] ?? use;
    const picture = use === "force-velocity" ? curve(title, "rate", -3, 3) : curve(title, "l\u2032", 0.5, 1.5);
    // One that is the same everywhere says all in a number; one that was added is not known here.
    const draws = made.type !== "constant" && isDrawn(made.type);
    return { use, title, made, picture, draws };
  });
  const others = h("p", { class: "note" });
  const relative = (/** @type {number} */ record) => {
    const column = live.index.get(`${muscle.name}.length`);
    return column === undefined ? NaN : live.ring.at(column, record) / muscle.l_naught;
  };
  const rate = (/** @type {number} */ last) => {
    const time = live.timeColumn;
    const first = Math.max(live.ring.begin, live.ring.find(time, live.ring.at(time, last) - RATE_S));
    return (relative(last) - relative(first)) / (live.ring.at(time, last) - live.ring.at(time, first));
  };
  return {
    element: h(
      "div",
      { class: "muscle live" },
      h("h3", { help: described(muscle) }, muscle.name),
      h("div", { class: "muscle-now" }, h("span", { help: "activation" }, "act. ", h("span", { class: "meter", "aria-hidden": "true" }, fill_), " ", activation), h("span", { help: "length, as a share of the length at rest" }, "l\u2032 ", length), h("span", { help: `force in units of muscle output, of ${muscle.fmax} at most by activation 1` }, "force ", force)),
      h("div", { class: "curves" }, drawn.filter(({ draws }) => draws).map(({ picture }) => picture.element)),
      others,
      more.element,
    ),
    act() {
      fill_.style.transform = `scaleX(${Math.max(0, Math.min(1, live.now(`${muscle.name}.activation`) || 0)).toFixed(3)})`;
    },
    tell() {
      more.tell?.();
      const last = live.ring.end - 1;
      if (last < live.ring.begin) return;
      setText(activation, number(live.now(`${muscle.name}.activation`), 2));
      setText(force, number(live.now(`${muscle.name}.force`), 2));
      setText(length, number(relative(last), 2));
      const words = [];
      for (const { use, title, made, picture, draws } of drawn) {
        const numbers = made.parameters.flatMap(({ name }) => /** @type {number | number[]} */ (desk.values.get(name) ?? []));
        if (draws) picture.draw(made.type, numbers, use === "force-velocity" ? rate(last) : relative(last));
        else words.push(`${title} ${made.type === "constant" ? `${numbers[0] ?? "\u2013"} everywhere` : made.formula ?? made.type}`);
      }
      setText(others, words.join("; "));
    },
  };
}

/**
 * @param {Bench} bench
 * @param {Joint} joint
 * @param {import("../model.js").Motor} motor
 * @returns {Part}
 */
function motorPart({ context, names }, joint, motor) {
  const { live, desk, act, line, say } = context;
  const [mode, tweak] = [`joint.${joint.name}.mode`, `joint.${joint.name}.tweak`];
  for (const name of [mode, tweak]) names.add(name);
  const raw = (/** @type {string} */ what) => live.now(`${motor.name}.${what}`);
  const sent = () => {
    const goal = raw("sent_raw");
    return goal === -1 ? "read only" : goal === -2 ? "torque off" : `${number(goal, 0)} ticks`;
  };
  /** @type {[string, string, () => string][]} */
  const lines = [
    ["mode", "what commands the joint", () => String(desk.values.get(mode) ?? "–")],
    ["angle", described(motor), () => `${number(live.now(motor.angle_sensor.name), 1)} deg, ${number(raw("position_raw"), 0)} ticks`],
    ["current", "as the servo says it, and as the engine filters it", () => `${number(raw("current_raw"), 0)} raw, ${number(live.now(motor.load_sensor.name), 2)} filtered`],
    ["sent", "the position the servo was sent last", sent],
    ["age", "of the servo's last answer, when the cycle was complete", () => `${number((live.now("time") * 1e9 + live.originNs - raw("stamp")) / 1e6, 1)} ms`],
  ];
  const rows = lines.map(([name, help, text]) => {
    const cell = h("td", { class: "number live" });
    return { text, cell, element: h("tr", { help }, h("th", { scope: "row" }, name), cell) };
  });
  const ticks = h("input", { type: "number", step: 1, class: "tiny", value: 0, "aria-label": `tweak of ${joint.name}, ticks` });
  const send = h("button", { type: "submit", class: "small" }, "Tweak");
  const none = h("button", { type: "button", class: "small" }, "None");
  const ask = (/** @type {number} */ count) =>
    void act("tweak", { joint: joint.name, ticks: count }, line("tweak", {}, [joint.name, String(count)]), ({ cycle }) => `${joint.name}: tweak ${count} since cycle ${cycle}`).then(() => {
      desk.stale = true;
    });
  const now = h("span", { class: "number live" });
  const form = h("form", { class: "tweak", help: "a torque that is added to what the muscles ask for, in ticks of the servo; it is logged" }, "tweak", now, ticks, send, none);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (Number.isNaN(ticks.valueAsNumber)) return say("a tweak is a number of ticks", "bad");
    ask(ticks.valueAsNumber);
  });
  none.addEventListener("click", () => ask(0));
  return {
    element: h("div", { class: "motor" }, h("h3", { help: described(motor) }, motor.name), h("table", { class: "readings" }, h("caption", { class: "unseen" }, `motor of ${joint.name}`), h("tbody", {}, rows.map((row) => row.element))), form),
    tell() {
      for (const { text, cell } of rows) setText(cell, text());
      setText(now, String(desk.values.get(tweak) ?? "–"));
      ticks.disabled = send.disabled = none.disabled = !!desk.closed;
    },
  };
}

/**
 * Signals that are of no joint.
 * @param {Bench} bench
 * @param {readonly string[]} names
 * @returns {Part}
 */
function restPart(bench, names) {
  const part = sensesPart(bench, "Signals", "what is computed from other sensors, of no joint alone", names);
  return { ...part, element: h("section", { class: "panel joint-panel", "aria-label": "signals" }, part.element) };
}

// Any column of the engine's records over time, every cycle of the last ten minutes.

import { fill, h, setAttribute, setText } from "../dom.js";
import { csvOf } from "../export.js";
import { keepAs } from "../fetchbout.js";
import { clock, counted, number } from "../format.js";
import { Lanes } from "../lanes.js";
import { chainOf, columnHelp, described, stripsOf } from "../model.js";
import { leaves, operandsIn, parseRule, Steps, thresholds, truth } from "../rules.js";
import { keep as store, recall } from "../store.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */

/** Forced switches that are marked. */
const MOST_FORCED = 5000;
const WINDOWS_S = [1, 2, 5, 10, 20, 60, 120, 300, 600];
const KEPT = "nuc-traces";
const LEVELS_MS = 1000;
/** How often thresholds are asked for while they are shown. */
const TRIGGER_SHARE = 0.25;
/** Where in the window a trigger stands. */

/** @typedef {{names: string[], windowS: number}} Layout */

/** @param {any} kept @returns {Record<string, Record<string, Layout>>} those that are layouts */
function fitLayouts(kept) {
  const is = (/** @type {any} */ each) => Array.isArray(each?.names) && each.names.every((/** @type {unknown} */ name) => typeof name === "string") && Number.isFinite(each.windowS);
  const own = Object.entries(kept).map(([configuration, named]) => [configuration, Object.fromEntries(Object.entries(named ?? {}).filter(([, each]) => is(each)))]);
  return Object.fromEntries(own);
}

/** @returns {Record<string, Record<string, Layout>>} per configuration, by name; "" is the last one used */
function keptLayouts() {
  return recall(localStorage, KEPT, 1, fitLayouts, {});
}

/**
 * @param {Context} context
 * @returns {Page}
 */
export function tracesPage({ live, say, line }) {
  const lanes = new Lanes({
    onChange: () => keep(),
    onCursor: (time) => {
      cursor = time;
    },
    onZoom: (factor, at) => zoom(factor, at),
    onPan: (seconds) => pan(seconds),
  });
  let windowS = 10;
  /** Where the window ends when it does not follow; NaN: it follows. */
  let heldAt = NaN;
  let cursor = NaN;
  /** An action that begins, or an entry rule that becomes true. @type {{column: string, code: number} | {rule: string} | null} */
  let trigger = null;
  /** What operands of the trigger's rule hold that stand in no record. @type {Map<string, unknown>} */
  const held = new Map();
  let floats = new Set();
  let triggeredAt = NaN;
  let before = NaN;
  /** @type {Map<string, {name: string, text: string, state: string}[]>} */
  let levelsOf = new Map();
  const steps = new Steps();
  let ringOfSteps = live.ring;

  // --- what stands above ---

  const pause = h("button", { type: "button", class: "pause", "aria-pressed": "false", "aria-keyshortcuts": "Space", help: "stand still; records go on being kept (Space)" }, "Pause");
  const span = h("select", { "aria-label": "how much time is shown", help: "how much time is shown" }, WINDOWS_S.map((seconds) => h("option", { value: seconds, selected: seconds === windowS }, seconds < 60 ? `${seconds} s` : `${seconds / 60} min`)));
  const zoomed = h("option", { value: "" }, "");
  const closer = h("button", { type: "button", "aria-label": "zoom in", help: "zoom in (+)" }, "+");
  const farther = h("button", { type: "button", "aria-label": "zoom out", help: "zoom out (-)" }, "\u2212");
  const back = h("button", { type: "button", "aria-label": "earlier", help: "earlier (Page up)" }, "\u25c2");
  const on = h("button", { type: "button", "aria-label": "later", help: "later (Page down)" }, "\u25b8");
  const add = h("input", { type: "text", list: "columns", placeholder: "add a trace \u2026", class: "medium", "aria-label": "add a trace", spellcheck: "false", autocomplete: "off", help: "name of any column: sensors, actions, activations, forces, lengths, positions" });
  const list = h("datalist", { id: "columns" });
  const when = h("select", { class: "medium", "aria-label": "trigger", help: "stand still around the record at which a joint begins an action, or an entry rule becomes true; decided on the engine's own cycles" });
  const layout = h("select", { class: "medium", "aria-label": "layout", help: "traces that belong together, and those that were kept in this browser" });
  const name = h("input", { type: "text", placeholder: "name", "aria-label": "name of the layout", help: "under which name Keep keeps these traces", size: 6 });
  const save = h("button", { type: "button", help: "keep these traces under a name, in this browser" }, "Keep");
  const file = h("button", { type: "button", help: "each record of the stretch that is shown, of these traces, as a file of numbers (CSV) into your downloads" }, "CSV");

  const layouts = () => keptLayouts()[live.configuration] ?? {};
  const keep = (/** @type {string} */ as = "") => {
    const all = keptLayouts();
    const mine = (all[live.configuration] ??= {});
    mine[as] = { names: lanes.names, windowS };
    if (as) mine[""] = mine[as];
    store(localStorage, KEPT, 1, all);
    showLayouts(as);
  };
  const showLayouts = (/** @type {string} */ chosen = "") => {
    const named = Object.keys(layouts()).filter(Boolean);
    fill(
      layout,
      h("option", { value: "" }, named.length ? "layouts \u2026" : "no layouts kept"),
      h("option", { value: "*default" }, "joints and actions"),
      h("option", { value: "*load" }, "loads and forces"),
      ...named.map((key) => h("option", { value: `=${key}`, selected: key === chosen }, key)),
    );
  };
  const preset = (/** @type {string} */ kind) => {
    const model = live.model;
    if (!model) return [];
    const joints = chainOf(model).filter((joint) => joint.states.length);
    const names = kind === "*load"
      ? [...joints.flatMap((joint) => (joint.motor ? [joint.motor.load_sensor.name] : [])), ...joints.flatMap((joint) => joint.muscles.map((muscle) => `${muscle.name}.force`))]
      : joints.flatMap((joint) => [`${joint.name}.state`, ...(joint.motor ? [joint.motor.angle_sensor.name] : [])]);
    return names.filter((column) => live.index.has(column));
  };
  const setWindow = (/** @type {number} */ seconds) => {
    windowS = Math.max(0.05, Math.min(600, seconds));
    const known = WINDOWS_S.includes(windowS);
    if (known) zoomed.remove();
    else {
      setText(zoomed, `${number(windowS, windowS < 1 ? 2 : 1)} s`);
      span.prepend(zoomed);
    }
    span.value = known ? String(windowS) : "";
  };

  layout.addEventListener("change", () => {
    const chosen = layout.value;
    const kept = chosen.startsWith("=") ? layouts()[chosen.slice(1)] : null;
    if (kept) setWindow(kept.windowS);
    if (chosen) lanes.setNames(kept ? kept.names.filter(has) : preset(chosen));
    keep();
  });
  save.addEventListener("click", () => {
    const as = name.value.trim();
    if (!as) return name.focus();
    keep(as);
    say(`these traces are kept as ${as}`, "good", line("subscribe", {}, lanes.names.filter((column) => !column.includes("."))));
  });
  span.addEventListener("change", () => {
    if (span.value) setWindow(Number(span.value));
    keep();
  });
  add.addEventListener("change", () => {
    const column = add.value.trim();
    if (!has(column)) {
      if (column) say(`nothing that is called ${column} changes with time here: choose from the list`, "bad");
      return;
    }
    lanes.setNames([...lanes.names, column]);
    add.value = "";
    keep();
  });

  file.addEventListener("click", () => {
    const [source] = lanes.sources;
    if (!source) return;
    const to = end();
    const { parts, count } = csvOf(source, lanes.names, to - windowS, to, Number.isNaN(live.start) ? 0 : live.start, lanes.sources[1]);
    keepAs(parts, `${live.configuration}_traces.csv`);
    say(`${counted(count, "record")} of ${counted(lanes.names.length, "trace")}, into your downloads`, "good");
  });

  // --- time ---

  const newest = () => (live.ring.end ? live.ring.at(live.timeColumn, live.ring.end - 1) : 0);
  const oldest = () => (live.ring.end ? live.ring.at(live.timeColumn, live.ring.begin) : 0);
  const end = () => {
    if (!Number.isNaN(heldAt)) return heldAt;
    if (!Number.isNaN(triggeredAt)) return triggeredAt + (1 - TRIGGER_SHARE) * windowS;
    // On whole columns of pixels: what has been drawn moves, and does not shimmer.
    const step = windowS / Math.max(1, lanes.axis.width);
    return Math.ceil(newest() / step) * step;
  };
  const hold = (/** @type {number} */ at) => {
    heldAt = at;
    setAttribute(pause, "aria-pressed", String(!Number.isNaN(at)));
    setText(pause, Number.isNaN(at) ? "Pause" : "Follow");
  };
  const pan = (/** @type {number} */ seconds) => {
    const to = end() + seconds;
    hold(Math.max(oldest() + 0.1 * windowS, Math.min(newest(), to)));
  };
  const zoom = (/** @type {number} */ factor, at = NaN) => {
    const right = end();
    const old = windowS;
    setWindow(windowS * factor);
    if (!Number.isNaN(heldAt)) {
      const about = Number.isNaN(at) ? right - old / 2 : at;
      hold(about + ((right - about) * windowS) / old);
    }
  };
  pause.addEventListener("click", () => hold(Number.isNaN(heldAt) ? end() : NaN));
  closer.addEventListener("click", () => zoom(0.5));
  farther.addEventListener("click", () => zoom(2));
  back.addEventListener("click", () => pan(-windowS / 2));
  on.addEventListener("click", () => pan(windowS / 2));
  const chart = h(
    "div",
    { class: "chart", tabindex: 0, role: "group", "aria-label": "traces; arrow keys move the cursor, + and - zoom, page keys scroll, space pauses, escape follows again" },
    lanes.element,
  );
  chart.addEventListener("keydown", (event) => {
    if (event.target !== chart || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = windowS / Math.max(1, lanes.axis.width);
    const move = (/** @type {number} */ by) => {
      const right = end();
      cursor = Math.max(right - windowS, Math.min(right, (Number.isNaN(cursor) ? right : cursor) + by));
    };
    /** @type {Record<string, () => void>} */
    const keys = {
      " ": () => pause.click(),
      ArrowLeft: () => move((event.shiftKey ? -20 : -2) * step),
      ArrowRight: () => move((event.shiftKey ? 20 : 2) * step),
      "+": () => zoom(0.5),
      "-": () => zoom(2),
      PageUp: () => pan(-windowS / 2),
      PageDown: () => pan(windowS / 2),
      Escape: () => {
        cursor = NaN;
        hold(NaN);
      },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  // --- trigger: on each record, not on each picture ---

  when.addEventListener("change", () => {
    const [column, code] = when.value.split("\u0000");
    trigger = when.value ? (code === undefined ? { rule: column } : { column, code: Number(code) }) : null;
    triggeredAt = before = NaN;
    held.clear();
    void askLevels();
    if (trigger) hold(NaN);
  });
  live.onRecords.add((from, to) => {
    if (!trigger) return;
    const column = "rule" in trigger ? undefined : live.index.get(trigger.column);
    const tree = "rule" in trigger ? parseRule(held.get(trigger.rule)) : null;
    if (column === undefined && !tree) return;
    for (let record = from; record < to; record += 1) {
      const code = column === undefined ? ruleAt(tree, record) : live.ring.at(column, record);
      const time = live.ring.at(live.timeColumn, record);
      // One picture stands until its window is full.
      const free = Number.isNaN(triggeredAt) || time > triggeredAt + (1 - TRIGGER_SHARE) * windowS;
      if (code === ("rule" in trigger ? 1 : trigger.code) && before !== code && !Number.isNaN(before) && free) triggeredAt = time;
      before = code;
    }
  });
  /**
   * Return 1 where a rule is true with a record's sensors, 0 where it is not, NaN where that is not known.
   * @param {import("../rules.js").Tree | null} tree
   * @param {number} record
   */
  const ruleAt = (tree, record) => {
    const value = operandsIn((name) => live.sensed(name, record) ?? held.get(name), (name) => floats.has(name));
    const is = truth(tree, value);
    return is === null ? NaN : Number(is);
  };
  /** Names that the trigger's rule needs, those of rules inside it too. */
  const operands = () => {
    if (!trigger || !("rule" in trigger)) return [];
    const texts = new Map((live.model?.joints ?? []).flatMap((joint) => joint.states.map((state) => [state.rule.name, state.rule.by_name])));
    const found = new Set([trigger.rule]);
    for (const name of found) {
      const text = held.get(name) ?? texts.get(name) ?? live.model?.parameters.find((hdso) => hdso.name === name)?.value;
      for (const leaf of leaves(parseRule(text))) for (const operand of "name" in leaf ? [leaf.name] : [leaf.left, leaf.right]) found.add(operand);
    }
    return [...found].filter((name) => !live.index.has(name) && Number.isNaN(Number(name)));
  };

  // --- thresholds: as they are in force ---

  let asking = false;
  let askedAt = -Infinity;
  const askLevels = async () => {
    const shown = [...levelsOf.values()].flat().map((level) => level.name);
    const names = [...new Set([...shown, ...operands()])].filter((level) => Number.isNaN(Number(level)));
    if (!names.length || !live.open || !live.ring.end || asking) return;
    asking = true;
    askedAt = performance.now();
    const { ring } = live;
    try {
      const { values } = await live.ask("get", { names });
      // What was asked of a model that is no longer there is not this one's.
      if (ring !== live.ring) return;
      const at = newest();
      for (const [level, value] of Object.entries(values)) {
        if (typeof value === "number") steps.heard(level, at, value);
        held.set(level, value);
      }
      lanes.spoil();
    } catch {
      // They stay what they were; the frame of the page says that nothing answers.
    } finally {
      asking = false;
    }
  };
  /** Where central rules have forced an action, on the ring's time: events say the cycle. @type {number[]} */
  let forced = [];
  live.addEventListener("events", (event) => {
    const [bouts, cycles] = ["bout", "cycle"].map((column) => live.index.get(column) ?? -1);
    for (const { name: what, text } of /** @type {CustomEvent<import("../live.js").Happening[]>} */ (event).detail) {
      const cycle = what === "forced_switch" ? /cycle (\d+)$/.exec(text) : null;
      const record = cycle && bouts >= 0 ? live.ring.newest([[bouts, live.bout], [cycles, Number(cycle[1])]]) : -1;
      if (record >= 0) forced.push(live.ring.at(live.timeColumn, record));
    }
    forced.splice(0, forced.length - MOST_FORCED);
  });
  /** Sensors that were clamped: what they are sensed as stands beside what is measured. */
  let clamped = new Set();
  live.addEventListener("status", () => {
    const { clamps } = live;
    for (const sensor of clamped) if (clamps[sensor] === undefined) steps.heard(`sensed ${sensor}`, newest(), NaN);
    for (const [sensor, value] of Object.entries(clamps)) steps.heard(`sensed ${sensor}`, newest(), value);
    clamped = new Set(Object.keys(clamps));
  });
  // They may have changed when an edit, or its undoing, took effect; a script may change them without a word.
  let edits = "";
  live.addEventListener("status", () => {
    const { undo, redo, bout } = live.status ?? {};
    const now = `${undo} ${redo} ${bout}`;
    if (now === edits) return;
    edits = now;
    void askLevels();
  });
  const newRing = () => {
    if (live.ring === ringOfSteps) return;
    steps.clear();
    forced = [];
    ringOfSteps = live.ring;
  };

  // --- a model ---

  const has = (/** @type {string} */ column) => live.index.has(column) || live.sampled.index.has(column);
  const hdsoOf = (/** @type {string} */ column) => column.replace(/\[\d+\]$/, "");
  const unitOf = (/** @type {string} */ column) => {
    const known = live.index.get(column);
    if (known !== undefined) return live.columns[known].unit;
    return column.endsWith("_us") ? "\u00b5s" : live.model?.parameters.find(({ name }) => name === hdsoOf(column))?.unit ?? "";
  };
  /** Let lanes have what is sampled, and the list its names. */
  const followSampled = () => {
    const { ring, index } = live.sampled;
    const [source] = lanes.sources;
    if (source) lanes.sources = [source, { ring, time: 0, index, unit: unitOf, label: "sampled", sampled: true }];
    const records = live.columns.map(({ name: column }) => column).filter((column) => !["time", "cycle", "mode"].includes(column) && !column.endsWith(".stamp"));
    fill(list, ...[...records, ...[...index.keys()].slice(1)].map((column) => h("option", { value: column }, unitOf(column))));
    lanes.spoil();
  };
  live.addEventListener("newly sampled", () => {
    followSampled();
    // Those of a kept layout may be known only now.
    const kept = layouts()[""];
    if (kept && kept.names.some((column) => live.sampled.index.has(column) && !lanes.names.includes(column))) lanes.setNames(kept.names.filter(has));
  });
  const make = () => {
    const { model } = live;
    lanes.sources = [{ ring: live.ring, time: live.timeColumn, index: live.index, unit: unitOf, label: "live" }];
    followSampled();
    if (!model) return;
    lanes.actions = stripsOf(model);
    const help = columnHelp(model);
    const parameters = new Map(model.parameters.map((hdso) => [hdso.name, described(hdso)]));
    lanes.helpFor = (column) => help.get(column)?.help ?? parameters.get(hdsoOf(column)) ?? (column.startsWith("task.") ? "how much later than its time the task began in the last second, \u00b5s: the most, or what 99 % stay below" : "");
    fill(
      when,
      h("option", { value: "" }, "no trigger"),
      ...chainOf(model).flatMap((joint) => joint.states.map((state) => h("option", { value: `${joint.name}.state\u0000${state.code}` }, `when ${state.name} begins`))),
      ...chainOf(model).flatMap((joint) => joint.states.filter((state) => state.rule.by_name).map((state) => h("option", { value: state.rule.name }, `when ${state.rule.name} becomes true`))),
    );
    floats = new Set([...model.parameters, ...model.sensors].filter(({ datatype }) => datatype === "float").map((hdso) => hdso.name));
    trigger = null;
    levelsOf = new Map();
    for (const { sensor, op, threshold, state } of thresholds(model)) {
      const levels = levelsOf.get(sensor) ?? [];
      levels.push({ name: threshold, text: `${op} ${threshold}`, state });
      levelsOf.set(sensor, levels);
    }
    newRing();
    void askLevels();
    const kept = layouts()[""];
    const known = kept?.names.filter(has) ?? [];
    if (kept) setWindow(kept.windowS);
    lanes.setNames(known.length ? known : preset("*default"));
    showLayouts();
    hold(NaN);
  };
  live.addEventListener("layout", make);
  make();

  const levels = (/** @type {string} */ sensor) => [
    ...steps.within(`sensed ${sensor}`, end() - windowS, end()).filter(({ value }) => !Number.isNaN(value)).map((step) => ({ ...step, label: "sensed: clamped" })),
    ...(levelsOf.get(sensor) ?? []).flatMap(({ name: level, text }) => {
      const value = Number(level);
      const to = end();
      if (!Number.isNaN(value)) return [{ value, label: text }];
      return steps.within(level, to - windowS, to).map((step) => ({ ...step, label: text }));
    }),
  ];

  return {
    element: h(
      "div",
      { class: "page page-traces" },
      h("h1", { class: "unseen" }, "Traces"),
      h("div", { class: "toolbar" }, pause, h("span", { class: "segmented" }, back, on), h("span", { class: "segmented" }, closer, farther), span, when, add, list, layout, name, save, file),
      chart,
    ),
    show: () => lanes.spoil(),
    frame(now) {
      const [source] = lanes.sources;
      newRing();
      if (performance.now() - askedAt > LEVELS_MS) void askLevels();
      if (source && source.ring !== live.ring) source.ring = live.ring;
      if (lanes.sources[1]?.ring !== live.sampled.ring) followSampled();
      const to = end();
      const start = Number.isNaN(live.start) ? newest() : live.start;
      const relative = Number.isNaN(live.start);
      const marks = [...live.starts].map(([bout, at]) => ({ at, text: `bout ${bout}` }));
      marks.push(...forced.map((at) => ({ at, text: "forced" })));
      if (!Number.isNaN(triggeredAt)) marks.push({ at: triggeredAt, text: "trigger" });
      const at = Number.isNaN(cursor) ? to : cursor;
      const where = `${clock(at - start, 3)}${Number.isNaN(cursor) ? "" : " at the cursor"}`;
      lanes.draw({ from: to - windowS, to, cursor, levels, marks, start, where, axis: (time) => (relative ? `${number(time, windowS < 2 ? 2 : 1)} s` : clock(time, windowS < 2 ? 2 : windowS < 20 ? 1 : 0)) }, now);
    },
  };
}

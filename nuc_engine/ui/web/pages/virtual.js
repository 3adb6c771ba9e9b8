// A bout on the virtual clock: an emulated leg that goes slower, cycle by cycle, or stands still. The daemon's does not.

import { field, fill, h, pressOnce, roving, setAttribute, setText } from "../dom.js";
import { clock, number } from "../format.js";
import { readFrame } from "../frames.js";
import { typedLine } from "../jobs.js";
import { Lanes } from "../lanes.js";
import { LegView, VIEWS } from "../legview.js";
import { chainOf, columnHelp, stripsOf } from "../model.js";
import { Ring } from "../ring.js";
import { Refused } from "../session.js";
import { jointCard } from "./leg.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../live.js").Column} Column */
/** @typedef {{id: string, state: string, text: string, line: string, result: string | null, columns: Column[], plant: import("../live.js").Plant | null, missed: number}} Told */

const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];
const STEPS = [1, 10, 100];
/** How often records are asked for while it is looked at, and how often while it is not, so that it is not ended. */
const POLL_MS = 40;
const KEEP_MS = 20_000;
const SLOW_MS = 100;
const KEEP_S = 600;
const FASTEST_HZ = 200;
const WINDOW_S = 4;

/** Its records, as a page asks for values. */
export class VirtualBout {
  /**
   * @param {string} id
   * @param {import("../model.js").Model} model
   */
  constructor(id, model) {
    this.id = id;
    this.model = model;
    /** @type {Column[]} */
    this.columns = [];
    /** @type {Map<string, number>} */
    this.index = new Map();
    this.ring = new Ring(0, 0);
    this.state = "waiting";
    this.missed = 0;
  }

  /** @param {Column[]} columns */
  setColumns(columns) {
    if (this.columns.length || !columns.length) return;
    this.columns = columns;
    this.index = new Map(columns.map((column, k) => [column.name, k]));
    this.ring = new Ring(columns.length, KEEP_S * FASTEST_HZ);
  }

  get time() {
    return this.index.get("time") ?? -1;
  }

  /**
   * Take records; their time becomes seconds.
   * @param {ArrayBuffer} data
   * @returns {number} how many
   */
  take(data) {
    const { count, rows } = readFrame(data);
    const width = this.columns.length;
    if (!count || rows.length !== count * width) return 0;
    for (let row = 0; row < count; row += 1) rows[row * width + this.time] /= 1e9;
    this.ring.push(rows, count);
    return count;
  }

  /**
   * The newest value of a column; NaN where there is none.
   * @param {string} name
   */
  now(name) {
    const column = this.index.get(name);
    return column === undefined || !this.ring.end ? NaN : this.ring.at(column, this.ring.end - 1);
  }

  get busy() {
    return this.state === "waiting" || this.state === "running";
  }
}

/**
 * @param {Context} context
 * @returns {{element: HTMLElement, show: () => void, hide: () => void, frame: (now: number) => void}}
 */
export function virtualView({ live, api, say, line }) {
  const view = new LegView();
  const lanes = new Lanes({});
  const cardPlace = h("div", { class: "virtual-joints" });
  /** @type {VirtualBout | null} */
  let bout = null;
  /** What was asked for last: "run", or "stand". */
  let wanted = "stand";
  /** @type {ReturnType<typeof jointCard>[]} */
  let cards = [];
  let asking = false;
  let askedAt = -Infinity;
  let slowAt = 0;
  let shown = false;

  const script = h("select", { help: "changes that are made at their times; without one the rules step from the values in force" }, h("option", { value: "" }, "no script"));
  const duration = h("input", { type: "number", min: 0.1, max: 3600, step: "any", value: 60, class: "tiny", inputmode: "decimal" });
  const seed = h("input", { type: "number", min: 0, step: 1, value: 0, class: "tiny", inputmode: "numeric" });
  const begin = h("button", { type: "button", class: "primary", help: "begin a bout of an emulated leg from the values and joint angles in force; it stands until you let it go. Nothing of it reaches the daemon or the leg" }, "Begin");
  const end = h("button", { type: "button", help: "end it; what it has recorded is then opened like a bout, as long as this server runs" }, "End");
  const play = h("button", { type: "button", class: "pause", "aria-pressed": "false", "aria-keyshortcuts": "Space", help: "go on at this speed, or stand still (Space)" }, "\u25b6 Go on");
  const speed = h("select", { "aria-label": "speed of its clock", help: "how fast its clock goes; \u00d71 is as a real leg's" }, SPEEDS.map((factor) => h("option", { value: factor, selected: factor === 0.1 }, `\u00d7${factor}`)));
  const steps = h("span", { class: "segmented", role: "group", "aria-label": "cycle by cycle" }, STEPS.map((count) => h("button", { type: "button", help: `go on for ${count === 1 ? "one cycle" : `${count} cycles`} of its engine, then stand still${count === 1 ? " (full stop key)" : ""}`, on: { click: () => void steer({ step: count }) } }, count === 1 ? "1 cycle" : String(count))));
  const where = h("output", { class: "readout" }, "–");
  const state = h("p", { class: "note", role: "status" });
  const looks = h("div", { class: "segmented", role: "group", "aria-label": "where to look from" });
  for (const [name, { title }] of Object.entries(VIEWS)) looks.append(h("button", { type: "button", help: `look at it from here: ${title.toLowerCase()}`, on: { click: () => view.look(/** @type {keyof VIEWS} */ (name)) } }, title));
  roving(looks);

  const failed = (/** @type {unknown} */ error) => {
    if (!(error instanceof Refused)) throw error;
    setText(state, error.message);
    say(error.message, "bad");
  };
  const steer = async (/** @type {Record<string, unknown>} */ how) => {
    if (!bout?.busy) return;
    wanted = "speed" in how ? "run" : "stand";
    tell();
    try {
      await api.json(`virtual/${bout.id}`, { method: "POST", body: how });
      say("the virtual clock was told what a line of nuc run --steered tells it", "good", JSON.stringify(how));
    } catch (error) {
      failed(error);
    }
  };
  const go = () => void steer(wanted === "run" ? { pause: true } : { speed: Number(speed.value) });
  play.addEventListener("click", go);
  speed.addEventListener("change", () => {
    if (wanted === "run") void steer({ speed: Number(speed.value) });
  });
  end.addEventListener("click", () => void steer({ end: true }));

  const start = async () => {
    const { model } = live;
    if (!model || !live.liveness(performance.now()).live) throw new Refused("refused", "what is in force is not known: it is not live");
    const angles = Object.fromEntries(model.joints.flatMap((joint) => (joint.motor ? [[joint.name, live.now(joint.motor.angle_sensor.name)]] : [])).filter(([, angle]) => Number.isFinite(angle)));
    const text = script.value ? (await live.ask("script_text", { name: script.value })).text : "";
    const [documents, { values }] = await Promise.all([live.ask("documents"), live.ask("get", { names: [-1] })]);
    if (model !== live.model) throw new Refused("refused", "another model came into force meanwhile: try it again");
    const scripted = script.value ? { script: text, script_name: script.value } : {};
    const body = { name: live.configuration, documents, values, angles, ...scripted, duration_s: duration.valueAsNumber || 60, seed: seed.valueAsNumber || 0 };
    const told = /** @type {Told} */ (await api.json("virtual", { method: "POST", body }));
    say("a bout on the virtual clock: begun", "good", typedLine(live.configuration, told.line));
    const before = bout;
    if (before?.busy) void api.fetch(`virtual/${before.id}`, { method: "POST", body: { end: true } }).catch(() => {});
    bout = new VirtualBout(told.id, model);
    wanted = "stand";
    view.setShape({ model, plant: told.plant });
    cards = chainOf(model).map((joint) => jointCard(joint, /** @type {any} */ (bout)));
    fill(cardPlace, ...cards.map((card) => card.element));
    lanes.actions = stripsOf(model);
    const help = columnHelp(model);
    lanes.helpFor = (column) => help.get(column)?.help ?? "";
    lanes.sources = [];
    lanes.setNames([]);
    stage.hidden = false;
    tell();
  };
  pressOnce(begin, async () => {
    setText(state, "begins \u2026");
    try {
      await start();
    } catch (error) {
      failed(error);
    }
  });

  /** @param {VirtualBout} of */
  const ask = async (of) => {
    asking = true;
    askedAt = performance.now();
    try {
      const answer = await api.fetch(`virtual/${of.id}/records`);
      const data = await answer.arrayBuffer();
      const before = of.state;
      of.state = answer.headers.get("x-nuc-state") ?? of.state;
      of.missed = Number(answer.headers.get("x-nuc-missed") ?? 0);
      if (!of.columns.length && Number(answer.headers.get("x-nuc-columns"))) {
        of.setColumns((await api.json(`virtual/${of.id}`)).columns);
        if (of === bout) makeLanes();
      }
      const from = of.ring.end;
      const count = of.take(data);
      if (of !== bout) return;
      for (let record = from; record < from + count; record += 1) pose(record);
      if (before !== of.state && !of.busy) await ended(of);
    } catch (error) {
      if (of === bout && error instanceof Refused && error.kind === "not_found") of.state = "gone";
      else if (!(error instanceof Refused)) throw error;
    } finally {
      asking = false;
    }
  };
  const makeLanes = () => {
    if (!bout) return;
    const { ring, index, columns, model, time } = bout;
    const joints = chainOf(model).filter((joint) => joint.states.length);
    lanes.sources = [{ ring, time, index, unit: (name) => columns[index.get(name) ?? -1]?.unit ?? "", label: "virtual" }];
    lanes.setNames(joints.flatMap((joint) => [`${joint.name}.state`, ...(joint.motor ? [joint.motor.angle_sensor.name] : [])]).concat("plant.contact_n").filter((name) => index.has(name)));
  };
  const pose = (/** @type {number} */ record) => {
    if (!bout) return;
    const { ring, index, time } = bout;
    const value = (/** @type {string} */ name) => {
      const column = index.get(name);
      return column === undefined ? NaN : ring.at(column, record);
    };
    view.pose(ring.at(time, record), value);
    const force = value("plant.contact_n");
    view.contact = Number.isNaN(force) ? null : force > 0;
    const foot = ["x", "y", "z"].map((axis) => value(`plant.${axis}_cm`));
    view.trueFoot = foot.some(Number.isNaN) ? null : /** @type {[number, number, number]} */ (foot);
  };
  const ended = async (/** @type {VirtualBout} */ of) => {
    wanted = "stand";
    const job = await api.json(`jobs/${of.id}`);
    fill(opened, job.result ? h("a", { href: `#bouts/${job.result}`, class: "button" }, "Open what it recorded") : null);
    if (job.state === "failed") setText(state, `it ended: ${job.text}`);
    tell();
  };
  const opened = h("span", {});

  const tell = () => {
    const busy = !!bout?.busy;
    for (const control of [play, end, ...steps.querySelectorAll("button")]) /** @type {HTMLButtonElement} */ (control).disabled = !busy;
    setText(play, wanted === "run" ? "\u2016 Stand still" : "\u25b6 Go on");
    setAttribute(play, "aria-pressed", String(wanted === "run"));
    if (!bout) return;
    const at = bout.now("time");
    const foot = bout.now("plant.contact_n");
    setText(where, `${clock(at, 3)}, cycle ${number(bout.now("cycle"), 0)}${Number.isNaN(foot) ? "" : foot > 0 ? `, on the ground with ${number(foot, 1)} N` : ", in the air"}`);
    if (bout.busy) fill(opened);
    const missed = bout.missed ? `; ${bout.missed} cycles were not shown` : "";
    if (bout.busy) setText(state, bout.ring.end ? `${wanted === "run" ? `goes at \u00d7${speed.value}` : "stands still"}${missed}` : "begins \u2026");
    else if (bout.state !== "failed") setText(state, `it has ended${missed}`);
  };

  const stage = h(
    "div",
    { class: "player-body", hidden: true },
    h("div", { class: "player-leg" }, h("div", { class: "stage-canvas" }, view.paper.canvas), looks),
    h("div", { class: "player-traces" }, lanes.element),
  );
  const element = h(
    "section",
    { class: "panel player virtual", "aria-label": "a bout on the virtual clock" },
    h("p", { class: "dry-run", role: "note" }, h("strong", {}, "VIRTUAL CLOCK. "), "An emulated leg in a process of its own, from the values and joint angles in force when it began. Nothing of it reaches the daemon or the leg, and their clock is never slowed."),
    h("div", { class: "toolbar" }, h("a", { href: "#leg", class: "button", help: "back to the leg of the daemon; this one stands still meanwhile" }, "\u25c2 The leg"), script, field("for, s", duration, "how long it lasts on its own clock"), field("seed", seed, "decides friction, sensor noise and servo turnaround"), begin),
    h("div", { class: "toolbar" }, play, steps, speed, end, opened, where),
    state,
    stage,
    cardPlace,
  );
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof Element) || event.target.closest("input, select, button, a")) return;
    if (event.key === " ") go();
    else if (event.key === ".") void steer({ step: 1 });
    else return;
    event.preventDefault();
  });
  setInterval(() => {
    if (bout?.busy && !asking && performance.now() - askedAt > KEEP_MS) void ask(bout);
  }, KEEP_MS / 4);
  tell();

  const names = async () => {
    try {
      const scripts = /** @type {{name: string}[]} */ (await live.ask("scripts"));
      const chosen = script.value;
      fill(script, h("option", { value: "" }, "no script"), ...scripts.map(({ name }) => h("option", { value: name, selected: name === chosen }, name)));
    } catch (error) {
      failed(error);
    }
  };
  return {
    element,
    show() {
      if (!shown) void names();
      shown = true;
    },
    /** Nobody sees it: it waits. */
    hide() {
      shown = false;
      if (wanted === "run") void steer({ pause: true });
    },
    frame(now) {
      if (bout && bout.busy && !asking && now - askedAt > POLL_MS) void ask(bout);
      if (!bout) return;
      view.draw();
      for (const card of cards) card.act();
      const at = bout.now("time");
      if (Number.isFinite(at)) lanes.draw({ from: Math.max(0, at - WINDOW_S), to: Math.max(at, WINDOW_S), cursor: NaN, levels: () => [], marks: [], start: 0, where: clock(at, 3), axis: (time) => clock(time, 2) }, now);
      if (now - slowAt < SLOW_MS) return;
      slowAt = now;
      for (const card of cards) card.tell();
      tell();
    },
  };
}

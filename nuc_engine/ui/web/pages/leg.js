// The leg as it is now, and beside it each joint with its muscles and sensors.

import { cameraBeside } from "../camera.js";
import { fill, h, roving, setAttribute, setText } from "../dom.js";
import { number, shortUnit } from "../format.js";
import { aboveGround } from "../kinematics.js";
import { LegView, VIEWS } from "../legview.js";
import { actionsOf, chainOf, described } from "../model.js";
import { virtualView } from "./virtual.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */

const SLOW_MS = 100;
/** What happened to the foot longer ago than this is not shown. */
const OLD_FOOT_MS = 300;
/** As many records as the foot's path has are drawn when the page is opened again. */
const TRAIL = 4096;

/**
 * @param {Context} context
 * @returns {Page}
 */
export function legPage(context) {
  const { live, go } = context;
  const virtual = virtualView(context);
  const camera = cameraBeside();
  const view = new LegView();
  const joints = h("div", { class: "joints", id: "joints" });
  const note = h("p", { class: "note", id: "leg-note" });
  const foot = h("p", { class: "readout live", id: "foot" });
  const looks = h("div", { class: "segmented", role: "group", "aria-label": "where to look from" });
  for (const [name, { title }] of Object.entries(VIEWS)) {
    looks.append(h("button", { type: "button", help: `look at it from here: ${title.toLowerCase()}`, "data-view": name, on: { click: () => view.look(/** @type {keyof VIEWS} */ (name)) } }, title));
  }
  roving(looks);
  const mark = () => {
    for (const button of looks.querySelectorAll("button")) {
      const place = VIEWS[/** @type {keyof VIEWS} */ (button.dataset.view)];
      setAttribute(button, "aria-pressed", String(place.turn === view.turn && place.lift === view.lift));
    }
  };
  view.onTurn = mark;
  mark();
  const trailOf = h("select", { "aria-label": "whose action colours the foot's path", help: "the foot's path has the colour of this joint's action at each moment" });
  const trailS = h(
    "select",
    { "aria-label": "how much of the foot's path", help: "how much of the foot's path is drawn behind it" },
    [2, 5, 10, 20].map((seconds) => h("option", { value: seconds, selected: seconds === 5 }, `${seconds} s of path`)),
  );
  trailOf.addEventListener("change", () => {
    view.trailJoint = Number(trailOf.value);
  });
  trailS.addEventListener("change", () => {
    view.trailS = Number(trailS.value);
  });
  /** @type {ReturnType<typeof jointCard>[]} */
  let cards = [];
  /** How many records the leg has been through. */
  let posed = 0;

  const make = () => {
    const { model, plant } = live;
    view.setShape(model ? { model, plant } : null);
    fill(trailOf, ...view.chain.map((joint, k) => (joint.states.length ? h("option", { value: k, selected: k === view.trailJoint }, `coloured by ${joint.name}`) : null)));
    setText(
      note,
      !model
        ? "Nothing is configured."
        : plant
          ? "A stiff leg, from joint angles: the emulated one bends a little between them and the foot, whose true place is dashed, filled while it is on the ground. Ground and foot are as large as they are."
          : "Stiff, from joint angles; where the ground is, is unknown.",
    );
    cards = model ? chainOf(model).map((joint) => jointCard(joint, live)) : [];
    fill(joints, ...cards.map((card) => card.element));
    // What has come before this page was opened.
    const { ring } = live;
    if (!ring.end) return;
    const from = Math.max(ring.begin, ring.find(live.timeColumn, ring.at(live.timeColumn, ring.end - 1) - 20));
    take(from, ring.end);
    posed = ring.end;
    view.centre();
  };

  view.onSelect = (k) => {
    const joint = view.chain[k];
    view.selected = k;
    if (joint) go(`joints/${encodeURIComponent(joint.name)}`);
  };

  /**
   * @param {number} from
   * @param {number} to
   */
  const take = (from, to) => {
    const { ring, index, timeColumn } = live;
    for (let record = Math.max(from, ring.begin); record < to; record += 1) {
      view.pose(ring.at(timeColumn, record), (name) => {
        const column = index.get(name);
        return column === undefined ? NaN : ring.at(column, record);
      });
    }
  };

  live.addEventListener("layout", make);
  make();
  /** Let the leg come up to now, or to what the camera beside it shows now. */
  const follow = () => {
    const { ring, timeColumn } = live;
    if (!ring.end) return;
    const late = camera.late();
    const until = late ? ring.find(timeColumn, ring.at(timeColumn, ring.end - 1) - late) : ring.end;
    // Another ring, or another lateness: what was drawn is no part of this path.
    if (until < posed) view.trail.clear();
    take(until < posed ? until - 1 : Math.max(posed, until - TRAIL), until);
    posed = until;
  };

  const stage = h(
    "section",
    { class: "panel stage", "aria-label": "the leg in space" },
    h("div", { class: "toolbar" }, looks, trailOf, trailS, camera.on, h("a", { href: "#leg/virtual", class: "button", help: "an emulated leg in a process of its own: slow motion, cycle by cycle, or standing still" }, "Virtual clock \u2026")),
    h("div", { class: "stage-canvas live", help: "drag to turn it, or use the arrow keys; + and - zoom; a click on a segment opens its joint" }, view.paper.canvas),
    h("div", {}, foot, note),
  );
  view.paper.canvas.setAttribute("aria-label", "the leg, drawn from its joint angles; arrow keys turn it, + and - zoom");
  let slowAt = 0;
  const here = h("div", { class: "page page-leg" }, stage, h("div", { class: "leg-side" }, camera.element, joints));
  const there = h("div", { class: "page page-virtual", hidden: true }, virtual.element);
  return {
    element: h("div", { class: "leg-place" }, h("h1", { class: "unseen" }, "Leg"), here, there),
    show(rest) {
      here.hidden = rest === "virtual";
      there.hidden = !here.hidden;
      if (here.hidden) virtual.show();
      else virtual.hide();
    },
    hide() {
      virtual.hide();
      // Nobody is filmed by a page that nobody looks at.
      camera.close();
    },
    frame(now) {
      if (here.hidden) return virtual.frame(now);
      follow();
      // What is told of the foot is now; a leg that is drawn late has another.
      const real = live.foot && now - live.foot.heardAt < OLD_FOOT_MS && !camera.late() ? live.foot : null;
      view.contact = real && real.contact_n > 0;
      view.trueFoot = real && real.at_cm;
      view.draw();
      for (const card of cards) card.act();
      if (now - slowAt < SLOW_MS || !view.shape) return;
      slowAt = now;
      for (const card of cards) card.tell();
      const ground = real ? (real.contact_n > 0 ? `, on the ground with ${number(real.contact_n, 1)} N` : ", in the air") : "";
      const place = (/** @type {import("../legview.js").Point} */ [x, y, z]) => {
        const above = aboveGround(z, live.plant);
        return `${number(x, 1)}, ${number(y, 1)}, ${number(z, 1)} cm${Number.isNaN(above) ? "" : `, ${number(above, 1)} cm above ground`}`;
      };
      const feet = view.feet().map(place);
      setText(foot, feet.length ? `${feet.length > 1 ? "feet" : "foot"} ${feet.join("; ")}${ground}${camera.late() ? `; ${number(1000 * camera.late(), 0)} ms ago, as in the camera's picture` : ""}` : "");
    },
  };
}

/**
 * A joint's action, its sensors and its muscles.
 * @param {import("../model.js").Joint} joint
 * @param {{model: import("../model.js").Model | null, now: (name: string) => number}} live whose newest values are told
 */
export function jointCard(joint, live) {
  const actions = live.model ? actionsOf(live.model) : new Map();
  const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
  const action = h("span", { class: "action-name" }, "–");
  /** @type {(() => void)[]} */
  const tellers = [];
  const sensorOf = new Map((live.model?.sensors ?? []).map((sensor) => [sensor.name, sensor]));

  const sensor = (/** @type {string} */ name) => {
    const known = sensorOf.get(name);
    const value = h("td", { class: "number live" }, "–");
    const span = name === joint.motor?.angle_sensor.name ? joint.motor.range_deg : null;
    const bar = span ? meter() : null;
    tellers.push(() => {
      const now = live.now(name);
      setText(value, number(now, 1));
      if (bar && span) bar.set((now - span[0]) / (span[1] - span[0]));
    });
    return h("tr", { help: known ? `${described(known)}${known.unit ? `, in ${known.unit}` : ""}` : "" }, h("th", { scope: "row" }, name), value, h("td", { class: "unit" }, shortUnit(known?.unit)), h("td", { class: "bar-cell" }, bar?.element));
  };

  const muscle = (/** @type {import("../model.js").Muscle} */ what) => {
    const force = h("td", { class: "number live" }, "–");
    const bar = meter();
    const activation = h("span", { class: "number live" }, "–");
    tellers.push(() => {
      setText(force, number(live.now(`${what.name}.force`), 2));
      const active = live.now(`${what.name}.activation`);
      setText(activation, number(active, 2));
      bar.set(active);
    });
    return h("tr", { help: described(what) }, h("th", { scope: "row" }, what.name), force, h("td", { class: "unit" }, "force"), h("td", { class: "bar-cell" }, bar.element, activation));
  };

  /** @type {unknown} */
  let acts = null;
  const names = new Set();
  if (joint.motor) for (const { name } of [joint.motor.angle_sensor, joint.motor.load_sensor]) names.add(name);
  for (const organ of joint.sense_organs) for (const { name } of organ.sensors) names.add(name);
  const title = h("a", { class: "joint-name", href: `#joints/${encodeURIComponent(joint.name)}`, help: described(joint) }, joint.name);
  const element = h(
    "section",
    { class: "panel joint", "aria-label": joint.name },
    h("header", {}, title, joint.states.length ? h("span", { class: "action live" }, swatch, action) : h("span", { class: "muted" }, "held, no actions")),
    h(
      "table",
      { class: "readings" },
      h("caption", { class: "unseen" }, `sensors and muscles of ${joint.name}`),
      h("colgroup", {}, ["name", "value", "unit", "bar"].map((part) => h("col", { class: `col-${part}` }))),
      h("tbody", {}, [...names].map(sensor), joint.muscles.map(muscle)),
    ),
  );
  return {
    element,
    /** The action is told with every picture, as in the picture of the leg; numbers as fast as one can read. */
    act() {
      const state = actions.get(live.now(`${joint.name}.state`));
      setText(action, state?.state.name ?? "none");
      if (state !== acts) swatch.style.background = state?.color ?? "";
      acts = state;
    },
    tell() {
      for (const teller of tellers) teller();
    },
  };
}

/** A bar from 0 to 1. */
function meter() {
  const filled = h("span", { class: "meter-fill" });
  return {
    element: h("span", { class: "meter live", "aria-hidden": "true" }, filled),
    /** @param {number} share */
    set(share) {
      const known = Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0;
      filled.style.transform = `scaleX(${known.toFixed(3)})`;
    },
  };
}

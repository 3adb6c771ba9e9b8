// The leg in space, or all legs of a body, drawn from joint angles: stiff legs, whose segments have the colour of their
// joint's action.

import { jointOrigins } from "./kinematics.js";
import { actionsOf, chainOf, legsOf } from "./model.js";
import { palette, Paper } from "./paint.js";

/** @typedef {[number, number, number]} Point */
/** @typedef {{model: import("./model.js").Model, plant: import("./live.js").Plant | null}} Shape */

/** Where one looks from: degrees about z, and above the horizon. Along x is forward. */
export const VIEWS = {
  orbit: { turn: 35, lift: 22, title: "Orbit" },
  side: { turn: 0, lift: 0, title: "Side" },
  front: { turn: 90, lift: 0, title: "Front" },
  top: { turn: 0, lift: 90, title: "Top" },
};

const TRAIL = 4096;

/** Where the feet were lately, with the actions of that time. */
export class Trail {
  /**
   * @param {number} joints
   * @param {number} feet
   */
  constructor(joints, feet) {
    this.time = new Float64Array(TRAIL);
    this.points = new Float64Array(3 * feet * TRAIL);
    this.states = new Int32Array(joints * TRAIL);
    this.joints = joints;
    this.feet = feet;
    this.end = 0;
  }

  /**
   * @param {number} time
   * @param {readonly Point[]} feet
   * @param {ArrayLike<number>} states
   */
  add(time, feet, states) {
    const at = this.end % TRAIL;
    this.time[at] = time;
    feet.forEach((point, foot) => this.points.set(point, 3 * (this.feet * at + foot)));
    for (let k = 0; k < this.joints; k += 1) this.states[this.joints * at + k] = states[k];
    this.end += 1;
  }

  /**
   * @param {number} n of all that were added
   * @param {number} foot
   * @returns {Point}
   */
  at(n, foot) {
    const at = 3 * (this.feet * (n % TRAIL) + foot);
    return [this.points[at], this.points[at + 1], this.points[at + 2]];
  }

  clear() {
    this.end = 0;
  }

  get begin() {
    return Math.max(0, this.end - TRAIL);
  }
}

export class LegView {
  constructor() {
    this.paper = new Paper("the leg, drawn from its joint angles");
    const { canvas } = this.paper;
    canvas.tabIndex = 0;
    this.turn = VIEWS.orbit.turn;
    this.lift = VIEWS.orbit.lift;
    this.zoom = 1;
    /** @type {Shape | null} */
    this.shape = null;
    /** @type {import("./model.js").Joint[]} */
    this.chain = [];
    /** Which joints each leg has, from the body to the foot. @type {number[][]} */
    this.legs = [];
    this.actions = new Map();
    this.trail = new Trail(0, 0);
    /** Which joint's actions colour the trail; of other legs it is the one at the same place. */
    this.trailJoint = 0;
    this.trailS = 5;
    this.selected = -1;
    this.angles = new Float64Array(0);
    this.states = new Int32Array(0);
    /** @type {Point} */
    this.middle = [0, 0, 0];
    this.centred = false;
    this.reach = 20;
    /** Contact of the foot, where it is known. @type {boolean | null} */
    this.contact = null;
    /** Where an emulated leg's foot really was; a stiff leg's is elsewhere. @type {Point | null} */
    this.trueFoot = null;
    this.changed = true;
    /** @type {(joint: number) => void} */
    this.onSelect = () => undefined;
    /** @type {() => void} */
    this.onTurn = () => undefined;
    /** @type {{x: number, y: number, joint: number}[]} */
    this.places = [];
    this.drawn = "";
    this.listen(canvas);
  }

  /** @param {Shape | null} shape */
  setShape(shape) {
    this.shape = shape;
    this.chain = shape ? chainOf(shape.model) : [];
    this.actions = shape ? actionsOf(shape.model) : new Map();
    this.legs = legsOf(this.chain);
    this.trail = new Trail(this.chain.length, this.legs.length);
    this.trailJoint = Math.max(0, this.chain.map((joint) => joint.states.length > 0).lastIndexOf(true));
    this.angles = new Float64Array(this.chain.length).fill(NaN);
    this.states = new Int32Array(this.chain.length).fill(-1);
    const length = (/** @type {number[]} */ leg) => leg.reduce((sum, k) => sum + Math.hypot(this.chain[k].geometry.dh_line?.a_cm ?? 0, this.chain[k].geometry.dh_line?.d_cm ?? 0), 0);
    const bases = this.points().map(([base]) => base);
    const apart = bases.flatMap((a) => bases.map((b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])));
    this.reach = Math.max(0, ...this.legs.map(length)) + Math.max(0, ...apart) || 20;
    this.centred = false;
    this.changed = true;
  }

  /** Put the leg and its path into the middle. The view then stays where it is while the leg moves. */
  centre() {
    const points = this.points().flat();
    const { trail } = this;
    for (let n = trail.begin; n < trail.end; n += 16) this.legs.forEach((_, foot) => points.push(trail.at(n, foot)));
    const known = points.filter((point) => point.every(Number.isFinite));
    if (!known.length) return;
    const ground = this.shape?.plant?.ground_z_cm;
    if (ground !== undefined) known.push([known[0][0], known[0][1], ground]);
    const middle = (/** @type {number} */ axis) => {
      const values = known.map((point) => point[axis]);
      return (Math.min(...values) + Math.max(...values)) / 2;
    };
    this.middle = [middle(0), middle(1), middle(2)];
    this.centred = true;
    this.changed = true;
  }

  /**
   * Take a pose.
   * @param {number} time s
   * @param {(column: string) => number} value by the column's name
   * @param {boolean} [keep] in the trail
   */
  pose(time, value, keep = true) {
    if (!this.shape) return;
    this.chain.forEach((joint, k) => {
      this.angles[k] = joint.motor ? value(joint.motor.angle_sensor.name) : 0;
      const state = value(`${joint.name}.state`);
      this.states[k] = Number.isNaN(state) ? -1 : state;
    });
    if (keep) this.trail.add(time, this.feet(), this.states);
    if (!this.centred) this.centre();
    this.changed = true;
  }

  /** Where each leg's joints and its foot are. */
  points() {
    return this.legs.map((leg) => jointOrigins(leg.map((k) => this.chain[k].geometry), leg.map((k) => this.angles[k])));
  }

  /** Where the feet are. */
  feet() {
    return this.points().map((points) => points[points.length - 1]);
  }

  /** @param {keyof VIEWS} name */
  look(name) {
    this.turn = VIEWS[name].turn;
    this.lift = VIEWS[name].lift;
    this.zoom = 1;
    this.centre();
    this.onTurn();
  }

  /** @param {HTMLCanvasElement} canvas */
  listen(canvas) {
    /** @type {{x: number, y: number, moved: boolean} | null} */
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { x: event.clientX, y: event.clientY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      drag = { x: event.clientX, y: event.clientY, moved: true };
      this.orbit(-dx * 0.4, dy * 0.4);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) this.pick(event.offsetX, event.offsetY);
      drag = null;
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoomBy(event.deltaY > 0 ? 0.9 : 1.1);
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      /** @type {Record<string, () => void>} */
      const keys = {
        ArrowLeft: () => this.orbit(-5, 0),
        ArrowRight: () => this.orbit(5, 0),
        ArrowUp: () => this.orbit(0, 5),
        ArrowDown: () => this.orbit(0, -5),
        "+": () => this.zoomBy(1.1),
        "-": () => this.zoomBy(0.9),
      };
      if (event.ctrlKey || event.metaKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  /**
   * @param {number} turn
   * @param {number} lift
   */
  orbit(turn, lift) {
    this.turn = (this.turn + turn + 360) % 360;
    this.lift = Math.max(-10, Math.min(90, this.lift + lift));
    this.changed = true;
    this.onTurn();
  }

  /** @param {number} factor */
  zoomBy(factor) {
    this.zoom = Math.max(0.3, Math.min(8, this.zoom * factor));
    this.changed = true;
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  pick(x, y) {
    let best = -1;
    let near = 24;
    for (const place of this.places) {
      const distance = Math.hypot(place.x - x, place.y - y);
      if (distance < near) [best, near] = [place.joint, distance];
    }
    if (best >= 0) this.onSelect(best);
  }

  draw() {
    const colors = palette();
    const key = `${this.paper.version}|${colors.ink}|${this.selected}|${this.trailJoint}|${this.trailS}`;
    if (!this.changed && key === this.drawn) return;
    this.changed = false;
    this.drawn = key;
    const pen = this.paper.begin();
    const { width, height } = this.paper;
    if (!this.shape || width < 2) return;
    const scale = (this.zoom * Math.min(width * 1.05, height * 1.3)) / (this.reach * 1.35);
    const turn = (this.turn * Math.PI) / 180;
    const lift = (this.lift * Math.PI) / 180;
    const [ct, st, cl, sl] = [Math.cos(turn), Math.sin(turn), Math.cos(lift), Math.sin(lift)];
    const [mx, my, mz] = this.middle;
    // Seen from the leg's outer side (y, to the left) at turn 0: x forward is to the left of the picture.
    /** @type {(x: number, y: number, z: number) => Point} */
    const project = (x, y, z) => {
      const [dx, dy, dz] = [x - mx, y - my, z - mz];
      const across = -(dx * ct - dy * st);
      const deep = dx * st + dy * ct;
      return [width / 2 + scale * across, height * 0.54 - scale * (dz * cl - deep * sl), dz * sl + deep * cl];
    };
    const ground = this.shape.plant?.ground_z_cm;
    this.drawGround(pen, project, ground ?? 0, ground !== undefined && ground !== null);
    this.drawTrail(pen, project);
    this.drawLeg(pen, project, scale);
    this.drawAxes(pen, ct, st, cl, sl, height);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {(x: number, y: number, z: number) => Point} project
   * @param {number} z
   * @param {boolean} known
   */
  drawGround(pen, project, z, known) {
    if (!known) return;
    const colors = palette();
    const cell = 5;
    const half = Math.ceil((this.reach * 0.75) / cell) * cell;
    const [cx, cy] = [Math.round(this.middle[0] / cell) * cell, Math.round(this.middle[1] / cell) * cell];
    const corners = [[-half, -half], [half, -half], [half, half], [-half, half]].map(([x, y]) => project(cx + x, cy + y, z));
    pen.fillStyle = colors.ground;
    pen.beginPath();
    corners.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.fill();
    pen.strokeStyle = colors.line;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let at = -half; at <= half; at += cell) {
      const ends = [project(cx + at, cy - half, z), project(cx + at, cy + half, z), project(cx - half, cy + at, z), project(cx + half, cy + at, z)];
      pen.moveTo(ends[0][0], ends[0][1]);
      pen.lineTo(ends[1][0], ends[1][1]);
      pen.moveTo(ends[2][0], ends[2][1]);
      pen.lineTo(ends[3][0], ends[3][1]);
    }
    pen.stroke();
    const [x, y] = project(cx + half, cy + half, z);
    pen.fillStyle = colors.muted;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "top";
    pen.fillText("ground, cells of 5 cm", Math.max(8, Math.min(this.paper.width - 120, x + 4)), Math.min(this.paper.height - 16, y + 4));
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {(x: number, y: number, z: number) => Point} project
   */
  drawTrail(pen, project) {
    const { trail } = this;
    if (trail.end < 2) return;
    const newest = trail.time[(trail.end - 1) % TRAIL];
    let begin = trail.end - 1;
    while (begin > trail.begin && newest - trail.time[(begin - 1) % TRAIL] < this.trailS) begin -= 1;
    pen.lineWidth = 2;
    pen.lineCap = "round";
    pen.lineJoin = "round";
    const place = Math.max(...this.legs.map((leg) => leg.indexOf(this.trailJoint)));
    this.legs.forEach((leg, foot) => {
      const joint = leg[place] ?? leg[leg.length - 1];
      let code = NaN;
      let open = false;
      for (let n = begin; n < trail.end; n += 1) {
        const [x, y] = project(...trail.at(n, foot));
        const state = trail.states[trail.joints * (n % TRAIL) + joint];
        if (open) pen.lineTo(x, y);
        if (state !== code || !open) {
          if (open) pen.stroke();
          pen.strokeStyle = this.actions.get(state)?.color ?? palette().muted;
          // Actions differ by their dashes too, for who does not see their colours.
          pen.setLineDash(this.dashes(joint, state));
          pen.beginPath();
          pen.moveTo(x, y);
          code = state;
          open = true;
        }
      }
      pen.stroke();
    });
    pen.setLineDash([]);
  }

  /**
   * @param {number} joint
   * @param {number} state
   */
  dashes(joint, state) {
    const states = this.chain[joint]?.states ?? [];
    return [[], [7, 4], [2, 4]][Math.max(0, states.findIndex(({ code }) => code === state)) % 3];
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {(x: number, y: number, z: number) => Point} project
   * @param {number} scale pixels for a cm
   */
  drawLeg(pen, project, scale) {
    const colors = palette();
    const legs = this.points().map((points) => points.map((point) => project(...point)));
    if (legs.flat().some(([x, y]) => !Number.isFinite(x + y))) return;
    /** @type {Map<number, [Point, Point]>} */
    const segments = new Map(this.legs.flatMap((leg, n) => leg.map((k, at) => /** @type {[number, [Point, Point]]} */ ([k, [legs[n][at], legs[n][at + 1]]]))));
    const order = [...segments].sort(([, a], [, b]) => b[0][2] + b[1][2] - a[0][2] - a[1][2]);
    const thick = Math.max(5, scale * 0.55);
    pen.lineCap = "round";
    this.places = [];
    for (const [k, [[x1, y1], [x2, y2]]] of order) {
      const action = this.actions.get(this.states[k]);
      for (const [style, width] of /** @type {[string, number][]} */ ([
        [colors.ink, thick + (k === this.selected ? 5 : 2)],
        [action?.color ?? colors.muted, thick],
      ])) {
        pen.strokeStyle = style;
        pen.lineWidth = width;
        pen.beginPath();
        pen.moveTo(x1, y1);
        pen.lineTo(x2, y2);
        pen.stroke();
      }
      this.places.push({ x: x1, y: y1, joint: k }, { x: (x1 + x2) / 2, y: (y1 + y2) / 2, joint: k });
    }
    const radius = ((this.shape?.plant?.foot_radius_mm ?? 0) / 10) * scale;
    pen.strokeStyle = colors.ink;
    pen.lineWidth = 1.5;
    for (const points of legs) {
      const [x, y] = points[points.length - 1];
      pen.fillStyle = this.contact && !this.trueFoot ? colors.ink : colors.panel;
      pen.beginPath();
      pen.arc(x, y, Math.max(4, radius), 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    }
    if (this.trueFoot) {
      const [x, y] = project(...this.trueFoot);
      pen.fillStyle = colors.ink;
      pen.setLineDash([3, 3]);
      pen.beginPath();
      pen.arc(x, y, Math.max(4, radius), 0, 2 * Math.PI);
      if (this.contact) pen.fill();
      pen.stroke();
      pen.setLineDash([]);
    }
    for (const [x, y] of legs.flatMap((points) => points.slice(0, -1))) {
      pen.fillStyle = colors.panel;
      pen.beginPath();
      pen.arc(x, y, Math.max(3, thick * 0.32), 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    }
    this.drawLabels(pen);
  }

  /**
   * Name joint and action of each segment.
   * @param {CanvasRenderingContext2D} pen
   */
  drawLabels(pen) {
    const colors = palette();
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const labels = this.chain.map((joint, k) => ({
      text: [joint.name, this.actions.get(this.states[k])?.state.name].filter(Boolean).join(": "),
      color: this.actions.get(this.states[k])?.color ?? colors.muted,
    }));
    // In a corner, from the body outwards: beside the segments they would never stand still.
    const left = 12;
    labels.forEach((label, k) => {
      const y = 16 + 18 * k;
      pen.fillStyle = label.color;
      pen.fillRect(left, y - 6, 12, 12);
      pen.strokeStyle = colors.ink;
      pen.lineWidth = 1;
      pen.strokeRect(left + 0.5, y - 5.5, 11, 11);
      pen.fillStyle = colors.ink;
      pen.fillText(label.text, left + 18, y);
    });
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {number} ct
   * @param {number} st
   * @param {number} cl
   * @param {number} sl
   * @param {number} height
   */
  drawAxes(pen, ct, st, cl, sl, height) {
    const colors = palette();
    const [x0, y0, size] = [64, height - 52, 26];
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    for (const [x, y, z, name] of /** @type {[number, number, number, string][]} */ ([
      [1, 0, 0, "forward"],
      [0, 1, 0, "left"],
      [0, 0, 1, "up"],
    ])) {
      const across = -(x * ct - y * st);
      const rise = z * cl - (x * st + y * ct) * sl;
      if (Math.hypot(across, rise) < 0.15) continue;
      pen.strokeStyle = colors.muted;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x0 + size * across, y0 - size * rise);
      pen.stroke();
      pen.fillStyle = colors.muted;
      pen.fillText(name, x0 + (size + 14) * across, y0 - (size + 9) * rise);
    }
    pen.textAlign = "left";
  }
}

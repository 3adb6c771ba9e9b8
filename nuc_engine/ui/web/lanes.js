// Traces below each other over one axis of time: numbers as lines, actions as strips of colour.
// Of each column of pixels least and largest value are drawn: what lasted for one cycle stays visible.

import { breaks, codeAt, Edges, envelope, Envelope, strip, stripOfSwitches, ticks } from "./decimate.js";
import { h, setAttribute, setHelp, setText } from "./dom.js";
import { digitsFor, number, shortUnit } from "./format.js";
import { palette, Paper } from "./paint.js";

/** @typedef {import("./ring.js").Ring} Ring */
/** @typedef {{ring: Ring, time: number, index: Map<string, number>, unit: (name: string) => string, label: string,
 *   decimated?: boolean, near?: {ring: Ring, from: number, to: number} | null,
 *   switches?: Record<string, import("./decimate.js").Switches> | null, until?: number, whole?: boolean, sampled?: boolean}} Source:
 *   where it is decimated, the ring holds least and largest values of stretches; `near` are then each of the records around
 *   the cursor, and `switches` each change of what is an action, which holds `until` the end; of what is `whole` no record
 *   is missing, however long nothing changes; one that is `sampled` has columns that no other has, each value of which holds
 *   until the next */
/** @typedef {Map<number, {name: string, color: string, place: number}>} Actions: `place` among the actions of their joint */
/** @typedef {{value: number, label: string, from?: number, to?: number}} Level: from when to when it holds, else always */
/** @typedef {{from: number, to: number, cursor: number, levels: (name: string) => Level[], marks: {at: number, text: string}[],
 *   axis: (time: number) => string, start: number, where: string}} View: `where` stands beside the axis */

const MOST_PIXELS = 4096;
/** Where so many columns of pixels have more switches than one, colours would tell of the wrong ones. */
const CROWDED = 0.4;
const CROWD = 16;
/** Marks of one kind that are nearer to each other than this on the average, in pixels, are counted, not drawn. */
const MARK_APART = 16;
const SHRINK_MS = 3000;
/** A range is made smaller only when it has been too large for so long. */
const TELL_MS = 100;
/** Numbers that run are written so often: nobody reads faster, and each writing is a new layout of the page. */

class Lane {
  /**
   * @param {string} name of the column
   * @param {boolean} strip
   * @param {(event: string, lane: Lane) => void} tell
   */
  constructor(name, strip, tell) {
    this.name = name;
    this.strip = strip;
    this.paper = new Paper(`${name} over time`);
    this.value = h("span", { class: "lane-value live" }, "–");
    this.unit = h("span", { class: "lane-unit" });
    this.top = h("span", { class: "lane-top", "aria-hidden": "true" });
    this.bottom = h("span", { class: "lane-bottom", "aria-hidden": "true" });
    const button = (/** @type {string} */ sign, /** @type {string} */ event, /** @type {string} */ label) =>
      h("button", { type: "button", class: "quiet", "aria-label": `${label} ${name}`, help: `${label} this trace`, on: { click: () => tell(event, this) } }, sign);
    this.title = h("span", { class: "lane-name" }, name);
    this.element = h(
      "div",
      { class: `lane ${strip ? "strip" : ""}`, role: "group", "aria-label": name },
      h(
        "div",
        { class: "lane-head" },
        this.title,
        h("span", { class: "lane-read" }, this.value, this.unit),
        h("span", { class: "lane-buttons" }, button("\u2191", "up", "move up"), button("\u2193", "down", "move down"), button("\u00d7", "remove", "remove")),
      ),
      h("div", { class: "lane-plot" }, this.paper.canvas, this.top, this.bottom),
    );
    this.low = NaN;
    this.high = NaN;
    this.roomySince = NaN;
  }

  /**
   * Choose a range that holds what is shown and does not jump.
   * @param {number} low
   * @param {number} high
   * @param {number} now
   */
  fit(low, high, now) {
    if (!(low <= high)) return;
    // What does not change has no range of its own: a tenth of it, or 1, is read more easily than its last digits.
    const pad = high > low ? Math.max((high - low) * 0.08, Math.abs(high) * 1e-3, 1e-6) : Math.abs(high) / 10 || 1;
    const [least, largest] = [low - pad, high + pad];
    const span = largest - least;
    if (!(this.low <= low && this.high >= high)) {
      this.low = Math.min(least, Number.isNaN(this.low) ? least : this.low);
      this.high = Math.max(largest, Number.isNaN(this.high) ? largest : this.high);
      this.roomySince = NaN;
    } else if (span < 0.6 * (this.high - this.low)) {
      if (Number.isNaN(this.roomySince)) this.roomySince = now;
      else if (now - this.roomySince > SHRINK_MS) this.reset(least, largest);
    } else this.roomySince = NaN;
  }

  /**
   * @param {number} low
   * @param {number} high
   */
  reset(low = NaN, high = NaN) {
    this.low = low;
    this.high = high;
    this.roomySince = NaN;
  }
}

export class Lanes {
  /**
   * @param {{onChange?: () => void, onCursor?: (time: number) => void, onZoom?: (factor: number, at: number) => void,
   *   onPan?: (seconds: number) => void, isStrip?: (name: string) => boolean}} hooks
   */
  constructor(hooks = {}) {
    this.hooks = hooks;
    /** @type {Lane[]} */
    this.lanes = [];
    /** @type {Source[]} */
    this.sources = [];
    /** @type {Actions} */
    this.actions = new Map();
    /** @type {(name: string) => string} */
    this.helpFor = () => "";
    this.edges = new Edges(MOST_PIXELS);
    this.line = new Envelope(MOST_PIXELS);
    this.axis = new Paper("axis of time");
    /** Beside the axis: what time it is. */
    this.where = h("span", { class: "lane-where" });
    this.stack = h("div", { class: "lanes-stack" });
    this.element = h("div", { class: "lanes" }, this.stack, h("div", { class: "lanes-axis" }, h("span", { class: "lane-head" }, this.where), h("div", { class: "lane-plot" }, this.axis.canvas)));
    this.drawn = "";
    /** Whether the numbers are those of the picture, and since when they are. */
    this.told = true;
    this.toldAt = -Infinity;
    this.from = 0;
    this.to = 1;
    /** Those that are drawn, and of others how many there are. @type {View["marks"]} */
    this.marks = [];
    /** @type {Map<string, number>} */
    this.crowds = new Map();
    this.listen();
  }

  get names() {
    return this.lanes.map((lane) => lane.name);
  }

  /** @param {readonly string[]} names */
  setNames(names) {
    const isStrip = this.hooks.isStrip ?? ((/** @type {string} */ name) => name.endsWith(".state"));
    const old = new Map(this.lanes.map((lane) => [lane.name, lane]));
    this.lanes = [...new Set(names)].map((name) => old.get(name) ?? new Lane(name, isStrip(name), (event, lane) => this.edit(event, lane)));
    for (const lane of this.lanes) {
      const help = this.helpFor(lane.name);
      setHelp(lane.title, help);
    }
    this.stack.replaceChildren(...this.lanes.map((lane) => lane.element));
    this.drawn = "";
  }

  /**
   * @param {string} event
   * @param {Lane} lane
   */
  edit(event, lane) {
    const names = this.names;
    const at = names.indexOf(lane.name);
    if (event === "remove") names.splice(at, 1);
    else {
      const to = at + (event === "up" ? -1 : 1);
      if (to < 0 || to >= names.length) return;
      [names[at], names[to]] = [names[to], names[at]];
    }
    this.setNames(names);
    this.hooks.onChange?.();
  }

  /**
   * Return where a lane's numbers come from: of several bouts the first.
   * @param {Lane} lane
   */
  sourceOf({ name }) {
    return this.sources.find(({ sampled, index }) => sampled && index.has(name)) ?? this.sources.find(({ sampled }) => !sampled);
  }

  /** Everything is drawn at the next frame, whatever has been drawn. */
  spoil() {
    this.drawn = "";
  }

  resetRanges() {
    for (const lane of this.lanes) lane.reset();
    this.spoil();
  }

  listen() {
    const timeAt = (/** @type {PointerEvent | WheelEvent} */ event) => {
      const box = this.axis.canvas.getBoundingClientRect();
      return this.from + ((event.clientX - box.left) / box.width) * (this.to - this.from);
    };
    const inPlot = (/** @type {Event} */ event) => event.target instanceof Element && !!event.target.closest(".lane-plot");
    /** @type {{x: number} | null} */
    let drag = null;
    this.element.addEventListener("pointermove", (event) => {
      if (drag) {
        const box = this.axis.canvas.getBoundingClientRect();
        this.hooks.onPan?.(((drag.x - event.clientX) / box.width) * (this.to - this.from));
        drag = { x: event.clientX };
      } else this.hooks.onCursor?.(inPlot(event) ? timeAt(event) : NaN);
    });
    this.element.addEventListener("pointerleave", () => this.hooks.onCursor?.(NaN));
    this.element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !inPlot(event) || !this.hooks.onPan) return;
      drag = { x: event.clientX };
      this.element.setPointerCapture(event.pointerId);
    });
    for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
      this.element.addEventListener(name, () => {
        drag = null;
      });
    }
    this.element.addEventListener(
      "wheel",
      (event) => {
        if (!(event.ctrlKey || event.shiftKey) || !inPlot(event) || !this.hooks.onZoom) return;
        event.preventDefault();
        this.hooks.onZoom(event.deltaY + event.deltaX > 0 ? 1.25 : 0.8, timeAt(event));
      },
      { passive: false },
    );
  }

  /**
   * Draw, if anything has changed since the last time; write numbers, unless they run and were written just now.
   * @param {View} view
   * @param {number} now as performance.now()
   */
  draw(view, now) {
    this.drawPicture(view, now);
    if (this.told || (Number.isNaN(view.cursor) && now - this.toldAt < TELL_MS)) return;
    this.told = true;
    this.toldAt = now;
    for (const lane of this.lanes) this.tellLane(lane, view);
    setText(this.where, view.where);
    setAttribute(this.axis.canvas, "aria-label", `axis of time, from ${view.axis(view.from - view.start)} to ${view.axis(view.to - view.start)}`);
  }

  /**
   * @param {View} view
   * @param {number} now
   */
  drawPicture(view, now) {
    const papers = this.lanes.map((lane) => lane.paper.version).join(".");
    const ends = this.sources.map(({ ring }) => ring.end).join(".");
    const colors = palette();
    const key = [view.from, view.to, view.cursor, view.start, ends, papers, this.axis.version, colors.ink, view.marks.length, view.where].join("|");
    if (key === this.drawn) return;
    this.drawn = key;
    this.told = false;
    this.from = view.from;
    this.to = view.to;
    [this.marks, this.crowds] = uncrowded(view.marks.filter(({ at }) => at >= view.from && at <= view.to), this.axis.width / MARK_APART);
    // The same edges serve all lanes of a source, which are as wide as each other.
    const wide = Math.min(MOST_PIXELS, this.axis.width);
    if (wide > 1) {
      this.sources.forEach((source, k) => {
        const step = (view.to - view.from) / wide;
        this.edges.cut(source.ring, source.time, view.from, step, wide);
        const broken = source.whole ? () => false : breaks(source.ring, source.time, source.index.get("cycle"), this.edges);
        for (const lane of this.lanes) {
          const own = this.sourceOf(lane);
          if (lane.paper.width < 2 || !own || !!own.sampled !== !!source.sampled) continue;
          const place = source.sampled ? 0 : k;
          const pen = place ? lane.paper.pen : this.beginLane(lane, view);
          if (lane.strip) this.drawStrip(lane, pen, source, place, broken);
          else this.drawLine(lane, pen, source, place, wide, view, now, broken);
        }
      });
    }
    for (const lane of this.lanes) this.finishLane(lane, view);
    this.drawAxis(view);
  }

  /**
   * @param {Lane} lane
   * @param {View} view
   */
  beginLane(lane, view) {
    const pen = lane.paper.begin();
    const { width, height } = lane.paper;
    pen.strokeStyle = palette().line;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const at of ticks(view.from - view.start, view.to - view.start, width / 90).at) {
      const x = Math.round(((at + view.start - view.from) / (view.to - view.from)) * width) + 0.5;
      pen.moveTo(x, 0);
      pen.lineTo(x, height);
    }
    pen.stroke();
    return pen;
  }

  /**
   * @param {Lane} lane
   * @param {CanvasRenderingContext2D} pen
   * @param {Source} source
   * @param {number} place of the source
   * @param {number} wide
   * @param {View} view
   * @param {number} now
   * @param {(record: number) => boolean} broken
   */
  drawLine(lane, pen, source, place, wide, view, now, broken) {
    const column = source.index.get(lane.name);
    if (column === undefined) return;
    const { ring } = source;
    const { edges, line } = this;
    const [low, high] = envelope(ring, column, edges, line);
    if (place === 0) {
      let [least, largest] = [low, high];
      for (const { value } of view.levels(lane.name)) {
        // A threshold near what is measured is in the picture; one far off would flatten it.
        const span = Math.max(high - low, 1e-9);
        if (value > low - span && value < high + span) [least, largest] = [Math.min(least, value), Math.max(largest, value)];
      }
      lane.fit(least, largest, now);
    } else lane.fit(Math.min(low, lane.low), Math.max(high, lane.high), now);
    const { height } = lane.paper;
    const per = height / (lane.high - lane.low || 1);
    const y = (/** @type {number} */ value) => (lane.high - value) * per;
    pen.strokeStyle = place ? palette().other : palette().trace;
    // One pixel and no wider, with plain joins: without a graphics card wider lines take ten times as long.
    pen.lineWidth = 1;
    pen.setLineDash(place ? [5, 3] : []);
    pen.beginPath();
    const from = edges.records[0];
    const to = edges.records[edges.count];
    if (to - from < wide * 0.75) {
      // Fewer records than pixels: each of them, at its own time.
      const begin = Math.max(ring.begin, from - 1);
      const end = Math.min(ring.end, to + 1);
      const perSecond = wide / (view.to - view.from);
      let joined = false;
      let before = NaN;
      for (let record = begin; record < end; record += 1) {
        const time = ring.at(source.time, record);
        const value = ring.at(column, record);
        const x = (time - view.from) * perSecond;
        if (Number.isNaN(value)) joined = false;
        else {
          if (joined && !broken(record)) {
            if (source.sampled) pen.lineTo(x, y(before));
            pen.lineTo(x, y(value));
          } else pen.moveTo(x, y(value));
          joined = true;
          before = value;
        }
      }
      pen.stroke();
      pen.setLineDash([]);
      return;
    }
    // More records than pixels: from least to largest of each column of pixels, joined to the column before.
    let joined = false;
    for (let x = 0; x < wide; x += 1) {
      const record = edges.records[x];
      if (record >= edges.records[x + 1]) continue;
      if (!line.filled[x]) {
        joined = false;
        continue;
      }
      const known = !Number.isNaN(line.first[x]);
      const first = y(known ? line.first[x] : line.low[x]);
      if (joined && known && !broken(record)) pen.lineTo(x + 0.5, first);
      else pen.moveTo(x + 0.5, first);
      joined = !Number.isNaN(line.last[x]);
      if (line.high[x] !== line.low[x]) {
        pen.lineTo(x + 0.5, y(line.low[x]));
        pen.lineTo(x + 0.5, y(line.high[x]));
        if (joined) pen.lineTo(x + 0.5, y(line.last[x]));
      }
    }
    pen.stroke();
    pen.setLineDash([]);
  }

  /**
   * @param {Lane} lane
   * @param {CanvasRenderingContext2D} pen
   * @param {Source} source
   * @param {number} place
   * @param {(record: number) => boolean} broken
   */
  drawStrip(lane, pen, source, place, broken) {
    const column = source.index.get(lane.name);
    if (column === undefined) return;
    const { edges, line } = this;
    const rows = this.sources.filter(({ sampled }) => !sampled).length;
    const height = Math.floor(lane.paper.height / rows) - 1;
    const top = place * (height + 1);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const switches = source.switches?.[lane.name];
    let shown;
    if (source.decimated && switches) {
      shown = stripOfSwitches(switches, source.until ?? Infinity, this.from, (this.to - this.from) / edges.count, edges.count);
    } else {
      envelope(source.ring, column, edges, line);
      shown = strip(source.ring, column, edges, line, broken);
    }
    const { pieces, marks } = shown;
    const wide = pieces.reduce((sum, { begin, end }) => sum + end - begin, 0);
    if (marks.length > Math.max(CROWDED * wide, CROWD)) {
      const [from, to] = [pieces[0].begin, pieces[pieces.length - 1].end];
      pen.fillStyle = palette().line;
      pen.fillRect(from, top, to - from, height);
      pen.textAlign = "right";
      this.write(pen, "changes faster than can be drawn: zoom in", to - 6, top + height / 2, to - from - 12, palette().line);
      pen.textAlign = "left";
      return;
    }
    for (const { begin, end, code } of pieces) {
      const action = this.actions.get(code);
      if (!action) continue;
      // Each action of a joint is of another height, for who does not see its colour.
      const tall = Math.round(height * (1 - 0.3 * (action.place % 3)));
      pen.fillStyle = action.color;
      pen.fillRect(begin, top + height - tall, end - begin, tall);
      const room = end - begin - 8;
      if (room > 24) this.write(pen, action.name, begin + 4, top + height - tall / 2, room, action.color);
    }
    // Switches too short for a pixel of their own are marked, so that none is lost.
    pen.fillStyle = palette().ink;
    for (const x of marks) pen.fillRect(x, top, 1, height);
  }

  /**
   * Write on a colour: dark on light, light on dark.
   * @param {CanvasRenderingContext2D} pen
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {number} room
   * @param {string} color
   */
  write(pen, text, x, y, room, color) {
    let shown = text;
    while (shown.length > 1 && pen.measureText(shown).width > room) shown = shown.slice(0, -1);
    if (shown.length < Math.min(8, text.length)) return;
    pen.fillStyle = isLight(color) ? "#111" : "#fff";
    pen.fillText(shown === text ? text : `${shown.slice(0, -1)}\u2026`, x, y);
  }

  /**
   * @param {Lane} lane
   * @param {View} view
   */
  finishLane(lane, view) {
    const { pen, width, height } = lane.paper;
    const colors = palette();
    const x = (/** @type {number} */ time) => ((time - view.from) / (view.to - view.from)) * width;
    if (!lane.strip && lane.high > lane.low) {
      pen.font = "11px system-ui, sans-serif";
      pen.textBaseline = "bottom";
      /** @type {{y: number, end: number}[]} */
      const written = [];
      for (const { value, label, from = view.from, to = view.to } of view.levels(lane.name)) {
        const [begin, until] = [Math.max(0, x(from)), Math.min(width, x(to))];
        if (value < lane.low || value > lane.high) continue;
        const y = Math.round(((lane.high - value) / (lane.high - lane.low)) * height) + 0.5;
        pen.strokeStyle = colors.threshold;
        pen.setLineDash([6, 3]);
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(begin, y);
        pen.lineTo(until, y);
        pen.stroke();
        pen.setLineDash([]);
        // Labels at nearly the same height stand beside each other.
        const left = written.reduce((x, other) => (Math.abs(other.y - y) < 13 ? Math.max(x, other.end + 14) : x), begin + 4);
        const end = left + pen.measureText(label).width;
        written.push({ y, end });
        const foot = y < 14 ? y + 13 : y - 1;
        pen.fillStyle = colors.panel;
        pen.globalAlpha = 0.8;
        pen.fillRect(left - 2, foot - 12, end - left + 4, 12);
        pen.globalAlpha = 1;
        pen.fillStyle = colors.threshold;
        pen.fillText(label, left, foot);
      }
    }
    pen.lineWidth = 1;
    for (const { at } of this.marks) {
      pen.strokeStyle = colors.accent;
      pen.setLineDash([2, 2]);
      pen.beginPath();
      pen.moveTo(Math.round(x(at)) + 0.5, 0);
      pen.lineTo(Math.round(x(at)) + 0.5, height);
      pen.stroke();
      pen.setLineDash([]);
    }
    if (view.cursor >= view.from && view.cursor <= view.to) {
      pen.strokeStyle = colors.ink;
      pen.beginPath();
      pen.moveTo(Math.round(x(view.cursor)) + 0.5, 0);
      pen.lineTo(Math.round(x(view.cursor)) + 0.5, height);
      pen.stroke();
    }
  }

  /**
   * The value at the cursor, or the newest.
   * @param {Lane} lane
   * @param {View} view
   */
  tellLane(lane, view) {
    const source = this.sourceOf(lane);
    const column = source?.index.get(lane.name);
    const there = source && column !== undefined && source.ring.end > source.ring.begin;
    let value = NaN;
    if (there) {
      const at = Number.isNaN(view.cursor) ? view.to : view.cursor;
      const ring = exactAt(source, at);
      const switches = lane.strip && source.decimated ? source.switches?.[lane.name] : null;
      if (switches) value = codeAt(switches, at);
      else if (ring && ring.end > ring.begin) {
        const record = Math.min(ring.find(source.time, at), ring.end - 1);
        const before = Math.max(ring.begin, record - 1);
        const nearer = source.sampled ? ring.at(source.time, record) > at : at - ring.at(source.time, before) < ring.at(source.time, record) - at;
        value = ring.at(column, nearer ? before : record);
      }
    }
    if (lane.strip) {
      setText(lane.value, this.actions.get(value)?.name ?? (value === -1 ? "none" : "–"));
      return;
    }
    const digits = digitsFor(lane.high - lane.low);
    setText(lane.value, number(value, digits));
    setText(lane.unit, there ? shortUnit(source.unit(lane.name)) : this.sources.length ? "not recorded" : "");
    const known = lane.high > lane.low;
    setText(lane.top, known ? number(lane.high, digits) : "");
    setText(lane.bottom, known ? number(lane.low, digits) : "");
  }

  /** @param {View} view */
  drawAxis(view) {
    const pen = this.axis.begin();
    const { width } = this.axis;
    const colors = palette();
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "top";
    pen.textAlign = "center";
    pen.fillStyle = colors.muted;
    pen.strokeStyle = colors.muted;
    for (const at of ticks(view.from - view.start, view.to - view.start, width / 90).at) {
      const x = ((at + view.start - view.from) / (view.to - view.from)) * width;
      pen.beginPath();
      pen.moveTo(Math.round(x) + 0.5, 0);
      pen.lineTo(Math.round(x) + 0.5, 4);
      pen.stroke();
      if (x > 20 && x < width - 20) pen.fillText(view.axis(at), x, 6);
    }
    // Whatever is told by a mark's text is told; one that would stand over another is not written again.
    pen.fillStyle = colors.accent;
    /** @type {[number, number][]} */
    const written = [];
    const write = (/** @type {string} */ text, /** @type {number} */ at) => {
      const half = pen.measureText(text).width / 2 + 3;
      const x = Math.min(width - half, Math.max(half, at));
      if (written.some(([from, to]) => x - half < to && x + half > from)) return;
      written.push([x - half, x + half]);
      pen.fillText(text, x, 19);
    };
    const often = new Map();
    for (const { text } of this.marks) often.set(text, (often.get(text) ?? 0) + 1);
    for (const { at, text } of this.marks.toSorted((a, b) => often.get(a.text) - often.get(b.text))) write(text, ((at - view.from) / (view.to - view.from)) * width);
    for (const [text, count] of this.crowds) write(`${count} \u00d7 ${text}`, width);
    pen.textAlign = "left";
  }
}

/**
 * Return the marks of which there are not too many of one text, and how many there are of each other text.
 * @param {View["marks"]} marks
 * @param {number} most
 * @returns {[View["marks"], Map<string, number>]}
 */
export function uncrowded(marks, most) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { text } of marks) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [marks.filter(({ text }) => (counts.get(text) ?? 0) <= most), new Map([...counts].filter(([text, count]) => text && count > most))];
}

/**
 * Return records of which each is one that was, at a time; null where there are none here.
 * @param {Source} source
 * @param {number} at
 */
export function exactAt(source, at) {
  if (!source.decimated) return source.ring;
  const { near } = source;
  return near && at >= near.from && at <= near.to ? near.ring : null;
}

/**
 * Say whether dark writing is better read on a colour `rgb(r g b)` or `#rrggbb`.
 * @param {string} color
 */
export function isLight(color) {
  const parts = color.startsWith("#")
    ? [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16))
    : (color.match(/[\d.]+/g) ?? []).map(Number);
  const [r, g, b] = parts.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18;
}

// Edits from sliders: what may be turned, in which steps and how far, and how a drag is sent.

/** @typedef {import("./model.js").Hdso} Hdso */
/** @typedef {import("./messages.js").Acknowledgement} Acknowledgement */
/**
 * One number that can be turned: an element of an HDSO. `low` and `high` are the ends of its slider, NaN where the
 * documents suggest none; `least` and `most` bound what may be typed.
 * @typedef {{label: string, hdso: Hdso, element: number, count: number, unit: string, whole: boolean, quantum: number,
 *   least: number, most: number, low: number, high: number}} Knob
 */

/** At most 20 edits a second. */
export const EVERY_MS = 50;
/** What could not be sent for so long is no longer what somebody wants just now. */
const OLD_MS = 1000;

let wishes = 0;

/** Nothing that waits is wanted any more: something else was asked for, or what is asked for would go elsewhere. */
export function dropWishes() {
  wishes += 1;
}

/** A number that is another once wishes were dropped: what began before is not to go on. */
export function wishNumber() {
  return wishes;
}

/** When a page sent its last edit: all its controls share the pace. */
const PAGE = { sentAt: -Infinity };

const WHOLE = /int|char/;

/**
 * Return what can be turned of an HDSO; nothing of sensors, constants, rules and texts.
 * @param {Hdso} hdso
 * @returns {Knob[]}
 */
export function knobsOf(hdso) {
  if (hdso.kind !== "parameter" || hdso.datatype.endsWith("char")) return [];
  const { valid, suggested } = hdso.ranges;
  const whole = WHOLE.test(hdso.datatype);
  const [least, most] = [valid?.lower ?? -Infinity, valid?.upper ?? Infinity];
  const ends = suggested ?? valid;
  const [low, high] = [ends?.lower ?? NaN, ends?.upper ?? NaN];
  const slides = Math.max(low, least) < Math.min(high, most);
  const told = [suggested, valid].find((range) => range?.quantum)?.quantum ?? guess(high - low);
  const count = hdso.dims.reduce((product, length) => product * length, 1);
  return Array.from({ length: count }, (_, element) => ({
    label: count === 1 ? hdso.name : `${hdso.name}[${element}]`,
    hdso,
    element,
    count,
    unit: hdso.unit ?? "",
    whole,
    quantum: whole ? Math.max(1, Math.round(told)) : told,
    least,
    most,
    low: slides ? Math.max(low, least) : NaN,
    high: slides ? Math.min(high, most) : NaN,
  }));
}

/**
 * A step for what names none: about a hundredth of what is suggested, else 0.01.
 * @param {number} span
 */
function guess(span) {
  return span > 0 && Number.isFinite(span) ? 10 ** Math.floor(Math.log10(span / 50)) : 0.01;
}

/**
 * Return the step of a knob: its quantum, or a tenth of it.
 * @param {Knob} knob
 * @param {boolean} fine
 */
export function stepOf({ quantum, whole }, fine) {
  if (!fine) return quantum;
  return whole ? Math.max(1, Math.round(quantum / 10)) : Number((quantum / 10).toPrecision(12));
}

/**
 * Return the nearest value that may be: within the valid range, whole where it has to be.
 * @param {Knob} knob
 * @param {number} value
 */
export function kept({ least, most, whole }, value) {
  return Math.min(most, Math.max(least, whole ? Math.round(value) : value));
}

/**
 * Return a value some steps further on; ten steps of 0.1 are 1.
 * @param {Knob} knob
 * @param {number} value
 * @param {number} steps
 * @param {boolean} fine
 */
export function stepped(knob, value, steps, fine) {
  const step = stepOf(knob, fine);
  return kept(knob, rounded(value + steps * step, Math.max(decimals(value), decimals(step))));
}

/**
 * Return the value of a slider that was moved to `value`: whole steps from its lower end.
 * @param {Knob} knob
 * @param {number} value
 * @param {boolean} fine
 */
export function snapped(knob, value, fine) {
  const step = stepOf(knob, fine);
  const at = knob.low + Math.round((value - knob.low) / step) * step;
  return kept(knob, Math.min(knob.high, rounded(at, Math.max(decimals(knob.low), decimals(step)))));
}

/** @param {number} value */
function decimals(value) {
  const [digits, power] = String(value).split("e");
  return Math.max(0, (digits.split(".")[1] ?? "").length - Number(power ?? 0));
}

/**
 * @param {number} value
 * @param {number} digits
 */
function rounded(value, digits) {
  return Number(value.toFixed(Math.min(100, digits)));
}

/**
 * Say what is wrong with a number that was typed; "" where nothing is.
 * @param {Knob} knob
 * @param {string} text
 */
export function typedProblem({ least, most, whole, unit }, text) {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) return `${text.trim() || "nothing"} is no number`;
  if (whole && !Number.isInteger(value)) return `${text} is no whole number`;
  const of = unit ? ` ${unit}` : "";
  if (value < least) return `${text} is below the least valid value, ${least}${of}`;
  if (value > most) return `${text} is above the largest valid value, ${most}${of}`;
  return "";
}

/**
 * What is sent while somebody drags. `ask` does one edit, with the number of the edit it goes on from (0: none); `told`
 * and `refused` hear what became of it, and whether something newer is already on its way.
 * @template T
 * @typedef {{ask: (value: T, merge: number) => Promise<Acknowledgement>, told: (answer: Acknowledgement, value: T, more: boolean) => void,
 *   refused: (error: Error, value: T, more: boolean) => void, dropped?: () => void, now?: () => number,
 *   later?: (work: () => void, ms: number) => unknown, pace?: {sentAt: number}}} Sending
 */

/**
 * Sends values one after the other: the newest wins, the last of each drag is always sent, and all of a drag are one
 * step of undo.
 * @template T
 */
export class Sender {
  /** @param {Sending<T>} sending */
  constructor({ ask, told, refused, dropped = () => {}, now = () => performance.now(), later = (work, ms) => setTimeout(work, ms), pace = PAGE }) {
    this.ask = ask;
    this.told = told;
    this.refused = refused;
    /** Hears that what waited is not wanted any more, and was not sent. */
    this.dropped = dropped;
    this.now = now;
    this.later = later;
    /** What waits: the newest value of each drag that has any, and since when. @type {{drag: number, value: T, wanted: number, at: number}[]} */
    this.waiting = [];
    this.busy = false;
    this.pace = pace;
    this.drag = 0;
    /** The last edit that took effect, of which drag it was, and what was wanted then. */
    this.last = { drag: -1, request: 0, wanted: 0 };
  }

  /** Whether something waits or is under way. */
  get active() {
    return this.busy || this.waiting.length > 0;
  }

  /** @param {T} value */
  want(value) {
    if (this.waiting.at(-1)?.drag === this.drag) this.waiting.pop();
    this.waiting.push({ drag: this.drag, value, wanted: wishes, at: this.now() });
    this.go();
  }

  /** The drag has ended: what comes is another step of undo. */
  end() {
    this.drag += 1;
  }

  /** What waits is not wanted any more. */
  clear() {
    this.waiting = [];
  }

  go() {
    if (this.busy || !this.waiting.length) return;
    this.busy = true;
    this.sendInTime();
  }

  /** Another control may have sent meanwhile: it waits again then. */
  sendInTime() {
    const wait = this.pace.sentAt + EVERY_MS - this.now();
    if (wait > 0) this.later(() => this.sendInTime(), wait);
    else void this.send();
  }

  async send() {
    const waited = this.waiting.length;
    this.waiting = this.waiting.filter(({ wanted }) => wanted === wishes);
    if (waited && !this.waiting.length) this.dropped();
    const late = this.waiting.at(-1);
    if (late && late.at < this.now() - OLD_MS) {
      this.waiting = [];
      this.refused(new Error("not sent: it waited too long"), late.value, false);
    }
    const next = this.waiting.shift();
    if (!next) {
      this.busy = false;
      return;
    }
    const { drag, value, wanted } = next;
    this.pace.sentAt = this.now();
    try {
      // An edit that was undone meanwhile, or was another daemon's, is not gone on with.
      const goesOn = this.last.drag === drag && this.last.wanted === wanted;
      const answer = await this.ask(value, goesOn ? this.last.request : 0);
      const [first] = answer.applied.length ? [] : answer.refused ?? [];
      if (first) throw new Error(first.reason);
      this.last = { drag, request: answer.request ?? 0, wanted };
      this.told(answer, value, this.waiting.length > 0);
    } catch (error) {
      this.refused(/** @type {Error} */ (error), value, this.waiting.length > 0);
    }
    this.busy = false;
    this.go();
  }
}

/**
 * Return what an HDSO holds once some elements were written; labels are as in acknowledgements, `NAME` or `NAME[k]`.
 * @param {Map<string, unknown>} values changed in place
 * @param {readonly {name: string, value: unknown}[]} written
 */
export function write(values, written) {
  for (const { name, value } of written) {
    const [, whole, element] = /^(.*)\[(\d+)\]$/.exec(name) ?? [];
    const held = values.get(whole ?? name);
    if (whole === undefined) values.set(name, Array.isArray(held) && Array.isArray(value) ? [...value, ...held.slice(value.length)] : value);
    else if (Array.isArray(held)) values.set(whole, held.with(Number(element), value));
  }
}

/**
 * Return the number a knob stands at.
 * @param {Knob} knob
 * @param {unknown} held what its HDSO holds
 */
export function heldBy({ count, element }, held) {
  const value = count > 1 && Array.isArray(held) ? held[element] : held;
  return typeof value === "number" ? value : NaN;
}

/**
 * Return a value as it is shown and sent in a line for a shell: numbers apart by spaces.
 * @param {unknown} value
 */
export function valueText(value) {
  if (value === null || value === undefined) return "no value";
  return Array.isArray(value) ? value.join(" ") : String(value);
}

/**
 * Say whether two values of an HDSO are the same in the engine, where floats have 32 bits.
 * @param {unknown} a
 * @param {unknown} b
 * @param {string} datatype
 */
export function sameValue(a, b, datatype) {
  const held = (/** @type {unknown} */ value) => (typeof value === "number" && datatype === "float" ? Math.fround(value) : value ?? null);
  const [left, right] = [a, b].map((value) => (Array.isArray(value) ? value.map(held) : [held(value)]));
  return left.length === right.length && left.every((value, k) => value === right[k]);
}

/**
 * Return what was typed as numbers for an HDSO of several; null where it is none.
 * @param {string} text apart by spaces or commas
 */
export function numbersIn(text) {
  const numbers = text.split(/[\s,]+/).filter(Boolean).map(Number);
  return numbers.length && numbers.every(Number.isFinite) ? numbers : null;
}

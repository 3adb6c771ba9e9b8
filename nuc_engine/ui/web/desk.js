// What lies on the desk of who edits: values in force, trials, edits that can be undone, values that were kept, pins.

import { dropWishes, write } from "./edit.js";
import { Refused } from "./session.js";
import { keep, recall } from "./store.js";

/** @typedef {import("./messages.js").Acknowledgement} Acknowledgement */
/** @typedef {import("./messages.js").HistoryEdit} HistoryEdit */
/** @typedef {import("./messages.js").KeptAnswer} KeptAnswer */
/** What is tried for a while: the edit that puts it back, when (engine time), and what it was. @typedef {{back: number, until: number, before: unknown, bout: number}} Trial */

/** How often values are asked for, at most, where something was edited; each reading stands in the bout's log. */
const SOON_MS = 250;
/** How often it is looked whether edits can still be made. */
const LOOK_MS = 100;
/** And where nobody says that anything was: the engine itself changes a few. */
const READ_MS = 5000;
const PINNED = "nuc-pins";

/** @returns {Record<string, string[]>} labels of pinned knobs by configuration */
function pinned() {
  const strings = (/** @type {unknown} */ list) => Array.isArray(list) && list.every((each) => typeof each === "string");
  return recall(localStorage, PINNED, 1, (kept) => Object.fromEntries(Object.entries(kept).filter(([, list]) => strings(list))), {});
}

export class Desk extends EventTarget {
  /** @param {import("./live.js").Live} live */
  constructor(live) {
    super();
    this.live = live;
    /** What HDSOs, and what else was asked for, hold as far as it is known here. @type {Map<string, unknown>} */
    this.values = new Map();
    /** @type {Set<string>} */
    this.names = new Set();
    /** @type {{done: HistoryEdit[], undone: HistoryEdit[]}} */
    this.history = { done: [], undone: [] };
    /** Who changed each value last. @type {Map<string, string>} */
    this.authors = new Map();
    /** @type {KeptAnswer[]} */
    this.kept = [];
    /** @type {Map<string, Trial>} */
    this.trials = new Map();
    /** For how long what is edited is tried, s; NaN: it stays. */
    this.trialS = NaN;
    /** Why nothing can be tried as it was asked for; "" where it can, or where nothing is to be. */
    this.trialProblem = "";
    /** Labels of pinned knobs. @type {string[]} */
    this.pins = [];
    /** How many edits were answered, and of each value the last that wrote it: a reading that was asked for earlier is older. */
    this.writes = 0;
    /** @type {Map<string, number>} */
    this.writtenAt = new Map();
    this.asking = false;
    this.askedAt = -Infinity;
    this.stale = true;
    let seen = "";
    live.addEventListener("status", () => {
      // Edits are counted there, whoever makes them; modes of joints change with that of the engine.
      const { edits, bout, mode, latched } = live.status ?? {};
      const now = `${edits} ${bout} ${mode} ${latched}`;
      if (now !== seen) this.stale = true;
      seen = now;
    });
    // What waits was meant for the daemon and the model that were there.
    for (const event of ["closed", "gone", "layout"]) live.addEventListener(event, dropWishes);
    let open = false;
    setInterval(() => {
      if (open && this.closed) dropWishes();
      open = !this.closed;
    }, LOOK_MS);
    live.addEventListener("layout", () => {
      this.values.clear();
      this.authors.clear();
      this.trials.clear();
      this.stale = true;
      this.takePins();
    });
    // Another tab's are this one's too.
    addEventListener("storage", () => this.takePins());
  }

  /** Why nothing can be edited now; "" where it can. */
  get closed() {
    if (!this.live.inControl) return "take control first (above)";
    return this.live.mayBegin ? "" : "what is shown is not live";
  }

  /** Why a value can not be edited now; "" where it can. */
  get unready() {
    return this.closed || this.trialProblem;
  }

  /** Engine time of the newest record; NaN outside of bouts. */
  get time() {
    const { live } = this;
    return live.bout && live.ring.end ? live.ring.at(live.timeColumn, live.ring.end - 1) - live.start : NaN;
  }

  /**
   * Show these names from now on.
   * @param {Iterable<string>} names
   */
  watch(names) {
    this.names = new Set(names);
    this.stale = true;
  }

  /**
   * Ask again where that is due; called with each picture of a page that shows values.
   * @param {number} now
   */
  keepUp(now) {
    const { bout } = this.live;
    for (const [label, trial] of this.trials) {
      if (trial.bout === bout && !(this.time > trial.until)) continue;
      this.trials.delete(label);
      this.stale = true;
    }
    const since = now - this.askedAt;
    if (since > READ_MS || (this.stale && since > SOON_MS)) void this.read(now);
  }

  /** @param {number} now */
  async read(now) {
    const { live, names } = this;
    if (this.asking || !live.open || !names.size || !live.model) return;
    const { stale } = this;
    [this.asking, this.askedAt, this.stale] = [true, now, false];
    const { model } = live;
    const from = this.writes;
    try {
      const { values } = await live.ask("get", { names: [...names] });
      // What was asked of a model that is no longer there is not this one's.
      if (model !== live.model) return;
      if (this.take(values, from) || stale) await this.look();
    } catch (error) {
      // It stays what it was; the frame of the page says that nothing answers.
      if (!(error instanceof Refused)) throw error;
    } finally {
      this.asking = false;
    }
  }

  /**
   * Take values that were read, but those that an edit wrote since they were asked for; say whether any is another.
   * @param {Record<string, unknown>} values
   * @param {number} from how many edits had been answered when they were asked for
   */
  take(values, from) {
    let changed = false;
    for (const [name, value] of Object.entries(values)) {
      if ((this.writtenAt.get(name) ?? 0) > from) continue;
      if (JSON.stringify(value) !== JSON.stringify(this.values.get(name))) changed = true;
      this.values.set(name, value);
    }
    return changed;
  }

  /** Ask for what can be undone, and what is kept. */
  async look() {
    this.history = await this.live.ask("history");
    // It tells of the last ones only.
    for (const { author, changes } of this.history.done.toReversed()) for (const { what, name } of changes) if (what === "write") this.authors.set(name, author);
    this.kept = await this.live.ask("kept_values");
    this.dispatchEvent(new Event("history"));
  }

  /**
   * Note what an edit wrote.
   * @param {Acknowledgement} answer
   */
  wrote(answer) {
    write(this.values, answer.applied);
    this.writes += 1;
    for (const { name } of answer.applied) this.writtenAt.set(name.replace(/\[\d+\]$/, ""), this.writes);
    this.stale = true;
  }

  /** Throws Refused where nothing can be edited now, whoever's turn it was a moment ago. */
  need() {
    if (this.closed) throw new Refused("refused", `not sent: ${this.closed}`);
  }

  /**
   * Write one value. Throws Refused.
   * @param {string} label
   * @param {unknown} value
   * @param {number} [merge]
   * @returns {Promise<Acknowledgement>}
   */
  async set(label, value, merge = 0) {
    this.need();
    const answer = await this.live.ask("set", { changes: [[label, value]], ...(merge ? { merge } : {}) });
    this.wrote(answer);
    return answer;
  }

  /**
   * Write one value for a while. Throws Refused.
   * @param {string} label
   * @param {unknown} value
   * @param {unknown} before
   * @param {number} seconds
   * @returns {Promise<Acknowledgement>}
   */
  async attempt(label, value, before, seconds) {
    this.need();
    const answer = await this.live.ask("set", { changes: [[label, value]], back_after_s: seconds });
    this.wrote(answer);
    if (answer.back) this.trials.set(label, { back: answer.back, until: (answer.time_s ?? this.time) + seconds, before, bout: this.live.bout });
    return answer;
  }

  /**
   * Let what is tried stay. Throws Refused.
   * @param {string} label
   */
  async keep(label) {
    await this.live.ask("forget", { request: this.trials.get(label)?.back });
    this.trials.delete(label);
    this.stale = true;
  }

  // --- pins ---

  takePins() {
    this.pins = pinned()[this.live.configuration] ?? [];
    this.dispatchEvent(new Event("pins"));
  }

  /** @param {string} label */
  pin(label) {
    const all = pinned();
    const mine = all[this.live.configuration] ?? [];
    all[this.live.configuration] = mine.includes(label) ? mine.filter((other) => other !== label) : [...mine, label];
    keep(localStorage, PINNED, 1, all);
    this.takePins();
  }
}

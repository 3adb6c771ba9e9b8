// The daemon, as this tab sees it: records, status and events as they come, and requests by the tab's own client.

import { readFrame } from "./frames.js";
import { provenSocket, STRANGER } from "./prove.js";
import { Ring } from "./ring.js";
import { Api, Refused } from "./session.js";

/** @typedef {import("./messages.js").Status} Status */
/** @typedef {{name: string, unit: string}} Column */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {{base_height_cm?: number, ground_z_cm?: number, foot_radius_mm?: number}} Plant */
/** @typedef {{seq: number, unix_time_s: number, name: string, text: string, time_s?: number | null, author?: string}} Happening */
/** @typedef {{live: boolean, sinceMs: number, why: string}} Liveness */

const KEEP_S = 600;
const FASTEST_HZ = 200;
/** What stands in no record comes at most so often, by `SAMPLED_HZ` of the server and by what is done. */
const SAMPLED_HZ = 10;
const QUIET_RECORDS_MS = 600;
const QUIET_STATUS_MS = 2500;
const OLD_RECORDS_MS = 1000;
/** For how long the quickest of all batches is what others are held against, at least. */
const QUICKEST_MS = 30_000;
const BEAT_MS = 1000;
const ANSWER_MS = 45_000;
const AGAIN_MS = [200, 400, 800, 1500];
const NO_SESSION = 4003;
/** How long what is asked by HTTP waits for a connection over which the server has proved itself. */
const PROVEN_MS = 2000;
/** Their words or answers may be longer than a message of a WebSocket. */
const LONG = new Set(["validate", "documents", "configure", "store_configuration", "script", "script_text", "store_script"]);

export class Live extends EventTarget {
  /** @param {string} session */
  constructor(session) {
    super();
    this.session = session;
    this.open = false;
    this.denied = false;
    /** Who answers at this page's port is not its server. */
    this.stranger = false;
    this.refusals = 0;
    /** @type {{daemon: string | null, bouts: boolean, author: string, client?: string, every_cycle?: boolean, tab?: string, way?: string[]} | null} */
    this.welcome = null;
    /** @type {Status | null} */
    this.status = null;
    /** @type {Model | null} */
    this.model = null;
    /** @type {Plant | null} */
    this.plant = null;
    this.configuration = "";
    this.layout = 0;
    /** @type {Column[]} */
    this.columns = [];
    /** @type {Map<string, number>} */
    this.index = new Map();
    /** Records of the present layout; its column `time` is seconds since `originNs`. */
    this.ring = new Ring(0, 0);
    this.timeColumn = -1;
    this.originNs = NaN;
    /** @type {{since: number, why: string} | null} */
    this.gone = null;
    /** Records this tab was not sent, or that were not of its layout. */
    this.missed = 0;
    this.recordAt = this.heardAt = this.statusAt = performance.now();
    /** Age of the newest record's batch when it came, ms. */
    this.ageMs = NaN;
    /** How much later the newest batch came than the quickest of the last minute, ms: two clocks need not agree. */
    this.lateMs = 0;
    this.quickest = { before: Infinity, now: Infinity, since: performance.now() };
    /** Age of the newest record by the engine's own clock, ms; NaN where the server does not tell. */
    this.recordAgeMs = NaN;
    /** What commands each joint: `joint.NAME.mode`, `joint.NAME.tweak`, `motor.NAME.age_ms`. @type {Record<string, any>} */
    this.joints = {};
    /** Parameters, and how late tasks are, as they were sampled; `time` is that of the ring of records. @type {{ring: Ring, index: Map<string, number>}} */
    this.sampled = { ring: new Ring(0, 0), index: new Map() };
    /** What really happens to the foot of an emulated leg, and when that was heard. @type {{at_cm: [number, number, number], contact_n: number, heardAt: number} | null} */
    this.foot = null;
    /** Per bout, where on the ring's time its engine time is 0. @type {Map<number, number>} */
    this.starts = new Map();
    /** @type {Set<(from: number, to: number) => void>} */
    this.onRecords = new Set();
    /** @type {Happening[]} */
    this.happenings = [];
    /** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void, timer: ReturnType<typeof setTimeout>}>} */
    this.waiting = new Map();
    this.next = 1;
    this.tries = 0;
    this.beat = 0;
    this.beatAt = 0;
    /** When it was first welcome here, as performance.now(). */
    this.openedAt = NaN;
    /** Of a server that has proved itself. @type {WebSocket | null} */
    this.socket = null;
    this.connect();
    setInterval(() => this.sendBeat(), BEAT_MS);
  }

  connect() {
    const proven = (/** @type {WebSocket} */ socket) => {
      this.socket = socket;
      this.stranger = false;
      this.heardAt = performance.now();
      this.tell("proven");
    };
    const message = (/** @type {MessageEvent} */ event) => {
      this.heardAt = performance.now();
      // Timers of a tab that is not looked at are slow; what comes in is not.
      if (this.heardAt - this.beatAt > BEAT_MS) this.sendBeat();
      if (event.data instanceof ArrayBuffer) this.takeRecords(event.data);
      else this.take(JSON.parse(event.data));
    };
    const closed = (/** @type {number} */ code, /** @type {boolean} */ stranger) => {
      this.open = false;
      this.socket = null;
      this.stranger = stranger;
      for (const { reject, timer } of this.waiting.values()) {
        clearTimeout(timer);
        reject(new Refused("gone", "the connection ended before the answer came", "look whether it was done"));
      }
      this.waiting.clear();
      // Once may be that a busy machine said its session too late.
      this.refusals = code === NO_SESSION ? this.refusals + 1 : 0;
      this.denied = this.refusals > 1;
      this.tell("closed");
      if (this.denied) return;
      setTimeout(() => this.connect(), AGAIN_MS[Math.min(this.tries, AGAIN_MS.length - 1)]);
      this.tries += 1;
    };
    provenSocket("/live", this.session, { proven, message, closed });
  }

  /** Wait until the server of this page has proved itself. Throws Refused where it has not in time. */
  async proven() {
    if (this.socket) return;
    const heard = await new Promise((done) => {
      const timer = setTimeout(() => done(false), PROVEN_MS);
      this.addEventListener("proven", () => (clearTimeout(timer), done(true)), { once: true });
    });
    if (!heard) throw this.stranger ? new Refused("gone", STRANGER) : new Refused("gone", "the server of this page does not answer", "is `nuc ui` still running?");
  }

  sendBeat() {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    this.beatAt = performance.now();
    // A connection over which nothing comes any more is as good as none, and another may be better.
    if (performance.now() - this.heardAt > 4 * BEAT_MS) this.socket.close();
    else this.socket.send(JSON.stringify({ beat: (this.beat += 1) }));
  }

  /**
   * Ask the daemon; throws Refused.
   * @param {string} method
   * @param {Record<string, unknown>} [params]
   * @returns {Promise<any>}
   */
  ask(method, params = {}) {
    if (this.socket?.readyState !== WebSocket.OPEN) {
      return Promise.reject(new Refused("gone", "the server of this page does not answer", "is `nuc ui` still running?"));
    }
    if (LONG.has(method)) {
      const asked = new Api(this.session).json(`ask/${this.welcome?.tab}`, { method: "POST", body: { method, params } });
      return asked.then(({ ok, result, error }) => {
        if (ok) return result;
        throw new Refused(error.kind, error.text, error.hint);
      });
    }
    const id = this.next;
    this.next += 1;
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Refused("timeout", `${method}: no answer in time`, "look whether it was done"));
      }, ANSWER_MS);
      this.waiting.set(id, { resolve, reject, timer });
    });
  }

  /** @param {any} message */
  take(message) {
    if (message.id !== undefined) {
      const waiting = this.waiting.get(message.id);
      if (!waiting) return;
      this.waiting.delete(message.id);
      clearTimeout(waiting.timer);
      if (message.ok) waiting.resolve(message.result);
      else waiting.reject(new Refused(message.error.kind, message.error.text, message.error.hint));
      return;
    }
    const { topic } = message;
    if (topic === "welcome") {
      this.open = true;
      if (Number.isNaN(this.openedAt)) this.openedAt = performance.now();
      this.tries = this.refusals = 0;
      this.welcome = message;
      this.gone = null;
      this.recordAgeMs = NaN;
      this.statusAt = performance.now();
    } else if (topic === "layout") this.takeLayout(message);
    else if (topic === "status") this.takeStatus(message.status);
    else if (topic === "events") {
      this.takeEvents(message.events);
      return;
    } else if (topic === "gone") this.gone = { since: message.since_unix_s, why: message.why };
    else if (topic === "back") this.gone = null;
    // How old the newest record was when the server had it; null where that can not be told.
    else if (topic === "age") this.recordAgeMs = typeof message.age_s === "number" ? 1000 * message.age_s : NaN;
    else if (topic === "sampled") this.takeSampled(message.values);
    else if (topic === "foot") this.foot = { at_cm: message.at_cm, contact_n: message.contact_n, heardAt: performance.now() };
    else if (topic === "missed") this.missed += message.records;
    if (topic) this.tell(topic);
  }

  /** @param {any} message */
  takeLayout(message) {
    const model = message.model ?? null;
    const configuration = message.configuration ?? "";
    // All the same again, as after a restart of the daemon: what is kept stays. Columns of the same names may be another
    // model's.
    const same =
      configuration === this.configuration &&
      JSON.stringify(model) === JSON.stringify(this.model) &&
      message.columns.length === this.columns.length &&
      this.columns.every((column, k) => column.name === message.columns[k].name);
    [this.model, this.configuration, this.plant] = [model, configuration, message.plant ?? null];
    this.layout = message.layout;
    if (same) return;
    this.joints = {};
    this.sampled = { ring: new Ring(0, 0), index: new Map() };
    this.columns = message.columns;
    this.index = new Map(this.columns.map((column, k) => [column.name, k]));
    this.timeColumn = this.index.get("time") ?? -1;
    this.originNs = NaN;
    this.starts.clear();
    this.ring = new Ring(this.columns.length, this.columns.length ? KEEP_S * FASTEST_HZ : 0);
  }

  /**
   * What stands in no record, some times a second, with the cycle of that moment.
   * @param {Record<string, unknown>} values
   */
  takeSampled(values) {
    this.joints = values;
    const { ring, timeColumn } = this;
    const cycles = this.index.get("cycle");
    if (!ring.end || cycles === undefined) return;
    const record = ring.newest([[cycles, Number(values["engine.cycle"])]]);
    const time = ring.at(timeColumn, record < 0 ? ring.end - 1 : record);
    const names = Object.keys(values).filter((name) => typeof values[name] === "number" && !/^(engine|joint|motor)\./.test(name));
    let { sampled } = this;
    const fresh = names.some((name) => !sampled.index.has(name));
    const back = sampled.ring.end > 0 && time < sampled.ring.at(0, sampled.ring.end - 1);
    if (fresh || back) {
      const index = new Map([...new Set(["time", ...sampled.index.keys(), ...names])].map((name, k) => [name, k]));
      const before = sampled;
      this.sampled = sampled = { ring: new Ring(index.size, KEEP_S * SAMPLED_HZ), index };
      // What was known of the others stays, unless time begins anew.
      for (let n = before.ring.begin; n < before.ring.end && !back; n += 1) {
        sampled.ring.push(Array.from({ length: index.size }, (_, k) => (k < before.index.size ? before.ring.at(k, n) : NaN)), 1);
      }
    }
    const row = [...sampled.index.keys()].map((name) => (name === "time" ? time : typeof values[name] === "number" ? /** @type {number} */ (values[name]) : NaN));
    sampled.ring.push(row, 1);
    if (fresh) this.tell("newly sampled");
  }

  /** @param {Status} status */
  takeStatus(status) {
    this.status = status;
    this.statusAt = performance.now();
    const { bout, cycle, engine_time_s: time } = status;
    const [bouts, cycles] = [this.index.get("bout"), this.index.get("cycle")];
    // Another daemon counts its bouts from the beginning.
    if (bout && bout < Math.max(...this.starts.keys())) this.starts.clear();
    if (!bout || !cycle || typeof time !== "number" || bouts === undefined || cycles === undefined) return;
    // Each bout counts its cycles from the beginning.
    const record = this.ring.newest([[bouts, bout], [cycles, cycle]]);
    if (record < 0) return;
    // A status is asked for somewhat later than its last cycle was complete, never earlier: of several, the latest start
    // is the nearest to the true one.
    const start = this.ring.at(this.timeColumn, record) - time;
    this.starts.set(bout, Math.max(start, this.starts.get(bout) ?? -Infinity));
  }

  /** @param {Happening[]} events */
  takeEvents(events) {
    const last = this.happenings.at(-1)?.seq ?? 0;
    const fresh = events.filter((event) => event.seq > last);
    if (!fresh.length) return;
    this.happenings.push(...fresh);
    if (this.happenings.length > 2000) this.happenings.splice(0, this.happenings.length - 2000);
    this.dispatchEvent(new CustomEvent("events", { detail: fresh }));
  }

  /** @param {ArrayBuffer} data */
  takeRecords(data) {
    const { layout, count, sentUnixS, rows } = readFrame(data);
    const width = this.columns.length;
    if (layout !== this.layout || !count || rows.length !== count * width) {
      this.missed += count;
      return;
    }
    const time = this.timeColumn;
    if (Number.isNaN(this.originNs)) this.originNs = rows[time];
    for (let row = 0; row < count; row += 1) rows[row * width + time] = (rows[row * width + time] - this.originNs) / 1e9;
    const { ring } = this;
    // A daemon on another machine, or one that was started anew with another clock: time never goes back here.
    if (ring.end && rows[time] < ring.at(time, ring.end - 1)) {
      this.ring = new Ring(width, KEEP_S * FASTEST_HZ);
      this.starts.clear();
    }
    const from = this.ring.end;
    this.ring.push(rows, count);
    this.recordAt = performance.now();
    this.ageMs = Date.now() - sentUnixS * 1000;
    const { quickest } = this;
    if (this.recordAt - quickest.since > QUICKEST_MS) Object.assign(quickest, { before: quickest.now, now: Infinity, since: this.recordAt });
    quickest.now = Math.min(quickest.now, this.ageMs);
    this.lateMs = this.ageMs - Math.min(quickest.before, quickest.now);
    for (const listen of this.onRecords) listen(from, this.ring.end);
  }

  /**
   * Say whether what is shown is what is, and if not, since when and why.
   * @param {number} now as performance.now()
   * @returns {Liveness}
   */
  liveness(now) {
    const sinceMs = now - (this.columns.length ? this.recordAt : this.heardAt);
    if (this.stranger) return { live: false, sinceMs, why: STRANGER };
    if (this.denied) return { live: false, sinceMs, why: "this page's key is no longer good: open it again with `nuc ui`" };
    if (!this.open) return { live: false, sinceMs, why: "the server of this page (nuc ui) does not answer" };
    if (this.gone) return { live: false, sinceMs, why: this.gone.why };
    if (this.columns.length && now - this.recordAt > QUIET_RECORDS_MS) {
      return { live: false, sinceMs, why: "no records come from the engine" };
    }
    // Late on their way to the daemon's file or stream, or on their way to a page that is held up.
    const late = (this.recordAgeMs || 0) + this.lateMs;
    if (this.columns.length && late > OLD_RECORDS_MS) {
      return { live: false, sinceMs: Math.max(sinceMs, late), why: "records come late: what they show is past" };
    }
    if (now - this.statusAt > QUIET_STATUS_MS) return { live: false, sinceMs: now - this.statusAt, why: "no status comes" };
    return { live: true, sinceMs: 0, why: "" };
  }

  /** Whether this tab may begin what moves the leg or changes what runs: it has control, and sees what is. */
  get mayBegin() {
    return this.inControl && this.liveness(performance.now()).live;
  }

  /** The bout of the newest record, 0 for none. */
  get bout() {
    const column = this.index.get("bout");
    return column === undefined || !this.ring.end ? 0 : this.ring.at(column, this.ring.end - 1);
  }

  /** Where engine time is 0: in the bout of the newest record, else in the last one; NaN where that is not known yet. */
  get start() {
    return this.starts.get(this.bout || Math.max(...this.starts.keys())) ?? NaN;
  }

  /**
   * The newest value of a column; NaN where there is none.
   * @param {string} name
   */
  now(name) {
    const column = this.index.get(name);
    return column === undefined || !this.ring.end ? NaN : this.ring.at(column, this.ring.end - 1);
  }

  /** Sensors that are sensed as another number than is measured, and as which. @returns {Record<string, number>} */
  get clamps() {
    return this.status?.clamps ?? {};
  }

  /**
   * What rules see of a sensor in a record, the newest unless another is named; undefined for what stands in none.
   * @param {string} name
   * @param {number} [record]
   */
  sensed(name, record = this.ring.end - 1) {
    const column = this.index.get(name);
    if (column === undefined) return undefined;
    return this.clamps[name] ?? (this.ring.end ? this.ring.at(column, record) : NaN);
  }

  get inControl() {
    const mine = this.welcome?.client ?? this.welcome?.author ?? "";
    return !!mine && this.status?.control === mine;
  }

  /** @param {string} name */
  tell(name) {
    this.dispatchEvent(new Event(name));
  }
}

// The red button's own connection: whether it would be heard is known before it is needed.

/** It is probed twice a second. */
const QUIET_MS = 1000;
const AGAIN_MS = 300;

/** @typedef {{text: string, kind: "ready" | "unavailable" | "asked" | "done" | "failed"}} StopState */

export class StopLine extends EventTarget {
  /** @param {string} session */
  constructor(session) {
    super();
    this.session = session;
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {number | null} */
    this.readyMs = null;
    this.path = "";
    this.why = "not connected yet";
    this.heardAt = -Infinity;
    /** @type {{torque: boolean, confirmed_ns: Record<string, number>, unconfirmed: string[], latched: boolean, took_ms?: number} | null} */
    this.answer = null;
    this.failed = "";
    this.askedAt = NaN;
    this.connect();
  }

  connect() {
    const socket = new WebSocket(`ws://${location.host}/stop`);
    this.socket = socket;
    socket.onopen = () => socket.send(JSON.stringify({ session: this.session }));
    socket.onmessage = (event) => this.take(JSON.parse(event.data));
    socket.onclose = () => {
      this.readyMs = null;
      this.why = "the server of this page does not answer";
      this.dispatchEvent(new Event("change"));
      setTimeout(() => this.connect(), AGAIN_MS);
    };
  }

  /** @param {any} message */
  take(message) {
    this.heardAt = performance.now();
    if ("ready_ms" in message) {
      this.readyMs = message.ready_ms;
      this.path = message.path ?? "";
      this.why = message.why ?? "";
    } else if ("off" in message) {
      this.answer = message.off;
      this.failed = "";
      this.dispatchEvent(new Event("answered"));
    } else if ("off_failed" in message) {
      this.failed = message.off_failed;
      this.dispatchEvent(new Event("answered"));
    }
    this.dispatchEvent(new Event("change"));
  }

  /** @param {number} now */
  ready(now) {
    return this.readyMs !== null && now - this.heardAt < QUIET_MS;
  }

  /**
   * Ask for torque off; say whether there was a connection to ask over.
   * @param {string} why
   */
  press(why) {
    this.answer = null;
    this.failed = "";
    this.askedAt = performance.now();
    const open = this.socket?.readyState === WebSocket.OPEN;
    if (open) this.socket?.send(JSON.stringify({ off: why, pressed_unix_s: Date.now() / 1000 }));
    this.dispatchEvent(new Event("change"));
    return open;
  }
}

/**
 * Return what became of a torque-off, in a sentence.
 * @param {NonNullable<StopLine["answer"]>} answer
 */
export function offText(answer) {
  const times = Object.values(answer.confirmed_ns ?? {});
  const confirmed = times.length;
  const all = confirmed + answer.unconfirmed.length;
  const slowest = confirmed ? Math.max(...times) / 1e6 : answer.took_ms ?? NaN;
  const within = Number.isFinite(slowest) ? ` in ${Math.max(1, Math.round(slowest))} ms` : "";
  if (!all) return answer.torque ? "asked; torque still on" : "off";
  if (!answer.unconfirmed.length) return `off, confirmed by ${confirmed} of ${all} servos${within}`;
  return `NOT CONFIRMED by ${answer.unconfirmed.join(", ")} (${confirmed} of ${all} confirmed): cut the supply`;
}

// The red button's own connection: whether it would be heard is known before it is needed.

import { provenSocket, STRANGER } from "./prove.js";

/** It is probed twice a second. */
const QUIET_MS = 1000;
const AGAIN_MS = 300;
/** After so long without an answer the other way is asked, too. */
const OTHER_MS = 600;
/** After so long without any answer it counts as not heard; a later answer still replaces that. */
const UNHEARD_MS = 2000;
/** How long an answer stands after somebody has armed again. */
const STANDS_MS = 2000;
const UNHEARD = "NOT HEARD: cut the supply, or `nuc ctl off`";

/** @typedef {{text: string, kind: "ready" | "unavailable" | "asked" | "done" | "failed"}} StopState */

export class StopLine extends EventTarget {
  /** @param {string} session */
  constructor(session) {
    super();
    this.session = session;
    /** Of a server that has proved itself. @type {WebSocket | null} */
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
    provenSocket("/stop", this.session, {
      proven: (socket) => {
        this.socket = socket;
      },
      message: (event) => this.take(JSON.parse(event.data)),
      closed: (_code, stranger) => {
        this.socket = null;
        this.readyMs = null;
        this.why = stranger ? STRANGER : "the server of this page does not answer";
        this.dispatchEvent(new Event("change"));
        setTimeout(() => this.connect(), AGAIN_MS);
      },
    });
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

  /**
   * Ask for torque off, and the other way where this one is not there or stays silent. `tell` hears what came of that
   * other way, and that nothing was heard; an answer of this one is told by the event `answered`.
   * @param {string} why
   * @param {() => Promise<any>} ask the other way
   * @param {(text: string, kind: "done" | "failed") => void} tell
   */
  off(why, ask, tell) {
    let heard = false;
    const open = this.press(why);
    const { askedAt } = this;
    const answered = () => this.answer !== null || this.askedAt !== askedAt;
    const other = () => {
      if (answered()) return;
      ask().then(
        (result) => {
          if (answered()) return;
          heard = true;
          const answer = result.off ?? result;
          const on = answer.torque ? "asked; torque still on: cut the supply" : "off";
          const unsure = answer.unconfirmed?.length ? `NOT CONFIRMED by ${answer.unconfirmed.join(", ")}: cut the supply` : on;
          if (result.off_failed) tell(`FAILED: ${result.off_failed}: cut the supply`, "failed");
          else tell(`${unsure} (over the channel)`, answer.torque || answer.unconfirmed?.length ? "failed" : "done");
        },
        () => {
          if (!answered()) tell(UNHEARD, "failed");
        },
      );
    };
    if (open) setTimeout(other, OTHER_MS);
    else other();
    setTimeout(() => {
      if (!heard && !answered() && !this.failed) tell(UNHEARD, "failed");
    }, UNHEARD_MS);
  }
}

/** How long what became of a torque-off stays in sight: a failure until the next press, "off" until somebody armed. */
export class Verdict {
  constructor() {
    this.kind = "";
    this.at = NaN;
    this.latched = false;
  }

  asked() {
    this.kind = "asked";
    this.latched = false;
  }

  /**
   * @param {string} kind
   * @param {number} now
   */
  tell(kind, now) {
    this.kind = kind;
    this.at = now;
  }

  /**
   * Say whether it may go from sight.
   * @param {boolean | undefined} latched as the newest status has it
   * @param {number} now
   */
  over(latched, now) {
    if (latched) this.latched = true;
    return this.kind === "done" && this.latched && latched === false && now - this.at > STANDS_MS;
  }
}

/**
 * Let a button ask as soon as it is pressed down; a click without a pointer is a key.
 * @param {EventTarget} button
 * @param {(by: "pointer" | "key") => void} ask
 */
export function onPress(button, ask) {
  button.addEventListener("pointerdown", (event) => {
    if (/** @type {PointerEvent} */ (event).button === 0) ask("pointer");
  });
  button.addEventListener("click", (event) => {
    if (/** @type {MouseEvent} */ (event).detail === 0) ask("key");
  });
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
  if (!answer.unconfirmed.length && answer.torque) return "asked; torque still on: cut the supply";
  if (!all) return "off";
  if (!answer.unconfirmed.length) return `off, confirmed by ${confirmed} of ${all} servos${within}`;
  return `NOT CONFIRMED by ${answer.unconfirmed.join(", ")} (${confirmed} of ${all} confirmed): cut the supply`;
}

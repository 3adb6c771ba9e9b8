// What joints are commanded by: one request of a joint under way for each mode, the newest press wins, limp before all.

/** @typedef {"muscle" | "force" | "position" | "hold" | "limp"} JointMode */
/** What became of a press: joints that were told, that were not and why, and that were left out by a later press.
 * @typedef {{done: string[], failed: Map<string, Error>, left: string[]}} Outcome */

export class ModePresses {
  /** @param {(joint: string, mode: JointMode) => Promise<unknown>} ask */
  constructor(ask) {
    this.ask = ask;
    this.presses = 0;
    /** What was asked for last and is not answered yet, by joint. @type {Map<string, {mode: JointMode}>} */
    this.asked = new Map();
  }

  /**
   * Command joints so. Limp goes to all of them at once, whatever becomes of each; else one is told after the other, and
   * the rest are left as they are once one fails or anything else is pressed. Null where all that is under way already.
   * @param {readonly string[]} joints
   * @param {JointMode} mode
   * @returns {Promise<Outcome | null>}
   */
  async press(joints, mode) {
    if (joints.every((joint) => this.asked.get(joint)?.mode === mode)) return null;
    this.presses += 1;
    const mine = this.presses;
    /** @type {Outcome} */
    const outcome = { done: [], failed: new Map(), left: [] };
    if (mode === "limp") {
      await Promise.all(joints.map((joint) => this.tell(joint, mode, outcome)));
      return outcome;
    }
    for (const joint of joints) {
      if (this.presses !== mine || outcome.failed.size) outcome.left.push(joint);
      else await this.tell(joint, mode, outcome);
    }
    return outcome;
  }

  /**
   * @param {string} joint
   * @param {JointMode} mode
   * @param {Outcome} outcome
   */
  async tell(joint, mode, outcome) {
    const request = { mode };
    this.asked.set(joint, request);
    try {
      await this.ask(joint, mode);
      outcome.done.push(joint);
    } catch (error) {
      outcome.failed.set(joint, /** @type {Error} */ (error));
    } finally {
      // A later one is still on its way.
      if (this.asked.get(joint) === request) this.asked.delete(joint);
    }
  }
}

/**
 * Say what became of a press.
 * @param {JointMode} mode
 * @param {Outcome} outcome
 */
export function outcomeText(mode, { done, failed, left }) {
  const [first] = failed.values();
  return [
    done.length ? `${done.join(", ")}: ${mode}` : "",
    first ? `NOT ${mode} as far as is known: ${[...failed.keys()].join(", ")}: ${first.message}${mode === "limp" ? "; Torque off takes the torque off all" : ""}` : "",
    left.length ? `not asked to ${mode} any more: ${left.join(", ")}` : "",
  ].filter(Boolean).join("; ");
}

/**
 * Say why an angle that was typed is not sent; "" where it is.
 * @param {string} text
 * @param {number} low
 * @param {number} high
 */
export function angleProblem(text, low, high) {
  const angle = Number(text);
  if (text.trim() === "" || !Number.isFinite(angle)) return `${text.trim() || "nothing"} is no angle; expected ${low} to ${high} deg`;
  return angle < low || angle > high ? `${text} deg is out of range; expected ${low} to ${high} deg` : "";
}

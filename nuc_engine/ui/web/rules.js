// Comparisons in entry rules: which thresholds belong to which sensor.

const COMPARISON = /([A-Za-z_][\w.-]*(?:\[\d+\])?|[-+]?\d[\d.eE+-]*)\s*([<>])\s*([A-Za-z_][\w.-]*(?:\[\d+\])?|[-+]?\d[\d.eE+-]*)/g;

/** @typedef {{sensor: string, op: "<" | ">", threshold: string, joint: string, state: string}} Threshold */

/**
 * Return every comparison of a rule written with names.
 * @param {string | null} text
 * @returns {{left: string, op: "<" | ">", right: string}[]}
 */
export function comparisons(text) {
  if (!text) return [];
  return [...text.matchAll(COMPARISON)].map(([, left, op, right]) => ({ left, op: op === "<" ? "<" : ">", right }));
}

/**
 * Return what each sensor is compared with, by the rules of all actions. `sensor op threshold` makes the rule's term true.
 * @param {import("./model.js").Model} model
 * @returns {Threshold[]}
 */
export function thresholds(model) {
  const sensors = new Set(model.sensors.map((sensor) => sensor.name));
  /** @type {Threshold[]} */
  const found = [];
  for (const joint of model.joints) {
    for (const state of joint.states) {
      for (const { left, op, right } of comparisons(state.rule.by_name)) {
        const of = { joint: joint.name, state: state.name };
        if (sensors.has(left) && !sensors.has(right)) found.push({ sensor: left, op, threshold: right, ...of });
        else if (sensors.has(right) && !sensors.has(left)) {
          found.push({ sensor: right, op: op === "<" ? ">" : "<", threshold: left, ...of });
        }
      }
    }
  }
  return found;
}

/** What thresholds were, as far as they were asked for: of each, since when which value. */
export class Steps {
  constructor() {
    /** @type {Map<string, {at: number, value: number}[]>} */
    this.of = new Map();
  }

  /**
   * @param {string} name
   * @param {number} at when it was asked for
   * @param {number} value
   */
  heard(name, at, value) {
    const steps = this.of.get(name) ?? [];
    // Time may begin anew; what was before is another time's.
    while (steps.length && steps[steps.length - 1].at > at) steps.pop();
    if (steps.at(-1)?.value !== value) steps.push({ at, value });
    if (steps.length > MOST_STEPS) steps.shift();
    this.of.set(name, steps);
  }

  /**
   * Return the values in a stretch of time, and where in it each holds; none before the first is known.
   * @param {string} name
   * @param {number} from
   * @param {number} to
   */
  within(name, from, to) {
    const steps = this.of.get(name) ?? [];
    return steps
      .map(({ at, value }, k) => ({ value, from: Math.max(from, at), to: Math.min(to, steps[k + 1]?.at ?? to) }))
      .filter((step) => step.from < step.to);
  }

  clear() {
    this.of.clear();
  }
}

const MOST_STEPS = 1000;

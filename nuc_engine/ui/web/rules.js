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

// A model explained, as `nuc show --json` tells it, and what the pages look up in it.

/** @typedef {{id: number, name: string}} Named */
/** @typedef {Named & {fullname: string | null, description: string | null, color: number[] | null, code: number,
 *   rule: Named & {by_name: string | null, description: string | null}, dwell: Named | null,
 *   central?: Named & {by_name: string | null, hold: Named | null},
 *   activations: {muscle: Named, function: string, parameters: Named[], sensors: Named[]}[]}} State */
/** @typedef {{type: string, formula: string | null, parameters: Named[]}} MuscleFunction */
/** @typedef {Named & {fullname: string | null, description: string | null, l_naught: number, fmax: number,
 *   functions: Record<string, MuscleFunction>}} Muscle */
/** @typedef {Named & {fullname: string | null, description: string | null, range_deg: [number, number], model: string | null,
 *   bus_id: number, angle_cal1: number, angle_cal2: number, force_command: Named | null,
 *   angle_sensor: Named, load_sensor: Named}} Motor */
/** @typedef {Named & {fullname: string | null, description: string | null, endpoint: boolean,
 *   parent: Named | null, geometry: import("./kinematics.js").Geometry, motor: Motor | null, muscles: Muscle[], states: State[],
 *   sense_organs: (Named & {fullname: string | null, description: string | null, sensors: Named[]})[]}} Joint */
/** @typedef {Named & {fullname: string | null, description: string | null, unit: string | null, value: unknown,
 *   kind: "parameter" | "constant" | "boolstring" | "sensor", datatype: string, dims: number[], used_by: string[],
 *   owner?: string, signal?: string, of?: string, inputs?: Named[],
 *   ranges: Record<string, {lower: number | null, upper: number | null, quantum: number | null}>}} Hdso */
/** @typedef {{name: string, fullname: string | null, description: string | null, joints: Joint[], sensors: Hdso[],
 *   parameters: Hdso[], controls?: {name: string, maps: (Named & {points: number[]})[]}[],
 *   modules?: {name: string, states: {name: string, writes: (Named & {text: string})[]}[]}[]}} Model */

/** Colours of actions to which the configuration gives none; each colour-blind reader can tell them apart. */
export const SPARE = ["#009463", "#a9d800", "#00a3b4", "#004ca3", "#e06400", "#b50038", "#7a5a9e", "#808084"];

/**
 * @param {State} state
 * @param {number} [place] among the model's actions
 */
export function colorOf(state, place = state.code) {
  if (!state.color) return SPARE[Math.abs(place) % SPARE.length];
  return `rgb(${state.color.map((part) => Math.round(255 * part)).join(" ")})`;
}

/**
 * Return the joints that are moved or measured, from the body outwards: those the engine knows.
 * @param {Model} model
 */
export function chainOf(model) {
  return model.joints.filter((joint) => !joint.endpoint);
}

/**
 * Return what is sensed of each joint: what its motor measures, what it feels, and signals about these or its actions;
 * under "" what is of none.
 * @param {Model} model
 * @returns {Map<string, string[]>}
 */
export function sensesOf(model) {
  /** @type {Map<string, string>} */
  const owner = new Map();
  const own = (/** @type {string} */ sensor, /** @type {string} */ joint) => void (owner.has(sensor) || owner.set(sensor, joint));
  for (const { name, motor } of model.joints) if (motor) [motor.angle_sensor, motor.load_sensor].forEach((sensor) => own(sensor.name, name));
  for (const { name, sense_organs: organs } of model.joints) for (const organ of organs) for (const sensor of organ.sensors) own(sensor.name, name);
  /** @type {Map<string, string>} */
  const named = new Map();
  for (const { name, states } of model.joints) for (const of of [name, ...states.map((state) => state.name)]) named.set(of, name);
  for (const { name, signal, of = "", inputs = [] } of model.sensors) {
    if (signal) own(name, named.get(of) ?? inputs.map((input) => owner.get(input.name)).find(Boolean) ?? "");
  }
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const [sensor, joint] of owner) found.set(joint, [...(found.get(joint) ?? []), sensor]);
  return found;
}

/**
 * Return the legs: which joints each has, by their places in the chain, from the body to the foot.
 * @param {readonly Joint[]} chain
 * @returns {number[][]}
 */
export function legsOf(chain) {
  const at = new Map(chain.map(({ name }, k) => [name, k]));
  const inner = new Set(chain.map(({ parent }) => parent?.name));
  /** @type {(k: number | undefined) => number[]} */
  const way = (k) => (k === undefined ? [] : [...way(at.get(chain[k].parent?.name ?? "")), k]);
  return chain.flatMap(({ name }, k) => (inner.has(name) ? [] : [way(k)]));
}

/**
 * Return what each HDSO is to which joints, by what it is used for.
 * @param {Model} model
 * @returns {Map<string, Set<string>>}
 */
export function jointsOf(model) {
  /** @type {Map<string, string>} */
  const owner = new Map();
  for (const joint of model.joints) {
    for (const part of [joint, ...joint.muscles, ...joint.states, ...(joint.motor ? [joint.motor] : [])]) owner.set(part.name, joint.name);
  }
  /** @type {Map<string, Set<string>>} */
  const found = new Map();
  const add = (/** @type {string} */ name, /** @type {string | undefined} */ joint) => {
    if (joint) found.set(name, (found.get(name) ?? new Set()).add(joint));
  };
  for (const { name, used_by: uses } of [...model.parameters, ...model.sensors]) {
    for (const use of uses) add(name, owner.get(use.split(" in ")[0].split(" of ").at(-1) ?? ""));
  }
  for (const joint of model.joints) {
    for (const state of joint.states) add(state.rule.name, joint.name);
    for (const organ of joint.sense_organs) for (const sensor of organ.sensors) add(sensor.name, joint.name);
  }
  return found;
}

/**
 * Return all actions by their code in `JOINT.state`.
 * @param {Model} model
 * @returns {Map<number, {state: State, joint: Joint, color: string}>}
 */
export function actionsOf(model) {
  const found = new Map();
  for (const joint of model.joints) {
    for (const state of joint.states) found.set(state.code, { state, joint, color: colorOf(state) });
  }
  return found;
}

/**
 * Return the same as strips of traces show them.
 * @param {Model} model
 * @returns {import("./lanes.js").Actions}
 */
export function stripsOf(model) {
  const strip = (/** @type {{state: State, joint: Joint, color: string}} */ { state, joint, color }) => ({ name: state.name, color, place: joint.states.indexOf(state) });
  return new Map([...actionsOf(model)].map(([code, action]) => [code, strip(action)]));
}

/**
 * Return what the documents say of something.
 * @param {{fullname: string | null, description: string | null}} what
 */
export function described({ fullname, description }) {
  return [fullname, description].filter(Boolean).join(": ");
}

/**
 * Return what is known of each column: which joint it belongs to, its help.
 * @param {Model} model
 * @returns {Map<string, {group: string, help: string}>}
 */
export function columnHelp(model) {
  const found = new Map();
  for (const joint of model.joints) {
    found.set(`${joint.name}.state`, { group: joint.name, help: `action of ${described(joint) || joint.name}` });
    for (const muscle of joint.muscles) {
      for (const what of ["activation", "force", "length"]) {
        found.set(`${muscle.name}.${what}`, { group: joint.name, help: `${what} of ${described(muscle) || muscle.name}` });
      }
    }
    if (joint.motor) {
      for (const what of ["position_raw", "current_raw", "sent_raw", "status", "stamp"]) {
        found.set(`${joint.motor.name}.${what}`, { group: joint.name, help: described(joint.motor) || joint.motor.name });
      }
      for (const sensor of [joint.motor.angle_sensor, joint.motor.load_sensor]) {
        found.set(sensor.name, { group: joint.name, help: "" });
      }
    }
    for (const organ of joint.sense_organs) {
      for (const sensor of organ.sensors) {
        // A joint may feel what another's motor measures.
        if (!found.has(sensor.name)) found.set(sensor.name, { group: joint.name, help: "" });
      }
    }
  }
  for (const sensor of model.sensors) {
    found.set(sensor.name, { group: found.get(sensor.name)?.group ?? "sensors", help: described(sensor) });
  }
  return found;
}

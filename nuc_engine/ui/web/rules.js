// Entry rules taken apart: their comparisons, what is true of them, and what let a joint change its action.

/** @typedef {{sensor: string, op: "<" | ">", threshold: string, joint: string, state: string}} Threshold */
/** @typedef {{op: "<" | ">", left: string, right: string}} Inequality */
/** A rule: terms that are joined, a comparison, or (`name`) an operand alone, which is true when it is not zero.
 * @typedef {{op: "&" | "|", terms: Tree[]} | Inequality | {op: "", name: string}} Tree */
/** @typedef {Inequality | {op: "", name: string}} Leaf */
/** @typedef {(name: string) => number | null} ValueOf */

const TOKEN = /\s*([()<>&|]|[^\s()<>&|]+)/gy;

/**
 * Return the tree of a rule written with names; null for a text that is no rule.
 * @param {unknown} text
 * @returns {Tree | null}
 */
export function parseRule(text) {
  if (typeof text !== "string") return null;
  const tokens = [...text.trim().matchAll(TOKEN)].map(([, token]) => token);
  let at = 0;
  const isName = (/** @type {string | undefined} */ token) => token !== undefined && !/^[()<>&|]/.test(token);
  /** @type {() => Tree | null} */
  const primary = () => {
    const token = tokens[at];
    at += 1;
    if (isName(token)) return { op: "", name: token };
    const inner = token === "(" ? joined("|", all) : null;
    at += 1;
    return tokens[at - 1] === ")" ? inner : null;
  };
  /** @type {() => Tree | null} */
  const comparison = () => {
    const left = primary();
    const op = tokens[at];
    if (op !== "<" && op !== ">") return left;
    at += 1;
    const right = primary();
    return left?.op === "" && right?.op === "" ? { op, left: left.name, right: right.name } : null;
  };
  /** @type {(op: "&" | "|", part: () => Tree | null) => Tree | null} */
  const joined = (op, part) => {
    const terms = [part()];
    while (tokens[at] === op) {
      at += 1;
      terms.push(part());
    }
    const known = terms.filter((term) => term !== null);
    if (known.length < terms.length) return null;
    return known.length === 1 ? known[0] : { op, terms: known };
  };
  const all = () => joined("&", comparison);
  const tree = joined("|", all);
  return at === tokens.length ? tree : null;
}

/**
 * Return the comparisons of a rule, and operands that stand alone, in order.
 * @param {Tree | null} tree
 * @returns {Leaf[]}
 */
export function leaves(tree) {
  if (!tree) return [];
  return "terms" in tree ? tree.terms.flatMap(leaves) : [tree];
}

/**
 * Say whether a rule is true; null where that can not be told.
 * @param {Tree | null} tree
 * @param {ValueOf} value of an operand: a number, or null; that of a rule inside is 1 or 0
 * @returns {boolean | null}
 */
export function truth(tree, value) {
  if (!tree) return null;
  if ("name" in tree) {
    const alone = value(tree.name);
    return alone === null ? null : alone !== 0;
  }
  if ("left" in tree) {
    const by = distance(tree, value);
    return by === null ? null : by > 0;
  }
  const decided = tree.op === "|";
  const terms = tree.terms.map((term) => truth(term, value));
  if (terms.includes(decided)) return decided;
  return terms.includes(null) ? null : !decided;
}

/**
 * Return how far a comparison is from where it turns, positive while it is true, in the unit of what is compared.
 * @param {Inequality} tree
 * @param {ValueOf} value
 */
export function distance({ op, left, right }, value) {
  const [a, b] = [value(left), value(right)];
  if (a === null || b === null) return null;
  return op === "<" ? b - a : a - b;
}

/**
 * Return what operands of rules are: as the engine holds them (floats have 32 bits), and rules by what they say.
 * @param {(name: string) => unknown} held what an HDSO holds: a number, or a rule's text
 * @param {(name: string) => boolean} isFloat
 * @returns {ValueOf}
 */
export function operandsIn(held, isFloat) {
  const of = (/** @type {string} */ name, /** @type {number} */ depth) => {
    const value = held(name);
    if (typeof value === "number") return Number.isNaN(value) ? null : isFloat(name) ? Math.fround(value) : value;
    if (typeof value !== "string" || depth > DEEPEST) return null;
    const inner = truth(parsed(value), (operand) => of(operand, depth + 1));
    return inner === null ? null : Number(inner);
  };
  return (name) => of(name, 0);
}

/** Rules inside a rule: the engine's own bound. */
const DEEPEST = 8;
const MOST_PARSED = 1000;
/** @type {Map<string, Tree | null>} */
const KNOWN = new Map();

/** @param {string} text */
function parsed(text) {
  let tree = KNOWN.get(text);
  if (tree === undefined) {
    if (KNOWN.size >= MOST_PARSED) KNOWN.clear();
    tree = parseRule(text);
    KNOWN.set(text, tree);
  }
  return tree;
}

/** @typedef {{name: string, codes: Map<number, {state: string, rule: string, central?: string}>}} Module */
/** @typedef {{leaf: Leaf, left: number | null, right: number | null}} Held */
/**
 * A change of a joint's action. `true`: comparisons of its entry rule that held; `known` false: the rule does not hold
 * with what is known of that record, as where a value was changed that very moment, or records are missing before it.
 * `forced`: it was the action's central rule that held, which is asked where its entry rule does not.
 * @typedef {{joint: string, state: string, rule: string, central?: string, record: number, time: number, bout: number, true: Held[], known: boolean, forced: boolean}} Cause
 */

/**
 * Return joints as `Firings` knows them.
 * @param {readonly import("./model.js").Joint[]} joints
 * @returns {Module[]}
 */
export function modulesOf(joints) {
  return joints.map(({ name, states }) => ({ name, codes: new Map(states.map(({ code, name: state, rule, central }) => [code, { state, rule: rule.name, central: central?.name }])) }));
}

/**
 * Return the names of signals about actions.
 * @param {import("./model.js").Model | null} model
 */
export function signalsOf(model) {
  return new Set((model?.sensors ?? []).flatMap(({ name, signal, of }) => (signal && of ? [name] : [])));
}

/**
 * Every change of action, and what let it happen: looked for in each record, so that none is lost between pictures.
 * A record holds the actions from before its own sensors were looked at: what is new in it saw the record before. Signals
 * about actions are made when rules are looked at, and stand in the same record as what they led to.
 */
export class Firings {
  /**
   * @param {readonly Module[]} modules joints with their actions by code
   * @param {ReadonlySet<string>} [signals] names of those about actions
   * @param {number} [keep] causes of each joint
   */
  constructor(modules, signals = new Set(), keep = 5) {
    this.modules = modules;
    this.signals = signals;
    this.keep = keep;
    /** Of each joint, the newest first. @type {Map<string, Cause[]>} */
    this.causes = new Map(modules.map(({ name }) => [name, []]));
    /** How often each rule fired, by its action's name, and each comparison of it, by that and its text. @type {Map<string, number>} */
    this.counts = new Map();
    /** The record in which each joint's present action began, and NaN where it has been since before the first. @type {Map<string, number>} */
    this.since = new Map();
  }

  /**
   * Look through records `from` to `to` - 1.
   * @param {{begin: number, at: (column: number, record: number) => number}} ring
   * @param {Map<string, number>} index columns by name
   * @param {number} from
   * @param {number} to
   * @param {(name: string) => unknown} held what HDSOs hold that stand in no record
   * @param {(name: string) => boolean} isFloat
   * @param {Record<string, number>} [clamps] what sensors are sensed as that are not sensed as they are measured
   */
  take(ring, index, from, to, held, isFloat, clamps = {}) {
    const [bouts, cycles, times] = ["bout", "cycle", "time"].map((name) => index.get(name) ?? -1);
    for (const { name, codes } of this.modules) {
      const column = index.get(`${name}.state`);
      if (column === undefined) continue;
      for (let record = Math.max(from, ring.begin + 1); record < to; record += 1) {
        const code = ring.at(column, record);
        const bout = ring.at(bouts, record);
        if (bout !== ring.at(bouts, record - 1)) this.since.set(name, record);
        else if (code !== ring.at(column, record - 1)) {
          this.since.set(name, record);
          const action = codes.get(code);
          if (!action || !bout) continue;
          const whole = ring.at(cycles, record) === ring.at(cycles, record - 1) + 1;
          const value = operandsIn((operand) => {
            const sensor = index.get(operand);
            if (sensor === undefined) return held(operand);
            if (this.signals.has(operand)) return clamps[operand] ?? ring.at(sensor, record);
            return clamps[operand] ?? (whole ? ring.at(sensor, record - 1) : null);
          }, isFloat);
          this.fire({ joint: name, ...action, record, time: ring.at(times, record), bout, true: [], known: false, forced: false }, held, value);
        }
      }
    }
  }

  /**
   * @param {Cause} cause
   * @param {(name: string) => unknown} held
   * @param {ValueOf} value
   */
  fire(cause, held, value) {
    const [entry, central] = [cause.rule, cause.central].map((rule) => (rule ? parseRule(held(rule)) : null));
    cause.forced = truth(entry, value) === false && truth(central, value) === true;
    const tree = cause.forced ? central : entry;
    cause.known = truth(tree, value) === true;
    const count = (/** @type {string} */ key) => this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    count(cause.state);
    for (const leaf of cause.known ? leaves(tree) : []) {
      if (!truth(leaf, value)) continue;
      const [left, right] = leaf.op === "" ? [value(leaf.name), null] : [value(leaf.left), value(leaf.right)];
      cause.true.push({ leaf, left, right });
      count(`${cause.state} ${leafText(leaf)}`);
    }
    const causes = this.causes.get(cause.joint) ?? [];
    causes.unshift(cause);
    causes.splice(this.keep);
  }

  forget() {
    for (const causes of this.causes.values()) causes.splice(0);
    this.counts.clear();
  }
}

/** @param {Leaf} leaf */
export function leafText(leaf) {
  return leaf.op === "" ? leaf.name : `${leaf.left} ${leaf.op} ${leaf.right}`;
}

/**
 * Return every comparison of a rule written with names.
 * @param {string | null} text
 * @returns {Inequality[]}
 */
export function comparisons(text) {
  return leaves(parseRule(text)).filter((leaf) => "left" in leaf);
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

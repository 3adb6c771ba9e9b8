// A script as it unfolds: each value over time, gradual changes step by step, as the engine makes them. Pure.

/** @typedef {{time_s: number, duration_s: number, steps: number, line: number, kind: "write" | "gradual" | "request" | "sense" | "when" | "by hand",
 *   ref: number | string, data: number[] | string | null, writes?: {ref: number | string, data: number[] | string}[], holds_s?: number,
 *   after_s?: number, refractory_s?: number, until_s?: number | null, times?: number}} Entry: as the server tells it; the `data`
 *   of one that waits (`when`) is its rule */
/** @typedef {{name: string, unit: string, isNumber: boolean, start: number | string | null, steps: {at: number, value: number | string}[]}} Course */
/** @typedef {{at: number, until: number, steps: number, name: string, from: string, to: string, kind: Entry["kind"], line: number, how?: string}} Change */

/** What a script shows as it stands there: it has no values of its own. */
const SPOKEN = new Set(["sense", "when", "by hand"]);

/**
 * Say how a trigger waits: for how long its rule has to be true, and so on.
 * @param {Entry} entry
 */
function waiting({ holds_s: holds, after_s: after, refractory_s: rests, until_s: until, times = 1 }) {
  const often = times === 1 ? "once" : times ? `${times} times` : "each time";
  return [`waits for its rule, ${often}`, holds && `true for ${holds} s`, after && `${after} s later`, rests && `then rests ${rests} s`, typeof until === "number" && `until ${until} s`].filter(Boolean).join(", ");
}

const MOST_STEPS = 4000;
/** Steps of gradual changes that are drawn in all. */

/**
 * Return what becomes of each value, and each change with the values before and after it.
 * @param {Entry[]} entries in order of time
 * @param {(ref: number | string) => {name: string, unit: string | null} | undefined} known
 * @param {Record<string, unknown>} held values in force, by name
 */
export function unfold(entries, known, held) {
  const nameOf = (/** @type {Entry} */ { ref }) => known(ref)?.name ?? String(ref);
  const ramps = entries.filter(({ kind }) => kind === "gradual").length;
  const each = Math.max(1, Math.floor(MOST_STEPS / Math.max(1, ramps)));
  /** @type {Map<string, Entry[]>} */
  const byName = new Map();
  for (const entry of entries) {
    if (entry.kind !== "write" && entry.kind !== "gradual") continue;
    const name = nameOf(entry);
    const own = byName.get(name);
    if (own) own.push(entry);
    else byName.set(name, [entry]);
  }
  /** @type {Course[]} */
  const courses = [];
  /** @type {Map<Entry, [string, string]>} */
  const sides = new Map();
  for (const [name, own] of byName) {
    const unit = known(own[0].ref)?.unit ?? "";
    const texts = own.some(({ data }) => typeof data === "string");
    const before = elements(held[name]);
    const points = made(own, texts ? [held[name]] : before, each, sides);
    if (texts) {
      const start = held[name];
      courses.push({ name, unit, isNumber: false, start: start === undefined || start === null ? null : String(start), steps: points.map(({ at, data }) => ({ at, value: String(data[0]) })) });
      continue;
    }
    const wide = Math.max(...own.map(({ data }) => data?.length ?? 0));
    for (let k = 0; k < wide; k += 1) {
      const steps = points.filter(({ data }) => data.length > k).map(({ at, data }) => ({ at, value: Number(data[k]) }));
      // Of a list only what changes is worth a line.
      const start = typeof before[k] === "number" ? Number(before[k]) : null;
      if (wide > 1 && steps.every(({ value }) => value === (start ?? steps[0].value))) continue;
      courses.push({ name: wide > 1 ? `${name}[${k}]` : name, unit, isNumber: true, start, steps });
    }
  }
  const changes = entries.map((entry) => {
    const [from, to] = sides.get(entry) ?? ["", SPOKEN.has(entry.kind) ? String(entry.data) : ""];
    if (entry.kind === "when") {
      const writes = (entry.writes ?? []).map(({ ref, data }) => `${known(ref)?.name ?? ref} = ${shown(elements(data))}`).join(", ");
      return /** @type {Change} */ ({ at: entry.time_s, until: entry.time_s, steps: 0, name: `when ${entry.data}`, from: "", to: writes, kind: entry.kind, line: entry.line, how: waiting(entry) });
    }
    const name = entry.kind === "sense" ? `sensed of ${nameOf(entry)}` : entry.kind === "by hand" ? entry.kind : entry.ref === -1 ? "every value" : nameOf(entry);
    return /** @type {Change} */ ({ at: entry.time_s, until: entry.time_s + entry.duration_s, steps: entry.steps, name, from, to, kind: entry.kind, line: entry.line });
  });
  return { courses, changes };
}

/** @param {unknown} value @returns {unknown[]} */
const elements = (value) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);

/** @param {unknown[]} data */
const shown = (data) => data.map(String).join(" ");

/**
 * Return the writes that entries of one HDSO come to, in order of time: those of one time in order of the document.
 * A gradual change begins from what is in force when it begins, the last steps of others counted (as `nuc` prepares it).
 * @param {Entry[]} own
 * @param {unknown[]} start
 * @param {number} most steps of one gradual change
 * @param {Map<Entry, [string, string]>} sides
 */
function made(own, start, most, sides) {
  /** @type {{at: number, place: number, data: unknown[], entry: Entry}[]} */
  const writes = own.map((entry, place) => ({ at: entry.time_s + entry.duration_s, place, data: elements(entry.data), entry }));
  const ordered = (/** @type {typeof writes} */ list) => list.sort((a, b) => a.at - b.at || a.place - b.place);
  ordered(writes);
  const states = [start];
  for (const { data } of writes) states.push([...data, ...(states.at(-1) ?? []).slice(data.length)]);
  const points = [];
  for (const [k, { at, place, data, entry }] of writes.entries()) {
    let last = k;
    while (last > 0 && writes[last - 1].at > entry.time_s) last -= 1;
    const before = states[last];
    // What is longer than the value in force leaves the rest of it alone.
    sides.set(entry, [shown(before.slice(0, data.length)), shown(data)]);
    const drawn = Math.min(entry.steps, most);
    for (let step = 1; step < drawn; step += 1) {
      const part = step / drawn;
      const between = data.map((goal, k) => (typeof before[k] === "number" ? Number(before[k]) + (Number(goal) - Number(before[k])) * part : NaN));
      points.push({ at: entry.time_s + entry.duration_s * part, place, data: between, entry });
    }
    points.push({ at, place, data, entry });
  }
  return ordered(points);
}

/**
 * Return courses as rows of a table over time: twice each time at which something changes, before and after.
 * Texts become numbers, each text one, from 0; what is not known yet is NaN.
 * @param {Course[]} courses
 * @param {number} end
 */
export function tabulate(courses, end) {
  /** @type {Map<string, number>} */
  const codes = new Map();
  const codeOf = (/** @type {number | string | null} */ value) => {
    if (value === null) return NaN;
    if (typeof value === "number") return value;
    if (!codes.has(value)) codes.set(value, codes.size);
    return /** @type {number} */ (codes.get(value));
  };
  const times = [...new Set([0, end, ...courses.flatMap(({ steps }) => steps.map(({ at }) => at))])].sort((a, b) => a - b);
  const width = courses.length + 1;
  const rows = new Float64Array(2 * times.length * width);
  courses.forEach(({ start, steps }, column) => {
    let next = 0;
    let now = codeOf(start);
    times.forEach((time, k) => {
      const row = 2 * k * width;
      rows[row] = rows[row + width] = time;
      rows[row + column + 1] = now;
      while (next < steps.length && steps[next].at <= time) now = codeOf(steps[next++].value);
      rows[row + width + column + 1] = now;
    });
  });
  /** @type {Record<string, [number, number | null][]>} */
  const switches = {};
  for (const { name, isNumber, start, steps } of courses) {
    if (isNumber) continue;
    const all = [{ at: 0, value: start }, ...steps];
    switches[name] = all.map(({ at, value }) => [at, value === null ? null : codeOf(value)]);
  }
  return { rows, count: 2 * times.length, codes, switches };
}

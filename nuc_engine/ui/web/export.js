// What is shown, as numbers: each record of a stretch of time, as text with commas, to the last digit.

/** Records of a file. */
export const MOST_EXPORTED = 500_000;

/**
 * Return records as CSV: the time in s, and the columns with their units. A number is written so that it is read back
 * as the same; what has none stays empty.
 * @param {import("./lanes.js").Source} source of each record
 * @param {readonly string[]} names
 * @param {number} from
 * @param {number} to
 * @param {number} start where time is 0
 * @param {import("./lanes.js").Source} [sampled] columns that stand in no record: of each, what it was sampled as last
 * @returns {{parts: string[], count: number}}
 */
export function csvOf({ ring, time, index, unit }, names, from, to, start, sampled) {
  const columns = names.flatMap((name) => index.get(name) ?? []);
  const others = names.flatMap((name) => sampled?.index.get(name) ?? []);
  const known = [...names.filter((name) => index.has(name)), ...names.filter((name) => sampled?.index.has(name))];
  const cycle = index.get("cycle");
  const head = ["time_s", ...(cycle === undefined ? [] : ["cycle"]), ...known.map((name) => (unit(name) ? `${name} (${unit(name)})` : name))];
  const all = cycle === undefined ? columns : [cycle, ...columns];
  const begin = Math.max(ring.begin, ring.find(time, from));
  const end = Math.min(ring.end, ring.find(time, to), begin + MOST_EXPORTED);
  const parts = [`${head.map(quoted).join(",")}\n`];
  for (let record = begin; record < end; record += 1) {
    const numbers = all.map((column) => ring.at(column, record));
    // The first sample after it, less one.
    const sample = sampled ? sampled.ring.find(sampled.time, ring.at(time, record) + 1e-9) - 1 : -1;
    const last = others.map((column) => (sampled && sample >= sampled.ring.begin ? sampled.ring.at(column, sample) : NaN));
    parts.push(`${[ring.at(time, record) - start, ...numbers, ...last].map((value) => (Number.isNaN(value) ? "" : String(value))).join(",")}\n`);
  }
  return { parts, count: Math.max(0, end - begin) };
}

/** @param {string} text */
function quoted(text) {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

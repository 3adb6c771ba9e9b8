// From records to what a screen of so many columns of pixels can show of them, with nothing of it left out: of each
// column the first, least, largest and last value.

/** @typedef {import("./ring.js").Ring} Ring */

/** What is drawn of one trace; made once, filled anew for every frame. */
export class Envelope {
  /** @param {number} most columns of pixels */
  constructor(most) {
    this.size = most;
    this.first = new Float64Array(most);
    this.low = new Float64Array(most);
    this.high = new Float64Array(most);
    this.last = new Float64Array(most);
    /** 1 where there are records. */
    this.filled = new Uint8Array(most);
  }
}

/** Where each column of pixels begins, as numbers of records: made once a frame, used by all traces. */
export class Edges {
  /** @param {number} most columns of pixels */
  constructor(most) {
    this.records = new Float64Array(most + 1);
    this.count = 0;
  }

  /**
   * Cut time into columns of pixels. Columns lie on multiples of their width, so that nothing shimmers as it moves.
   * @param {Ring} ring
   * @param {number} timeColumn the column that holds the time
   * @param {number} from where the first column begins, in units of the time
   * @param {number} step width of a column
   * @param {number} count columns
   */
  cut(ring, timeColumn, from, step, count) {
    this.count = count;
    const times = ring.columns[timeColumn];
    const end = ring.end;
    let record = ring.find(timeColumn, from);
    this.records[0] = record;
    const last = ring.find(timeColumn, from + count * step);
    // Few records: walk. Many: search for each edge.
    const walk = last - record < 8 * count;
    for (let k = 1; k <= count; k += 1) {
      const edge = from + k * step;
      if (walk) while (record < end && times[record % ring.capacity] < edge) record += 1;
      else record = ring.find(timeColumn, edge);
      this.records[k] = record;
    }
  }
}

/**
 * Fill an envelope with one column of the ring.
 * @param {Ring} ring
 * @param {number} column
 * @param {Edges} edges
 * @param {Envelope} out
 * @returns {[number, number]} least and largest of all; [Infinity, -Infinity] where there is nothing
 */
export function envelope(ring, column, edges, out) {
  /** @type {[number, number]} */
  const all = [Infinity, -Infinity];
  /** @type {[number, number]} */
  const part = [0, 0];
  for (let k = 0; k < edges.count; k += 1) {
    const from = edges.records[k];
    const to = edges.records[k + 1];
    ring.extremes(column, from, to, part);
    if (from >= to || part[0] > part[1]) {
      out.filled[k] = 0;
      continue;
    }
    out.filled[k] = 1;
    out.first[k] = ring.at(column, from);
    out.last[k] = ring.at(column, to - 1);
    out.low[k] = part[0];
    out.high[k] = part[1];
    if (part[0] < all[0]) all[0] = part[0];
    if (part[1] > all[1]) all[1] = part[1];
  }
  return all;
}

/**
 * Return distances of an axis' marks: 1, 2 or 5 times a power of ten, at most `most` of them in `span`.
 * @param {number} span
 * @param {number} most
 */
export function tickStep(span, most) {
  if (!(span > 0) || most < 1) return 1;
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/**
 * Return the places of an axis' marks between two numbers.
 * @param {number} low
 * @param {number} high
 * @param {number} most
 */
export function ticks(low, high, most) {
  const step = tickStep(high - low, most);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) found.push(k * step);
  return { step, at: found };
}

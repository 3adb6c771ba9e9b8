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

/** Records that are farther apart than this, s, are not joined, unless all are. */
export const GAP_S = 0.5;

/**
 * Return the usual distance of neighbours in a column that rises; NaN where there are no two.
 * @param {Ring} ring
 * @param {number} column
 * @param {number} from
 * @param {number} to
 */
function usual(ring, column, from, to) {
  const stride = Math.max(1, Math.floor((to - from) / 32));
  const steps = [];
  for (let n = from + 1; n < to; n += stride) steps.push(ring.at(column, n) - ring.at(column, n - 1));
  return steps.length ? steps.sort((a, b) => a - b)[Math.floor((steps.length - 1) / 2)] : NaN;
}

/**
 * Return what says of a record whether something is missing between it and the one before it.
 * @param {Ring} ring
 * @param {number} time the column that holds the time
 * @param {number | undefined} cycle the column that counts cycles, where there is one
 * @param {Edges} edges
 * @returns {(record: number) => boolean}
 */
export function breaks(ring, time, cycle, edges) {
  const from = Math.max(ring.begin, edges.records[0] - 1);
  const to = Math.min(ring.end, edges.records[edges.count] + 1);
  const spacing = usual(ring, time, from, to);
  const longest = Math.max(GAP_S, Number.isNaN(spacing) ? 0 : 1.5 * spacing);
  const cycles = cycle === undefined ? NaN : Math.max(1, usual(ring, cycle, from, to));
  return (record) => {
    if (record <= ring.begin) return true;
    if (!(ring.at(time, record) - ring.at(time, record - 1) <= longest)) return true;
    if (cycle === undefined || Number.isNaN(cycles)) return false;
    const step = ring.at(cycle, record) - ring.at(cycle, record - 1);
    return step > 1.5 * cycles || step < 0;
  };
}

/**
 * Return what a strip shows of a column of codes: pieces of one code each, in columns of pixels, and the columns in which
 * there were more switches than the pieces tell.
 * @param {Ring} ring
 * @param {number} column
 * @param {Edges} edges
 * @param {Envelope} line the column's
 * @param {(record: number) => boolean} broken
 */
export function strip(ring, column, edges, line, broken) {
  /** @type {{begin: number, end: number, code: number}[]} */
  const pieces = [];
  /** @type {number[]} */
  const marks = [];
  let begin = -1;
  let code = NaN;
  let end = 0;
  const close = () => {
    if (begin >= 0) pieces.push({ begin, end, code });
    begin = -1;
    code = NaN;
  };
  for (let x = 0; x < edges.count; x += 1) {
    const from = edges.records[x];
    const to = edges.records[x + 1];
    if (from >= to) continue;
    if (!line.filled[x]) {
      close();
      continue;
    }
    if (begin >= 0 && broken(from)) close();
    if (!(line.first[x] === code && line.low[x] === code && line.high[x] === code)) {
      let switches = 0;
      let now = code;
      for (let record = from; record < to; record += 1) {
        const value = ring.at(column, record);
        if (Number.isNaN(value) || value === now) continue;
        if (!Number.isNaN(now)) switches += 1;
        now = value;
      }
      let told = 0;
      if (now !== code) {
        told = begin >= 0 ? 1 : 0;
        end = x;
        close();
        [begin, code] = [x, now];
      }
      if (switches > told) marks.push(x);
    }
    end = x + 1;
  }
  close();
  return { pieces, marks };
}

/** @typedef {[number, number | null][]} Switches: when, in seconds, a column of codes became which; null for none */

/**
 * Return the code in force at a time; NaN for none.
 * @param {Switches} switches
 * @param {number} time
 */
export function codeAt(switches, time) {
  let low = 0;
  let high = switches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (switches[middle][0] <= time) low = middle + 1;
    else high = middle;
  }
  return low ? switches[low - 1][1] ?? NaN : NaN;
}

/**
 * Return the same as `strip`, from all switches of a column.
 * @param {Switches} switches
 * @param {number} until when the last of them ends
 * @param {number} from where the first column of pixels begins
 * @param {number} step width of a column
 * @param {number} count columns
 */
export function stripOfSwitches(switches, until, from, step, count) {
  /** @type {{begin: number, end: number, code: number}[]} */
  const pieces = [];
  /** @type {number[]} */
  const marks = [];
  const at = (/** @type {number} */ time) => Math.floor((time - from) / step + 1e-9);
  const wide = Math.max(0, Math.min(count, Math.ceil((until - from) / step - 1e-9)));
  let k = 0;
  while (k < switches.length && at(switches[k][0]) < 0) k += 1;
  let begin = 0;
  let code = k ? switches[k - 1][1] : null;
  while (k < switches.length && at(switches[k][0]) < wide) {
    const x = at(switches[k][0]);
    const before = code;
    let changes = 0;
    for (; k < switches.length && at(switches[k][0]) === x; k += 1) {
      if (code !== null && switches[k][1] !== code) changes += 1;
      code = switches[k][1];
    }
    if (code !== before) {
      if (before !== null && x > begin) pieces.push({ begin, end: x, code: before });
      begin = x;
    }
    if (changes > (code !== before && before !== null ? 1 : 0)) marks.push(x);
  }
  if (code !== null && wide > begin) pieces.push({ begin, end: wide, code });
  return { pieces, marks };
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

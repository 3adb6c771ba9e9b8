// The last records of a leg, column by column, in memory that is taken once and never grows.
// Beside each block of records stand its least and largest values, so that ten minutes are drawn without reading
// each record of them, and a spike of one cycle is never drawn over.

/** Records in a block. */
export const BLOCK = 64;

export class Ring {
  /**
   * @param {number} columns how many numbers a record has
   * @param {number} capacity how many records are kept; rounded up to whole blocks
   */
  constructor(columns, capacity) {
    const blocks = Math.ceil(capacity / BLOCK) + 1;
    this.capacity = blocks * BLOCK;
    this.blocks = blocks;
    /** Records put in since the beginning: record n is at n % capacity. */
    this.end = 0;
    /** @type {Float64Array[]} */
    this.columns = Array.from({ length: columns }, () => new Float64Array(this.capacity));
    this.low = Array.from({ length: columns }, () => new Float64Array(blocks));
    this.high = Array.from({ length: columns }, () => new Float64Array(blocks));
  }

  /** Number of the oldest record that is kept. A block that is being written over is no longer kept. */
  get begin() {
    const first = this.end - this.capacity;
    return first <= 0 ? 0 : Math.ceil(first / BLOCK) * BLOCK + (this.end % BLOCK ? 0 : BLOCK);
  }

  /**
   * Add records.
   * @param {ArrayLike<number>} rows row-major
   * @param {number} count
   */
  push(rows, count) {
    const width = this.columns.length;
    for (let row = 0; row < count; row += 1) {
      const at = this.end % this.capacity;
      const block = Math.floor(at / BLOCK);
      const fresh = at % BLOCK === 0;
      for (let k = 0; k < width; k += 1) {
        const value = rows[row * width + k];
        this.columns[k][at] = value;
        if (fresh) {
          this.low[k][block] = Infinity;
          this.high[k][block] = -Infinity;
        }
        // NaN is neither less nor more, and stays out.
        if (value < this.low[k][block]) this.low[k][block] = value;
        if (value > this.high[k][block]) this.high[k][block] = value;
      }
      this.end += 1;
    }
  }

  /**
   * @param {number} column
   * @param {number} record its number, from `begin` to `end` - 1
   */
  at(column, record) {
    return this.columns[column][record % this.capacity];
  }

  /**
   * Return the number of the first record whose value in a column that rises is not below `value`.
   * @param {number} column
   * @param {number} value
   */
  find(column, value) {
    let low = this.begin;
    let high = this.end;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.at(column, middle) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Return the number of the newest record with these values, of the last `most` ones; -1 where there is none.
   * @param {readonly (readonly [column: number, value: number])[]} values
   * @param {number} [most]
   */
  newest(values, most = 4096) {
    const last = Math.max(this.begin, this.end - most);
    for (let record = this.end - 1; record >= last; record -= 1) {
      if (values.every(([column, value]) => this.at(column, record) === value)) return record;
    }
    return -1;
  }

  /**
   * Return least and largest value of records `from` to `to` - 1; [Infinity, -Infinity] where there are none.
   * @param {number} column
   * @param {number} from
   * @param {number} to
   * @param {[number, number]} [out] filled and returned, where nothing new is to be made
   * @returns {[number, number]}
   */
  extremes(column, from, to, out = [Infinity, -Infinity]) {
    const values = this.columns[column];
    const lows = this.low[column];
    const highs = this.high[column];
    let low = Infinity;
    let high = -Infinity;
    let record = from;
    while (record < to) {
      const at = record % this.capacity;
      if (at % BLOCK === 0 && record + BLOCK <= to) {
        const block = at / BLOCK;
        if (lows[block] < low) low = lows[block];
        if (highs[block] > high) high = highs[block];
        record += BLOCK;
        continue;
      }
      const value = values[at];
      if (value < low) low = value;
      if (value > high) high = value;
      record += 1;
    }
    out[0] = low;
    out[1] = high;
    return out;
  }
}

// Binary messages: records of the engine. Little endian: u32 layout, u32 records, f64 sent_unix_s, then
// records x columns as f64, row-major.

const HEAD = 16;

/** @typedef {{layout: number, count: number, sentUnixS: number, rows: Float64Array}} Frame */

/**
 * Take a message apart. Throws RangeError where it is not whole.
 * @param {ArrayBuffer} data
 * @returns {Frame}
 */
export function readFrame(data) {
  if (data.byteLength < HEAD || (data.byteLength - HEAD) % 8) {
    throw new RangeError(`${data.byteLength} bytes are no records; expected ${HEAD} and a multiple of 8`);
  }
  const view = new DataView(data);
  const count = view.getUint32(4, true);
  const rows = new Float64Array(data, HEAD);
  if (count ? rows.length % count : rows.length) {
    throw new RangeError(`${rows.length} numbers are no ${count} records of equal length`);
  }
  return { layout: view.getUint32(0, true), count, sentUnixS: view.getFloat64(8, true), rows };
}

// Numbers as text: never longer than their place, so that nothing moves while values do.

const MINUS = "\u2212";

/**
 * Return a number with so many decimals; "–" where there is none.
 * @param {number | null | undefined} value
 * @param {number} [digits]
 */
export function number(value, digits = 1) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const text = value.toFixed(digits);
  return text.startsWith("-") ? (Number(text) === 0 ? text.slice(1) : MINUS + text.slice(1)) : text;
}

/**
 * Return how many decimals a value needs to be told from its neighbours in a range.
 * @param {number} span
 */
export function digitsFor(span) {
  if (!(span > 0)) return 1;
  return Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(span))));
}

/**
 * Return a time in seconds as a clock shows it, with so many decimals: 12.34 s, 3:02.10, 2:03:04.00.
 * @param {number | null | undefined} seconds
 * @param {number} [digits]
 */
export function clock(seconds, digits = 2) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const sign = seconds < 0 ? MINUS : "";
  const scale = 10 ** digits;
  // Rounded first, so that there is no 1:60.
  const all = Math.round(Math.abs(seconds) * scale);
  if (all < 60 * scale) return `${sign}${(all / scale).toFixed(digits)} s`;
  const minutes = Math.floor(all / (60 * scale));
  const rest = ((all % (60 * scale)) / scale).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  if (minutes < 60) return `${sign}${minutes}:${rest}`;
  return `${sign}${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

/**
 * Return the time of day of a moment.
 * @param {number} unixS seconds since 1970
 */
export function timeOfDay(unixS) {
  const moment = new Date(unixS * 1000);
  const two = (/** @type {number} */ n, width = 2) => String(n).padStart(width, "0");
  return `${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}.${two(moment.getMilliseconds(), 3)}`;
}

/**
 * Return a size for people.
 * @param {number} count
 */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(1)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

/**
 * Return a unit without what explains it: "tick" for "tick (18.4 mA)".
 * @param {string | null | undefined} unit
 */
export function shortUnit(unit) {
  return unit?.replace(/[ ,(].*$/, "") ?? "";
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

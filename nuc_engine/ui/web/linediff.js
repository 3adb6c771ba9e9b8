// What differs between two texts, line by line. Pure.

/** @typedef {{sign: " " | "+" | "-", text: string, before: number, after: number}} DiffLine: numbers from 1, 0 where it is not there */
/** @typedef {{lines: DiffLine[]}} Hunk */

const MOST_STEPS = 2000;
/** Differences that are looked for one by one; texts that are less alike differ as a whole from there on. */

/**
 * Return the differences of two texts with some lines around each; none where they are the same.
 * @param {string} before
 * @param {string} after
 * @param {number} [around]
 * @returns {Hunk[]}
 */
export function diffLines(before, after, around = 3) {
  const a = before.split("\n");
  const b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middle = shortest(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  /** @type {DiffLine[]} */
  const lines = [];
  const same = (/** @type {number} */ i, /** @type {number} */ j) => lines.push({ sign: " ", text: a[i], before: i + 1, after: j + 1 });
  let [i, j] = [0, 0];
  for (; i < head; i += 1, j += 1) same(i, j);
  for (const sign of middle) {
    if (sign === " ") same(i++, j++);
    else if (sign === "-") lines.push({ sign, text: a[i++], before: i, after: 0 });
    else lines.push({ sign, text: b[j++], before: 0, after: j });
  }
  for (; i < a.length; i += 1, j += 1) same(i, j);
  return hunks(lines, around);
}

/**
 * Return the steps from one list to the other: the fewest (Myers), or all away and all there where that is too many.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {(" " | "+" | "-")[]}
 */
function shortest(a, b) {
  const whole = () => /** @type {(" " | "+" | "-")[]} */ ([...a.map(() => "-"), ...b.map(() => "+")]);
  if (!a.length || !b.length) return whole();
  const most = Math.min(a.length + b.length, MOST_STEPS);
  /** @type {Int32Array[]} */
  const trail = [];
  const reach = new Int32Array(2 * most + 3);
  const at = (/** @type {number} */ k) => k + most + 1;
  for (let d = 0; d <= most; d += 1) {
    trail.push(reach.slice(at(-d) - 1, at(d) + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[at(k - 1)] < reach[at(k + 1)]);
      let x = down ? reach[at(k + 1)] : reach[at(k - 1)] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach[at(k)] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(trail, a.length, b.length);
    }
  }
  return whole();
}

/**
 * @param {Int32Array[]} trail how far each diagonal reached before each step: of step d from -d-1 to d+1
 * @param {number} x
 * @param {number} y
 */
function walkBack(trail, x, y) {
  /** @type {(" " | "+" | "-")[]} */
  const steps = [];
  for (let d = trail.length - 1; d >= 0; d -= 1) {
    const of = (/** @type {number} */ k) => trail[d][k + d + 1];
    const k = x - y;
    const down = k === -d || (k !== d && of(k - 1) < of(k + 1));
    const from = down ? k + 1 : k - 1;
    const [startX, startY] = d ? [of(from), of(from) - from] : [0, 0];
    const [cornerX, cornerY] = d ? (down ? [startX, startY + 1] : [startX + 1, startY]) : [0, 0];
    while (x > cornerX && y > cornerY) {
      steps.push(" ");
      x -= 1;
      y -= 1;
    }
    if (d) steps.push(down ? "+" : "-");
    [x, y] = [startX, startY];
  }
  return steps.reverse();
}

/**
 * @param {DiffLine[]} lines
 * @param {number} around
 * @returns {Hunk[]}
 */
function hunks(lines, around) {
  /** @type {Hunk[]} */
  const found = [];
  let end = -1;
  lines.forEach((line, k) => {
    if (line.sign === " ") return;
    const from = Math.max(end, k - around, 0);
    const to = Math.min(lines.length, k + around + 1);
    if (end >= 0 && from <= end) found.at(-1)?.lines.push(...lines.slice(end, to));
    else found.push({ lines: lines.slice(from, to) });
    end = Math.max(end, to);
  });
  return found;
}

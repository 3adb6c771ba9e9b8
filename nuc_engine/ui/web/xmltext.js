// XML as it is typed: lines, what stands around the caret, what may stand there, indentation. Pure.

/** @typedef {{roots: string[], elements: Record<string, {children: string[], attributes: Record<string, {required: boolean, values: string[]}>}>}} Schema */
/** @typedef {{text: string, detail: string}} Offer */
/** @typedef {{kind: "element" | "close" | "attribute" | "value" | "text" | "none", tag: string, attribute: string,
 *   present: string[], word: string, from: number}} Place: the word before the caret begins at `from` */
/** @typedef {{hdsos: {id: number, name: string, about: string}[], joints: string[], states: string[]}} Names */

const MOST_OFFERS = 200;
const WORD = /[\w.:-]*$/;
const REFERRING = new Set(["hdsoMod", "hdsoSpec"]);

/**
 * Return where each line of a text begins.
 * @param {string} text
 */
export function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/**
 * Return the number of the line that a character is on, from 1.
 * @param {number[]} starts
 * @param {number} at
 */
export function lineOf(starts, at) {
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= at) low = middle;
    else high = middle;
  }
  return low + 1;
}

/**
 * Return the element that a place in a text is in, "" at the top.
 * @param {string} text up to that place
 */
function around(text) {
  /** @type {string[]} */
  const open = [];
  const tags = /<!--[\s\S]*?(?:-->|$)|<!\[CDATA\[[\s\S]*?(?:\]\]>|$)|<[?!][^>]*>|<(\/?)([\w.:-]+)(?:"[^"<]*"|'[^'<]*'|[^"'<>])*?(\/?)>/g;
  for (let found = tags.exec(text); found; found = tags.exec(text)) {
    const [, closing, name, empty] = found;
    if (!name) continue;
    if (!closing && !empty) open.push(name);
    else if (closing) {
      const at = open.lastIndexOf(name);
      if (at >= 0) open.length = at;
    }
  }
  return open.at(-1) ?? "";
}

/**
 * Say what is being typed at the caret.
 * @param {string} text
 * @param {number} caret
 * @returns {Place}
 */
export function placeAt(text, caret) {
  const before = text.slice(0, caret);
  const word = WORD.exec(before)?.[0] ?? "";
  const none = /** @type {Place} */ ({ kind: "none", tag: "", attribute: "", present: [], word, from: caret - word.length });
  if (before.lastIndexOf("<!--") > before.lastIndexOf("-->")) return none;
  const begin = before.lastIndexOf("<");
  const inside = begin < 0 ? "" : before.slice(begin);
  if (begin < 0) return none;
  const closing = /^<\/([\w.:-]*)$/.exec(inside);
  if (closing) return { ...none, kind: "close", tag: around(before.slice(0, begin)) };
  const opening = /^<([\w.:-]*)$/.exec(inside);
  if (opening) return { ...none, kind: "element", tag: around(before.slice(0, begin)) };
  const tag = /^<([\w.:-]+)/.exec(inside)?.[1];
  if (!tag) return inside.startsWith("</") ? { ...none, kind: "text", tag: around(before) } : none;
  // Forward from the tag's name: what stands in quotes may hold anything but "<".
  const present = [];
  let rest = inside.slice(1 + tag.length);
  for (;;) {
    const whole = /^\s+([\w.:-]+)\s*=\s*(?:"[^"]*"|'[^']*')/.exec(rest);
    if (whole) {
      present.push(whole[1]);
      rest = rest.slice(whole[0].length);
      continue;
    }
    const value = /^\s+([\w.:-]+)\s*=\s*(["'])/.exec(rest);
    if (value) {
      // Attributes after the caret are there too.
      return { ...none, kind: "value", tag, attribute: value[1], present };
    }
    if (/^\s*\/?>/.test(rest)) return { ...none, kind: "text", tag: around(before) };
    if (!/^\s+[\w.:-]*$/.test(rest)) return none;
    const after = /^[^<>]*/.exec(text.slice(caret))?.[0] ?? "";
    for (const found of after.matchAll(/([\w.:-]+)\s*=\s*["']/g)) present.push(found[1]);
    return { ...none, kind: "attribute", tag, present };
  }
}

/**
 * Return what may be typed at a place, the likely first; offers that begin as the word does come before others that hold it.
 * @param {Place} place
 * @param {Schema} schema
 * @param {Names} names
 * @returns {Offer[]}
 */
export function offersAt(place, schema, names) {
  const wanted = place.word.toLowerCase();
  const rank = (/** @type {Offer} */ { text, detail }) => (text.toLowerCase().startsWith(wanted) ? 0 : text.toLowerCase().includes(wanted) ? 1 : detail.toLowerCase().includes(wanted) ? 2 : 3);
  const ranked = candidates(place, schema, names).map((offer) => ({ offer, rank: rank(offer) }));
  return ranked
    .filter((each) => each.rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST_OFFERS)
    .map(({ offer }) => offer);
}

/**
 * @param {Place} place
 * @param {Schema} schema
 * @param {Names} names
 * @returns {Offer[]}
 */
function candidates({ kind, tag, attribute, present }, schema, names) {
  const plain = (/** @type {string[]} */ texts, detail = "") => texts.map((text) => ({ text, detail }));
  const element = schema.elements[tag];
  const byName = names.hdsos.map(({ id, name, about }) => ({ text: name, detail: [`${id}`, about].filter(Boolean).join("  ") }));
  if (kind === "close") return tag ? [{ text: `${tag}>`, detail: "" }] : [];
  if (kind === "element") return plain(tag ? element?.children ?? [] : schema.roots);
  if (kind === "attribute") {
    const left = Object.entries(element?.attributes ?? {}).filter(([name]) => !present.includes(name));
    left.sort(([, a], [, b]) => Number(b.required) - Number(a.required));
    return left.map(([name, { required, values }]) => ({ text: `${name}=""`, detail: [required ? "required" : "", values.join(" ")].filter(Boolean).join("  ") }));
  }
  if (kind === "value") {
    const values = element?.attributes[attribute]?.values ?? [];
    if (values.length) return plain(values);
    if (attribute === "idNum" && REFERRING.has(tag)) return names.hdsos.map(({ id, name, about }) => ({ text: String(id), detail: [name, about].filter(Boolean).join("  ") }));
    if (attribute === "boolstring" || (attribute === "name" && REFERRING.has(tag))) return byName;
    if (attribute === "joint") return plain(names.joints);
    if (attribute === "name") return [...plain(names.joints, "joint"), ...plain(names.states, "state"), ...byName];
    return [];
  }
  return kind === "text" && REFERRING.has(tag) ? byName : [];
}

/**
 * Return what Enter inserts at a place: a line end and the indentation of its line, deeper after a tag that opens.
 * @param {string} text
 * @param {number} caret
 */
export function newLine(text, caret) {
  const line = text.slice(text.lastIndexOf("\n", caret - 1) + 1, caret);
  const margin = /^[ \t]*/.exec(line)?.[0] ?? "";
  const opens = /<[\w.:-]+(?:"[^"]*"|'[^']*'|[^"'<>/]|\/(?!>))*>\s*$/.test(line);
  return `\n${margin}${opens ? "  " : ""}`;
}

/**
 * Return the lines of a selection two blanks further in, or out, and where they stand.
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @param {boolean} out
 */
export function shifted(text, from, to, out) {
  const begin = text.lastIndexOf("\n", from - 1) + 1;
  const last = to > from && text[to - 1] === "\n" ? to - 1 : to;
  const found = text.indexOf("\n", last);
  const end = found < 0 ? text.length : found;
  const lines = text.slice(begin, end).split("\n");
  return { begin, end, text: lines.map((line) => (out ? line.replace(/^(?: {1,2}|\t)/, "") : line && `  ${line}`)).join("\n") };
}

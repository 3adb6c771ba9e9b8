// Documents that are open and not saved: what outlives a reload of the tab, and whether a dry run still says what is.

import { keep, recall } from "./store.js";

/** A document that is open: texts by file name, as they are here and as they were on disk (null: not there).
 * @typedef {{kind: "script" | "configuration", name: string, files: Map<string, string>, disk: Map<string, string> | null,
 *   replaces: string, problems: import("./messages.js").FoundProblem[]}} Doc: `replaces` is the name that may be written over, as was said */
/** What a dry run began from. @typedef {{text: string, values: string, angles: Record<string, number>, model: unknown}} Basis */

const KEPT = "nuc-drafts";
const VERSION = 1;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** A joint that is measured to be so much elsewhere, deg, has moved; less is noise. */
const MOVED_DEG = 1;

/** Whether something of it is not on disk. @param {Doc} doc */
export const isChanged = (doc) => !doc.disk || [...doc.files].some(([file, text]) => doc.disk?.get(file) !== text);

/** How long its texts are, in bytes. @param {Doc} doc */
export function sizeOf({ files }) {
  let size = 0;
  for (const text of files.values()) size += new Blob([text]).size;
  return size;
}

/**
 * Keep what is not on disk; say whether there was room.
 * @param {Storage} storage
 * @param {readonly Doc[]} docs
 */
export function keepDrafts(storage, docs) {
  const drafts = docs.filter(isChanged).map(({ kind, name, files, disk, replaces }) => ({ kind, name, replaces, files: [...files], disk: disk && [...disk] }));
  return keep(storage, KEPT, VERSION, drafts);
}

/** @param {any} pairs */
const texts = (pairs) => (Array.isArray(pairs) && pairs.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((word) => typeof word === "string")) ? new Map(pairs) : null);

/**
 * Return what was kept.
 * @param {Storage} storage
 * @returns {Doc[]}
 */
export function draftsIn(storage) {
  const fit = (/** @type {any} */ kept) =>
    /** @type {any[]} */ (kept).flatMap((each) => {
      const files = texts(each?.files);
      const known = (each?.kind === "script" || each?.kind === "configuration") && NAME.test(each.name) && files?.size;
      return known ? [{ kind: each.kind, name: each.name, files, disk: texts(each.disk), replaces: String(each.replaces ?? ""), problems: [] }] : [];
    });
  return recall(storage, KEPT, VERSION, fit, []);
}

/**
 * Return the name, or with the first number behind it that makes it one which is not taken.
 * @param {string} name
 * @param {(name: string) => boolean} taken
 */
export function freeName(name, taken) {
  for (let k = 1; ; k += 1) {
    const free = k === 1 ? name : `${name}_${k}`;
    if (!taken(free)) return free;
  }
}

/**
 * Say what is no longer as it was when a dry run began; "" where all is.
 * @param {Basis} was
 * @param {Basis} is
 */
export function staleText(was, is) {
  const names = new Set([...Object.keys(was.angles), ...Object.keys(is.angles)]);
  const moved = [...names].some((name) => !(Math.abs(was.angles[name] - is.angles[name]) <= MOVED_DEG));
  const changed = [
    was.text === is.text ? "" : "the text",
    was.model === is.model ? "" : "the model in force",
    was.values === is.values ? "" : "values in force",
    moved ? "the pose" : "",
  ].filter(Boolean);
  return changed.length ? `no longer what would happen: changed since: ${changed.join(", ")}` : "";
}

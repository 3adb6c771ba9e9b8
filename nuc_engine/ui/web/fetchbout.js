// Files of a bout from the daemon, piece by piece, wherever it is; all of them as one archive.

import { Refused } from "./session.js";

/** @typedef {{name: string, size: number}} StoredFile */
/** @typedef {(method: string, params: Record<string, unknown>) => Promise<any>} Ask */

/** Endings of files that only grow; others are written anew, as the manifest is. */
const GROWING = /\.(txt|msgpack)$/;
const MANIFEST = "manifest.json";
/** What may be over in a moment: no connection, or no answer in time. */
const PASSING = new Set(["gone", "timeout", "not_answered"]);
const AGAIN_MS = 1000;
const BLOCK = 512;
const NAME = 100;
const PREFIX = 155;

/**
 * Return how to ask for what is there for long: again, while nobody answers, until `signal` is aborted.
 * @param {Ask} ask
 * @param {(error: Refused) => void} told of each time that there was no answer
 * @param {AbortSignal} signal
 * @param {(ms: number) => Promise<void>} [wait]
 * @returns {Ask}
 */
export function patient(ask, told, signal, wait = (ms) => new Promise((done) => setTimeout(done, ms))) {
  return async (method, params) => {
    for (;;) {
      try {
        return await unlessAborted(ask(method, params), signal);
      } catch (error) {
        if (!(error instanceof Refused) || !PASSING.has(error.kind)) throw error;
        told(error);
        await unlessAborted(wait(AGAIN_MS), signal);
      }
    }
  };
}

/**
 * Wait no longer than until `signal` is aborted.
 * @template T
 * @param {Promise<T>} answer
 * @param {AbortSignal} signal
 * @returns {Promise<T>}
 */
async function unlessAborted(answer, signal) {
  signal.throwIfAborted();
  /** @type {() => void} */
  let stop = () => undefined;
  const aborted = new Promise((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return /** @type {T} */ (await Promise.race([answer, aborted]));
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/**
 * Return a file's bytes as pieces. One that grows meanwhile ends where it ended when it was asked for first. Throws
 * Refused, and what `signal` was aborted with.
 * @param {Ask} ask
 * @param {string} bout
 * @param {string} file
 * @param {(bytes: number) => void} told of each piece
 * @param {AbortSignal} signal
 * @returns {Promise<Uint8Array<ArrayBuffer>[]>}
 */
export async function fetchFile(ask, bout, file, told, signal) {
  const pieces = [];
  let size = Infinity;
  for (let offset = 0; offset < size; ) {
    signal.throwIfAborted();
    const part = await unlessAborted(ask("fetch", { bout, file, offset }), signal);
    if (!Number.isFinite(size)) size = part.size;
    else if (part.size !== size && !GROWING.test(file)) throw new Refused("failed", `${file} was written anew while it was fetched: fetch it again`);
    const bytes = Uint8Array.from(atob(part.data), (letter) => letter.charCodeAt(0)).subarray(0, size - offset);
    if (!bytes.length) {
      if (offset < size) throw new Refused("failed", `${file} has become shorter while it was fetched`);
      break;
    }
    pieces.push(bytes);
    offset += bytes.length;
    told(bytes.length);
  }
  return pieces;
}

/**
 * Return all files of a bout as one tar archive, in pieces; the manifest last, so that it knows of all others.
 * @param {Ask} ask
 * @param {string} bout
 * @param {readonly StoredFile[]} files
 * @param {(bytes: number) => void} told
 * @param {AbortSignal} signal
 */
export async function fetchAll(ask, bout, files, told, signal) {
  const folder = bout.split("/").at(-1) ?? bout;
  const pieces = [];
  // Whoever unpacks it shall have nothing but one folder: a daemon elsewhere says what files are called.
  const odd = [folder, ...files.map(({ name }) => name)].find((name) => /[\\\p{Cc}]/u.test(name) || name.split("/").some((part) => ["", ".", ".."].includes(part)));
  if (odd !== undefined) throw new Refused("failed", `${JSON.stringify(odd)} is no name of a file for an archive: fetch the files one by one`);
  const isLast = (/** @type {StoredFile} */ { name }) => Number(name === MANIFEST);
  for (const { name } of [...files].sort((a, b) => isLast(a) - isLast(b))) {
    const data = await fetchFile(ask, bout, name, told, signal);
    const size = data.reduce((sum, piece) => sum + piece.length, 0);
    pieces.push(tarHead(`${folder}/${name}`, size), ...data, new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK));
  }
  return [...pieces, new Uint8Array(2 * BLOCK)];
}

/**
 * Return what stands before a file in a tar archive (ustar).
 * @param {string} path
 * @param {number} size
 */
export function tarHead(path, size) {
  const encoded = new TextEncoder().encode(path);
  // A path that is too long is parted at a slash.
  const cut = encoded.length <= NAME ? -1 : encoded.findIndex((byte, k) => byte === 47 && encoded.length - k - 1 <= NAME);
  if (cut > PREFIX || (cut < 0 && encoded.length > NAME)) throw new Refused("failed", `${path} is too long a name for an archive: fetch the file by itself`);
  const head = new Uint8Array(BLOCK);
  const put = (/** @type {number} */ at, /** @type {string} */ text) => head.set(new TextEncoder().encode(text), at);
  head.set(encoded.subarray(cut + 1), 0);
  if (cut >= 0) head.set(encoded.subarray(0, cut), 345);
  put(100, "0000644\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  put(124, `${size.toString(8).padStart(11, "0")}\0`);
  put(136, `${Math.floor(Date.now() / 1000).toString(8).padStart(11, "0")}\0`);
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\x0000");
  const sum = head.reduce((all, byte) => all + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return head;
}

/**
 * Let the browser keep pieces as a file.
 * @param {BlobPart[]} pieces
 * @param {string} name
 */
export function keepAs(pieces, name) {
  const address = URL.createObjectURL(new Blob(pieces));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

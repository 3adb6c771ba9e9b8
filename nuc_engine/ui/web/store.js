// What a page keeps between two loads of it: with the version of its form. Rubbish, or another version, is as nothing.

/**
 * Return what was kept; `nothing` where there is none that is fit.
 * @template T
 * @param {Storage} storage
 * @param {string} name
 * @param {number} version
 * @param {(kept: any) => T | null} fit what was kept as far as it can be used; null where it can not
 * @param {T} nothing
 * @returns {T}
 */
export function recall(storage, name, version, fit, nothing) {
  try {
    const { v, kept } = JSON.parse(storage.getItem(name) ?? "null") ?? {};
    return (v === version ? fit(kept) : null) ?? nothing;
  } catch {
    return nothing;
  }
}

/**
 * Keep it; say whether there was room.
 * @param {Storage} storage
 * @param {string} name
 * @param {number} version
 * @param {unknown} kept
 */
export function keep(storage, name, version, kept) {
  try {
    storage.setItem(name, JSON.stringify({ v: version, kept }));
    return true;
  } catch {
    return false;
  }
}

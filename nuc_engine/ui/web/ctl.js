// What was clicked, as a line for a shell: each action of this page is one of `nuc ctl` too.

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/**
 * Return a word as a POSIX shell takes it literally.
 * @param {string} word
 */
export function quoted(word) {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** @typedef {string | number | boolean | null | undefined | Record<string, string>} Option */

/**
 * Return `nuc ctl ...` for a subcommand: options that are null, undefined, "" or false are left out, true is a flag, a
 * map repeats its option for each pair.
 * @param {readonly string[]} way to the daemon: address, keys; none where it is the one of this machine
 * @param {string} subcommand one word, or those of a group and its command
 * @param {Record<string, Option>} [options] by name, without dashes
 * @param {readonly string[]} [words] what follows
 */
export function ctlLine(way, subcommand, options = {}, words = []) {
  const line = ["nuc", "ctl", ...way, ...subcommand.split(" ")];
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === "" || value === false) continue;
    if (value === true) line.push(`--${name}`);
    else if (typeof value === "object") {
      for (const [key, text] of Object.entries(value)) line.push(`--${name}`, `${key}=${text}`);
    } else line.push(`--${name}`, String(value));
  }
  // A word that begins with a dash would be taken for an option.
  if (words.some((word) => word.startsWith("-"))) line.push("--");
  return shellLine([...line, ...words]);
}

/**
 * Return a line with what has to be so for it, as a shell takes no notice of it.
 * @param {string} line
 * @param {string} note
 */
export function noted(line, note) {
  return note ? `${line}  # ${note}` : line;
}

/**
 * Return another line for a shell.
 * @param {readonly string[]} words
 */
export function shellLine(words) {
  return words.map(quoted).join(" ");
}

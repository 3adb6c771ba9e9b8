// What is kept: values in force as a configuration or script, edits as a timed script, a bout's files on this machine.

import { field, fill, h, setText, table } from "../dom.js";
import { fetchAll, fetchFile, keepAs, patient } from "../fetchbout.js";
import { bytes, number } from "../format.js";
import { Refused } from "../session.js";
import { lineOf, section } from "./engine.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("./engine.js").Section} Section */
/** @typedef {import("../messages.js").StoredBout} StoredBout */

const NAMES = "[A-Za-z0-9][A-Za-z0-9_\\-]*";
const SHOWN = 200;

/**
 * @param {Context} context
 * @returns {Section}
 */
export function keepSection({ live, act, line }) {
  const name = h("input", { type: "text", required: true, pattern: NAMES, maxlength: 64, placeholder: "gentle_roach", spellcheck: "false" });
  const kind = h("select", {}, h("option", { value: "configuration" }, "configuration"), h("option", { value: "script" }, "script"));
  const description = h("input", { type: "text", placeholder: "what it is good for" });
  const overwrite = h("input", { type: "checkbox" });
  const save = h("button", { type: "submit", help: "write the values in force beside the daemon; loading them again gives the same, to the bit" }, "Save values");
  const saveLine = lineOf();
  const form = h(
    "form",
    { class: "form" },
    field("name", name, "letters, digits, _ and -"),
    field("as", kind, "a configuration that starts with these values, or a script that sets them"),
    field("description", description, "stands in the document"),
    h("label", { class: "check", help: "also where there is one of that name already; of a recording too" }, overwrite, "overwrite"),
    h("div", { class: "actions" }, save, saveLine.place),
  );
  const options = () => ({ as: kind.value, description: description.value, overwrite: overwrite.checked });
  const follow = () => saveLine.tell(line("save", options(), [name.value || "NAME"]));
  form.addEventListener("input", follow);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const params = { name: name.value, kind: kind.value, description: description.value || null, overwrite: overwrite.checked };
    void act("save", params, saveLine.text, (saved) => `saved ${saved.path}`);
  });

  const script = h("input", { type: "text", required: true, pattern: NAMES, maxlength: 64, placeholder: "first_try", spellcheck: "false" });
  const record = h("button", { type: "submit", help: "write down every edit with its time, whoever makes it, as a script" }, "Record edits");
  const state = h("p", { class: "note live" });
  const recordLine = lineOf();
  const recording = h("form", { class: "form" }, field("script", script, "what the script will be called"), h("div", { class: "actions" }, record, recordLine.place), state);
  const followRecord = () => recordLine.tell(live.status?.recording ? line("record stop", { overwrite: overwrite.checked }) : line("record start", {}, [script.value || "NAME"]));
  recording.addEventListener("input", followRecord);
  recording.addEventListener("submit", (event) => {
    event.preventDefault();
    if (live.status?.recording) {
      void act("record_stop", { overwrite: overwrite.checked }, recordLine.text, (told) => `${told.path}: ${told.writes} writes${told.left_out ? `, ${told.left_out} edits a script can not say` : ""}`);
    } else void act("record_start", { name: script.value }, recordLine.text, (told) => `edits are recorded as ${told.name}`);
  });
  follow();
  return {
    element: section("Keep", "values that were found at the bench, and edits with their times", form, recording),
    show: follow,
    tell() {
      const { status } = live;
      save.disabled = record.disabled = !live.mayBegin || !live.model;
      const under = status?.recording ?? "";
      script.disabled = !!under;
      setText(record, under ? "End and save the recording" : "Record edits");
      setText(state, under ? `every edit is written down as ${under}, whoever makes it` : !live.inControl ? "take control first (above)" : live.mayBegin ? "" : "what is shown is not live");
      followRecord();
    },
  };
}

/**
 * @param {Context} context
 * @returns {Section}
 */
export function fetchSection({ live, say, line }) {
  const list = h("select", { "aria-label": "bouts of the daemon, newest first", help: "which bout of the daemon is to be copied" });
  const again = h("button", { type: "button", class: "small", help: "ask the daemon for its bouts" }, "List bouts");
  const all = h("button", { type: "button", disabled: true, help: "all files of this bout as one archive, into your downloads" }, "Fetch all (.tar)");
  const cancel = h("button", { type: "button", hidden: true }, "Cancel");
  const bar = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "fetched" });
  const state = h("span", { class: "note", role: "status" });
  const place = h("div", {});
  const fetchLine = lineOf();
  /** @type {AbortController | null} */
  let busy = null;
  /** @type {import("../messages.js").StoredFile[]} */
  let files = [];

  const failed = (/** @type {unknown} */ error) => {
    if (!(error instanceof Refused)) throw error;
    setText(state, error.message);
    say(error.message, "bad");
  };
  /**
   * @param {number} size
   * @param {(told: (bytes: number) => void, signal: AbortSignal) => Promise<BlobPart[]>} get
   * @param {string} name
   */
  const keep = async (size, get, name) => {
    if (busy) return;
    busy = new AbortController();
    const { signal } = busy;
    let got = 0;
    cancel.hidden = bar.hidden = false;
    bar.value = 0;
    try {
      const pieces = await get((count) => {
        got += count;
        bar.value = size ? Math.min(1, got / size) : 1;
        setText(state, `${bytes(got)} of ${bytes(size)}`);
      }, signal);
      keepAs(pieces, name);
      setText(state, `${name}: ${bytes(got)}`);
      say(`fetched ${name}`, "good", fetchLine.text);
    } catch (error) {
      if (signal.aborted) setText(state, "cancelled");
      else failed(error);
    } finally {
      busy = null;
      cancel.hidden = bar.hidden = true;
    }
  };
  const asking = (/** @type {AbortSignal} */ signal) =>
    patient((method, params) => live.ask(method, params), ({ text }) => setText(state, `waits: ${text}; goes on where it is, or cancel it`), signal);
  const show = async () => {
    const bout = list.value;
    all.disabled = true;
    fill(place);
    fetchLine.tell(line("fetch", {}, [bout || "BOUT"]));
    if (!bout) return;
    try {
      files = await live.ask("bout_files", { bout });
    } catch (error) {
      return failed(error);
    }
    if (list.value !== bout) return;
    all.disabled = !files.length;
    const rows = files.slice(0, SHOWN).map(({ name, size }) => [h("button", { type: "button", class: "link", help: "into your downloads", on: { click: () => void keep(size, (told, signal) => fetchFile(asking(signal), bout, name, told, signal), name.split("/").at(-1) ?? name) } }, name), bytes(size)]);
    fill(place, h("div", { class: "scroller short", tabindex: 0, role: "region", "aria-label": "files of the bout" }, table("files of the bout", ["file", "size"], rows, "numbers")));
  };
  again.addEventListener("click", async () => {
    again.disabled = true;
    try {
      const bouts = /** @type {StoredBout[]} */ (await live.ask("bouts"));
      fill(list, ...bouts.map(({ name, duration_s: seconds, state: how, problem }) => h("option", { value: name }, [name, seconds === null ? "" : `${number(seconds, 1)} s`, problem || how].filter(Boolean).join(", "))));
      setText(state, bouts.length ? "" : "the daemon has recorded nothing");
      await show();
    } catch (error) {
      failed(error);
    } finally {
      again.disabled = false;
    }
  });
  list.addEventListener("change", () => void show());
  all.addEventListener("click", () => void keep(files.reduce((sum, { size }) => sum + size, 0), (told, signal) => fetchAll(asking(signal), list.value, files, told, signal), `${list.value.split("/").at(-1)}.tar`));
  cancel.addEventListener("click", () => busy?.abort());
  return {
    element: section("Fetch a bout", "copies the files of a bout from the daemon's data folder to this browser's downloads, wherever the daemon is", h("div", { class: "toolbar fetch" }, again, list), place, h("div", { class: "actions" }, all, cancel, bar, state), fetchLine.place),
    show: () => fetchLine.tell(line("fetch", {}, [list.value || "BOUT"])),
  };
}

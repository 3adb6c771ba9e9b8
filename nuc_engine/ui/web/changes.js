// What stands above pages that edit: undo and redo, who changed what, trying for a while, two sets of values.

import { fill, h, setHelp, setText } from "./dom.js";
import { clock, counted } from "./format.js";
import { dropWishes, valueText } from "./edit.js";

/** @typedef {import("./app.js").Context} Context */
/** @typedef {import("./messages.js").HistoryEdit} HistoryEdit */

const SETS = ["A", "B"];
const MOST_OF_ONE = 4;

/**
 * Return what an edit did, in words.
 * @param {HistoryEdit} edit
 */
export function editText({ changes, left_out: more }) {
  const parts = changes.slice(0, MOST_OF_ONE).map(({ what, name, before, after }) => `${what === "write" ? "" : `${what} of `}${name}: ${valueText(before)} \u2192 ${valueText(after)}`);
  const rest = changes.length - parts.length + more;
  return [...parts, rest ? `${rest} more` : ""].filter(Boolean).join("; ");
}

/**
 * Return what became of several changes, in words; also what was refused of them.
 * @param {import("./messages.js").Acknowledgement} answer
 */
export function outcomeOf({ applied, refused }) {
  const done = applied.map(({ name, value }) => `${name} = ${valueText(value)}`).join(", ") || "nothing changed";
  return [done, ...(refused ?? []).map(({ name, reason }) => `NOT ${name}: ${reason}`)].join("; ");
}

/**
 * Return whose edit an answer to undo took back; "" where that was another than the one that was last known here.
 * @param {import("./messages.js").Acknowledgement} answer
 * @param {HistoryEdit | undefined} edit
 */
export function takenBackOf({ applied }, edit) {
  const is = (/** @type {string} */ name, /** @type {unknown} */ value) => edit?.changes.some((each) => each.name === name && valueText(each.before) === valueText(value));
  return edit && applied.length && applied.every(({ name, value }) => is(name, value)) ? edit.author : "";
}

/**
 * @param {Context} context
 * @returns {{element: HTMLElement, list: HTMLElement, tell: () => void}}
 */
export function changesBar({ desk, live, act, line }) {
  const done = (/** @type {any} */ answer) => {
    desk.wrote(answer);
    return outcomeOf(answer);
  };
  /** What sliders still have to send came before it, and is not what is wanted after it. @type {Context["act"]} */
  const change = (method, params, words, told) => {
    dropWishes();
    return act(method, params, words, told);
  };
  const takeBack = () => {
    const [edit] = desk.history.done;
    void change("undo", {}, line("undo"), (answer) => `undone${takenBackOf(answer, edit) && ` what ${edit.author} did`}: ${done(answer)}`);
  };
  const undo = h("button", { type: "button", on: { click: takeBack } }, "Undo");
  const redo = h("button", { type: "button", on: { click: () => void change("redo", {}, line("redo"), (answer) => `made again: ${done(answer)}`) } }, "Redo");
  const seconds = h("input", { type: "number", min: 0.1, step: 1, value: 10, class: "tiny", "aria-label": "seconds to try for" });
  const trying = h("input", { type: "checkbox" });
  const follow = () => {
    const span = seconds.valueAsNumber;
    desk.trialS = trying.checked && span > 0 ? span : NaN;
    // What was to be put back must not stay because nobody can read for how long.
    desk.trialProblem = trying.checked && !(span > 0) ? "say for how many seconds it is to be tried (above)" : "";
  };
  trying.addEventListener("change", follow);
  seconds.addEventListener("input", follow);

  const keep = async (/** @type {string} */ name) => {
    await act("keep_values", { name }, line("keep", {}, [name]), () => `all values are kept as ${name}`);
    desk.stale = true;
  };
  const recall = (/** @type {string} */ name) => void change("recall_values", { name }, line("recall", {}, [name]), (answer) => `${name}: ${done(answer)}`);
  const sets = SETS.map((name) => {
    const keepButton = h("button", { type: "button", help: `keep all values in force as ${name}, as long as the daemon runs this configuration`, on: { click: () => void keep(name) } }, `Keep ${name}`);
    const recallButton = h("button", { type: "button", on: { click: () => recall(name) } }, `Recall ${name}`);
    const differing = h("span", { class: "set-state" });
    return { name, keepButton, recallButton, differing };
  });
  const why = h("span", { class: "note" });
  const body = h("tbody", {});
  const summary = h("summary", { help: "what was changed, when and by whom, the newest first" });
  const list = h(
    "details",
    { class: "panel edits" },
    summary,
    h("div", { class: "short scroller" }, h("table", { class: "events", help: "when each edit took effect (engine time), who made it, and from what to what" }, h("caption", { class: "unseen" }, "edits, the newest first"), h("thead", {}, h("tr", {}, ["engine time", "who", "what", ""].map((head) => h("th", { scope: "col" }, head)))), body)),
  );

  const row = (/** @type {HistoryEdit} */ edit, /** @type {string} */ note) =>
    h("tr", {}, h("td", { class: "number" }, edit.time_s === null ? "no bout" : clock(edit.time_s)), h("td", { class: "who" }, edit.author), h("td", { class: "what" }, editText(edit)), h("td", {}, note));
  const show = () => {
    const { done: made, undone } = desk.history;
    // In the order in which they took effect: what was undone last is made again first.
    const which = (/** @type {HistoryEdit | undefined} */ edit) => (edit ? `: ${editText(edit)}, by ${edit.author}` : "");
    setHelp(undo, `take back the last edit that took effect, whoever made it${which(made[0])}`);
    setHelp(redo, `make the edit again that was undone last${which(undone[0])}`);
    fill(
      body,
      ...undone.toReversed().map((edit, k, { length }) => row(edit, k === length - 1 ? "undone; Redo makes it again" : "undone")),
      ...made.map((edit, k) => row(edit, k ? "" : "Undo takes it back")),
    );
    for (const { name, recallButton, differing } of sets) {
      const is = desk.kept.find((each) => each.name === name);
      setText(differing, is ? (is.differing.length ? `${counted(is.differing.length, "value")} unlike` : "in force") : "empty");
      setHelp(recallButton, is ? `the values kept as ${name} by ${is.author}, as one edit; unlike them: ${is.differing.join(", ") || "none"}` : `nothing is kept as ${name} yet`);
    }
  };
  desk.addEventListener("history", show);
  show();
  return {
    element: h(
      "div",
      { class: "toolbar changes" },
      h("span", { class: "segmented" }, undo, redo),
      h("label", { class: "check", help: "what you change from now on is put back by itself after so much engine time, by the daemon, whatever becomes of this page; only in a bout" }, trying, "try for", seconds, "s, then back"),
      ...sets.map(({ keepButton, recallButton, differing }) => h("span", { class: "set" }, h("span", { class: "segmented" }, keepButton, recallButton), differing)),
      why,
    ),
    list,
    tell() {
      const { closed } = desk;
      const { undo: before = 0, redo: after = 0 } = live.status ?? {};
      setText(summary, `Edits: ${before} can be undone, ${after} made again`);
      setText(why, closed ? `To change something, ${closed.replace(/^what/, "wait: what")}.` : "");
      undo.disabled = !!closed || !before;
      redo.disabled = !!closed || !after;
      for (const { name, keepButton, recallButton } of sets) {
        keepButton.disabled = !!closed;
        recallButton.disabled = !!closed || !desk.kept.find((each) => each.name === name)?.differing.length;
      }
    },
  };
}

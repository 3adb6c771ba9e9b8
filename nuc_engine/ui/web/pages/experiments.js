// Experiments: what the dissertation saw, what came of it here, seed by seed, and running one in the background.

import { field, fill, h, setText, svg, table } from "../dom.js";
import { counted, number } from "../format.js";
import { shellLine } from "../ctl.js";
import { jobControl } from "../jobs.js";
import { Refused } from "../session.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */
/** @typedef {{word: string, count: number, of: number, low: number, high: number, in_doubt: boolean, all_seeds: {count: number, of: number} | null}} RowSeen */
/** @typedef {{problem: string} | {repetitions: number, seed: number, bus: string, standing: string, good: boolean, rows: Record<string, RowSeen>}} Came */
/** @typedef {{name: string, section: string, title: string, seed: number, rows: {name: string, saw: string}[], published: Came | null, own: Came | null}} Listed */
/** @typedef {{seed: number, state: string, reasons: string[], numbers: Record<string, number>, kicks: number}} Trial */
/** @typedef {{name: string, saw: string, word: string, as_seen: {count: number, of: number, low: number, high: number}, outcomes: Record<string, Record<string, Record<string, number>>>,
 *   trials: Trial[], control?: {why: string, as_seen: {count: number, of: number}}, figures: {file: string, caption: string}[]}} JudgedRow */

const WHOSE = /** @type {const} */ (["published", "own"]);
const WHOSE_TEXT = { published: "with this program", own: "run here" };
const BAR = { width: 120, height: 14 };

/**
 * A share with its 95 % interval, from 0 to 1: the same again in words for who does not see it.
 * @param {{count: number, of: number, low: number, high: number}} share
 */
export function shareBar({ count, of, low, high }) {
  const x = (/** @type {number} */ value) => 2 + value * (BAR.width - 4);
  const value = of ? count / of : NaN;
  const text = `${count} of ${of}, 95 % interval ${number(100 * low, 0)} to ${number(100 * high, 0)} %`;
  return h(
    "span",
    { class: "share", help: text },
    svg("svg", { width: BAR.width, height: BAR.height, role: "img", "aria-label": text },
      svg("rect", { x: x(0), y: 6, width: x(1) - x(0), height: 2, class: "share-line" }),
      svg("rect", { x: x(low), y: 3, width: Math.max(1, x(high) - x(low)), height: 8, class: "share-span" }),
      ...(Number.isNaN(value) ? [] : [svg("rect", { x: x(value) - 1.5, y: 1, width: 3, height: 12, class: "share-value" })]),
    ),
    h("span", { class: "number" }, `${count}/${of}`),
  );
}

/**
 * Say what came of a row.
 * @param {Came | null} came
 * @param {string} name
 */
function seenCell(came, name) {
  if (!came) return h("span", { class: "muted" }, "not run");
  if ("problem" in came) return h("span", { class: "knob-refusal" }, came.problem);
  const row = came.rows[name];
  if (!row) return h("span", { class: "muted" }, "not judged");
  const mark = row.word === "as seen" ? "\u2713" : "\u2717";
  const doubt = row.in_doubt && row.all_seeds ? `; with other seeds ${row.all_seeds.count} of ${row.all_seeds.of}: in doubt` : "";
  return h("span", { class: "verdict" }, shareBar(row), ` ${mark} ${row.word}${doubt}`, came.standing ? h("span", { class: "muted" }, ` (${came.standing})`) : null);
}

/**
 * @param {Context} context
 * @returns {Page}
 */
export function experimentsPage(context) {
  const { api, say } = context;
  const note = h("p", { class: "note", role: "status" });
  const body = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "experiments" });
  const list = h("div", { class: "experiment-list" }, h("div", { class: "toolbar" }, h("button", { type: "button", help: "read the verdicts again", on: { click: () => void ask() } }, "Read again"), note), body);
  const place = h("div", { class: "experiment-place" });
  /** @type {Listed[]} */
  let known = [];
  let folder = "";
  /** @type {AbortController | null} */
  let leaving = null;
  let shown = "";

  const ask = async () => {
    if (!known.length) setText(note, "reading ...");
    try {
      const told = await api.json("experiments");
      [known, folder] = [told.experiments, told.folder];
      setText(note, `${counted(known.length, "experiment")}; what is run here goes to ${told.folder}`);
      const rows = known.flatMap((each) =>
        each.rows.map((row, k) => [
          k ? "" : h("a", { href: `#experiments/${encodeURIComponent(each.name)}` }, each.name),
          k ? "" : each.section,
          each.rows.length > 1 ? `${k ? "" : `${each.title}: `}${row.name}` : each.title,
          row.saw,
          seenCell(each.published, row.name),
          seenCell(each.own, row.name),
        ]),
      );
      fill(body, table("experiments", ["experiment", "section", "what is done", "what the dissertation saw", WHOSE_TEXT.published, WHOSE_TEXT.own], rows, "experiments"));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setText(note, error.message);
    }
  };

  const open = async (/** @type {string} */ name) => {
    leaving?.abort();
    leaving = new AbortController();
    const { signal } = leaving;
    if (!known.length) await ask();
    const experiment = known.find((each) => each.name === name);
    if (!experiment || signal.aborted) return fill(place, h("p", { class: "note" }, name ? `there is no experiment ${name}` : ""));
    const parts = WHOSE.map((whose) => h("div", { class: "panel" }, h("h3", {}, `${experiment.name}, ${WHOSE_TEXT[whose]}`), h("p", { class: "note" }, "reading ...")));
    fill(place, h("header", {}, h("h2", {}, `${experiment.name}: ${experiment.title}`), h("a", { href: "#experiments" }, "all experiments")), runSection(context, experiment, folder, signal, () => void refresh()), h("div", { class: "columns" }, parts));
    const read = () => Promise.all(WHOSE.map((whose, k) => fillVerdict(context, known.find((each) => each.name === name) ?? experiment, whose, parts[k], signal)));
    const refresh = async () => {
      await ask();
      await read();
    };
    await read();
  };

  return {
    element: h("div", { class: "page page-experiments" }, h("h1", { class: "unseen" }, "Experiments"), list, place),
    show(rest) {
      let name = "";
      try {
        name = decodeURIComponent(rest);
      } catch {
        say("this address names no experiment", "bad");
      }
      list.hidden = !!name;
      place.hidden = !name;
      if (!name) {
        leaving?.abort();
        shown = "";
        void ask();
      } else if (name !== shown) {
        shown = name;
        void open(name);
      }
    },
  };
}

/**
 * @param {Context} context
 * @param {Listed} experiment
 * @param {string} folder where the server keeps what comes of it
 * @param {AbortSignal} signal
 * @param {() => void} ended
 */
function runSection(context, experiment, folder, signal, ended) {
  const { api, say } = context;
  const repeat = h("input", { type: "number", min: 1, max: 1000, step: 1, value: 20, class: "tiny" });
  const seed = h("input", { type: "number", min: 0, step: 1, value: experiment.seed, class: "degrees" });
  const keep = h("input", { type: "checkbox" });
  const beside = h("input", { type: "checkbox" });
  const besideLabel = h("label", { class: "check", help: "without it nothing is begun while a bout drives real servos, and what runs stands still until it ends: an experiment takes the processors' time" }, beside, "beside a bout that drives real servos");
  const shell = h("code", { class: "mono" });
  const words = () => shellLine(["nuc", "experiment", experiment.name, "--repeat", repeat.value || "20", "--seed", seed.value || String(experiment.seed), ...(keep.checked ? ["--keep"] : []), "--out", folder]);
  const follow = () => setText(shell, words());
  const job = jobControl(
    context,
    {
      label: "Run",
      help: "in the background, at the lowest priority, one thing at a time; what comes of it is kept below the data folder",
      begin: () => {
        const [count, first] = [repeat.valueAsNumber, seed.valueAsNumber];
        if (!Number.isInteger(count) || count < 1 || count > 1000) throw new Refused("bad_request", "repetitions: a whole number from 1 to 1000");
        if (!Number.isInteger(first) || first < 0) throw new Refused("bad_request", "first seed: a whole number, 0 or more");
        return api.json(`experiments/${encodeURIComponent(experiment.name)}`, { method: "POST", body: { repeat: count, seed: first, keep: keep.checked, beside: beside.checked } });
      },
      ended: ({ state }) => {
        if (state === "done") say(`${experiment.name} has been judged`, "good", words());
        ended();
      },
    },
    signal,
  );
  for (const input of [repeat, seed, keep]) input.addEventListener("input", follow);
  follow();
  return h(
    "section",
    { class: "panel run-experiment", "aria-label": "run it" },
    h("div", { class: "toolbar" }, field("repetitions", repeat, "valid ones of each row"), field("first seed", seed, "below 2000 nothing that comes out is a verdict"), h("label", { class: "check", help: "every bout's data directory, to be opened under Bouts" }, keep, "keep bouts"), besideLabel),
    job.element,
    h("p", { class: "note" }, "In a shell: ", shell),
  );
}

/**
 * @param {Context} context
 * @param {Listed} experiment
 * @param {"published" | "own"} whose
 * @param {HTMLElement} part
 * @param {AbortSignal} signal
 */
async function fillVerdict({ api }, experiment, whose, part, signal) {
  const { name } = experiment;
  const path = `experiments/${encodeURIComponent(name)}/${whose}`;
  const head = h("h3", {}, `${name}, ${WHOSE_TEXT[whose]}`);
  if (!experiment[whose]) return fill(part, head, h("p", { class: "note" }, "it was not run"));
  try {
    const { verdict, page, folder } = await api.json(path, { signal });
    const rows = /** @type {JudgedRow[]} */ (verdict.rows ?? []);
    const about = `${verdict.repetitions} repetitions from seed ${verdict.seed}, on ${verdict.bus.startsWith("emulated:") ? `an emulated leg${verdict.bus.slice(9) && ` (${verdict.bus.slice(9)})`}` : verdict.bus}; ${folder}`;
    fill(part, head, h("p", { class: "note" }, about), ...rows.map((row) => judged(api, path, row, signal)), page ? h("details", { help: "the page of docs/experiments, or of your own run" }, h("summary", {}, "The page, as it is written"), h("pre", { class: "page-text", tabindex: 0 }, page)) : "");
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Refused)) throw error;
    fill(part, head, h("p", { class: "note" }, error.message));
  }
}

/**
 * @param {import("../session.js").Api} api
 * @param {string} path
 * @param {JudgedRow} row
 * @param {AbortSignal} signal
 */
function judged(api, path, row, signal) {
  const trials = (row.trials ?? []).map(({ seed, state, reasons, kicks, numbers }) => [
    String(seed),
    `${state === "as seen" ? "\u2713" : "\u2717"} ${state}`,
    (reasons ?? []).join("; "),
    String(kicks ?? 0),
    Object.entries(numbers ?? {}).map(([what, value]) => `${what} ${number(value, 3)}`).join(", "),
  ]);
  const outcomes = Object.entries(row.outcomes ?? {}).flatMap(([bout, windows]) =>
    Object.entries(windows).map(([window, seen]) => [bout, window, Object.entries(seen).map(([what, count]) => `${what} \u00d7 ${count}`).join(", ")]),
  );
  const figures = (row.figures ?? []).map(({ file, caption }) => {
    const picture = h("img", { alt: caption, loading: "lazy" });
    void api.blob(`${path}/${encodeURIComponent(file)}`, signal).then(
      (address) => {
        picture.src = address;
        picture.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
      },
      (error) => {
        if (!(error instanceof Refused) && !signal.aborted) throw error;
      },
    );
    return h("figure", {}, picture, h("figcaption", {}, caption));
  });
  return h(
    "section",
    { "aria-label": row.name },
    h("h4", {}, row.name, " ", shareBar(row.as_seen), ` ${row.word}`),
    h("p", {}, `Seen on the robot: ${row.saw}`),
    outcomes.length ? table(`what was seen of ${row.name}`, ["bout", "window", "seen"], outcomes) : "",
    row.control ? h("p", { class: "note" }, `Control: ${row.control.why} As seen in ${row.control.as_seen.count} of ${row.control.as_seen.of}.`) : "",
    h("details", { help: "what came of each repetition, and why" }, h("summary", {}, `${counted(trials.length, "repetition")}, seed by seed`), h("div", { class: "scroller short", tabindex: 0, role: "region", "aria-label": `seeds of ${row.name}` }, table(`seeds of ${row.name}`, ["seed", "came out", "why", "kicks", "numbers"], trials))),
    ...figures,
  );
}

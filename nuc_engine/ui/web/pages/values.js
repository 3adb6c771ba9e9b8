// Every HDSO and constant: what it may be, what it was at the start, on disk and is now, and who changed it last.

import { changesBar } from "../changes.js";
import { fill, h, setClass, setText } from "../dom.js";
import { knobsOf, sameValue, valueText } from "../edit.js";
import { clock, counted } from "../format.js";
import { knobControl, textControl } from "../knob.js";
import { chainOf, described, jointsOf } from "../model.js";
import { Refused } from "../session.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */
/** @typedef {import("../model.js").Hdso} Hdso */

const SLOW_MS = 200;
const KINDS = { parameter: "parameters", boolstring: "rules", constant: "constants", sensor: "sensors" };
const HEADS = ["name", "unit", "range", "at the start", "saved", "now", "changed by"];

/**
 * Return what a value may be, in few characters.
 * @param {Hdso} hdso
 */
export function rangeText({ ranges }) {
  const range = ranges.valid ?? ranges.normal ?? ranges.suggested;
  if (!range) return "";
  return `${range.lower ?? "\u2212\u221e"} \u2026 ${range.upper ?? "\u221e"}`;
}

/**
 * @param {Context} context
 * @returns {Page}
 */
export function valuesPage(context) {
  const { live, desk, api, act, line, say } = context;
  const bar = changesBar(context);
  const search = h("input", { type: "search", placeholder: "name, unit, description", "aria-label": "show values with", help: "show only values with these words" });
  const kind = h("select", { "aria-label": "show one kind", help: "show only values of one kind" }, h("option", { value: "" }, "all kinds"), Object.entries(KINDS).map(([value, text]) => h("option", { value }, text)));
  const joint = h("select", { "aria-label": "show those of one joint", help: "show only what one joint uses" });
  const changed = h("input", { type: "checkbox" });
  const count = h("p", { class: "note", role: "status" });
  const synchronized = h("span", { class: "note" });
  const body = h("tbody", {});
  /** @type {ReturnType<typeof valueRow>[]} */
  let rows = [];
  /** @type {Map<string, Set<string>>} */
  let joints = new Map();
  /** What stands on disk; null: not known. @type {Record<string, unknown> | null} */
  let saved = null;
  let filtered = "";
  let visible = false;

  const synchronize = h("button", { type: "button", help: "read all values of one cycle; in a bout the daemon writes them into its HDSO log" }, "Synchronize");
  synchronize.addEventListener("click", async () => {
    synchronize.disabled = true;
    const from = desk.writes;
    const answer = await act("get", { names: [-1] }, line("get", {}, ["-1"]), ({ values, cycle }) => `${Object.keys(values).length} values of cycle ${cycle}`);
    synchronize.disabled = false;
    if (!answer) return;
    desk.take(answer.values, from);
    setText(synchronized, answer.time_s === null ? `cycle ${answer.cycle}; no bout: nothing is logged` : `cycle ${answer.cycle}, ${clock(answer.time_s)}: in the HDSO log`);
  });

  const askSaved = async () => {
    const { configuration } = live;
    if (!configuration || !live.open) return;
    try {
      const documents = await live.ask("documents", { name: configuration });
      const answer = await api.json("saved", { method: "POST", body: { documents } });
      if (configuration === live.configuration) saved = answer;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      saved = null;
      say(`what is saved can not be read: ${error.message}`, "bad");
    }
  };
  const make = () => {
    const { model } = live;
    const hdsos = [...(model?.parameters ?? []), ...(model?.sensors ?? [])];
    joints = model ? jointsOf(model) : new Map();
    const chosen = joint.value;
    fill(joint, h("option", { value: "" }, "all joints"), ...(model ? chainOf(model) : []).map(({ name }) => h("option", { value: name, selected: name === chosen }, name)));
    rows = hdsos.map((hdso) => valueRow(context, hdso));
    fill(body, ...rows.map((row) => row.element));
    saved = null;
    filtered = "";
    if (visible) begin();
  };
  const begin = () => {
    desk.watch(rows.flatMap(({ hdso }) => (hdso.kind === "sensor" && live.index.has(hdso.name) ? [] : [hdso.name])));
    void askSaved();
  };
  live.addEventListener("layout", make);
  make();

  const shown = (/** @type {ReturnType<typeof valueRow>} */ { hdso, differs }) => {
    const wanted = search.value.trim().toLowerCase();
    const text = `${hdso.id} ${hdso.name} ${hdso.unit ?? ""} ${described(hdso)}`.toLowerCase();
    return (
      (!kind.value || hdso.kind === kind.value) &&
      (!joint.value || joints.get(hdso.name)?.has(joint.value)) &&
      (!changed.checked || differs()) &&
      (!wanted || text.includes(wanted))
    );
  };
  const filter = () => {
    const visible = rows.map((row) => !!shown(row));
    const key = visible.join();
    if (key === filtered) return;
    filtered = key;
    // A row in which somebody types stays.
    rows.forEach(({ element }, k) => {
      element.hidden = !visible[k] && !element.contains(document.activeElement);
    });
    setText(count, `${visible.filter(Boolean).length} of ${counted(rows.length, "value")}`);
  };
  let slowAt = 0;
  return {
    element: h(
      "div",
      { class: "page page-values" },
      h("h1", { class: "unseen" }, "All values"),
      bar.element,
      h("div", { class: "toolbar" }, search, kind, joint, h("label", { class: "check", help: "those that are unlike the start, or unlike what is saved" }, changed, "changed only"), count, synchronize, synchronized),
      bar.list,
      h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "all values" }, h("table", { class: "values", help: "its range, its value at the start, as it lies on the disk, and now; and who changed it last" }, h("caption", { class: "unseen" }, "all values"), h("thead", {}, h("tr", {}, HEADS.map((head) => h("th", { scope: "col" }, head)))), body)),
    ),
    show() {
      visible = true;
      begin();
    },
    hide() {
      visible = false;
    },
    frame(now) {
      desk.keepUp(now);
      if (now - slowAt < SLOW_MS) return;
      slowAt = now;
      bar.tell();
      for (const row of rows) if (!row.element.hidden) row.tell(saved);
      filter();
    },
  };
}

/**
 * @param {Context} context
 * @param {Hdso} hdso
 */
function valueRow(context, hdso) {
  const { live, desk } = context;
  const knobs = knobsOf(hdso);
  const control = hdso.kind === "boolstring" || knobs.length > 1 ? textControl(context, hdso) : knobs.length ? knobControl(context, knobs[0], { name: false }) : null;
  const fixed = h("span", { class: "number live" });
  const [disk, who] = [h("td", { class: "held" }), h("td", { class: "who" })];
  const start = h("td", { class: "held" }, valueText(hdso.value));
  const now = () => (live.index.has(hdso.name) ? live.now(hdso.name) : desk.values.get(hdso.name));
  /** @type {unknown} */
  let onDisk;
  const unlike = (/** @type {unknown} */ value) => hdso.kind !== "sensor" && desk.values.has(hdso.name) && value !== undefined && !sameValue(now(), value, hdso.datatype);
  const element = h(
    "tr",
    { help: described(hdso) },
    h("th", { scope: "row" }, hdso.name, h("small", {}, `${hdso.id}, ${KINDS[hdso.kind].slice(0, -1)}`)),
    h("td", { class: "unit" }, hdso.unit ?? ""),
    h("td", { class: "held" }, rangeText(hdso)),
    start,
    disk,
    h("td", { class: "now" }, control?.element ?? fixed),
    who,
  );
  return {
    hdso,
    element,
    differs: () => unlike(hdso.value) || unlike(onDisk),
    /** @param {Record<string, unknown> | null} saved */
    tell(saved) {
      onDisk = saved?.[hdso.name];
      setText(disk, saved ? (onDisk === undefined ? "not there" : valueText(onDisk)) : "\u2013");
      setText(who, desk.authors.get(hdso.name) ?? "");
      setClass(element, "changed", this.differs());
      control?.tell();
      if (!control) setText(fixed, valueText(now()));
    },
  };
}

// Servos and machine without the engine: who is on a bus, what a servo is set to, whether this machine is fit.

import { shellLine } from "../ctl.js";
import { copyButton, field, fill, h, table } from "../dom.js";
import { jobControl } from "../jobs.js";
import { section } from "./engine.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("./bench.js").Known} Known */
/** @typedef {import("../jobs.js").Job & {found: any}} Done */

const LEVELS = { ok: "\u2713 ok", warn: "! warn", bad: "\u2715 bad" };

/**
 * @param {Context} context
 * @param {Known} known
 * @returns {import("./engine.js").Section & {known: () => void}}
 */
export function benchTools(context, known) {
  const { api, live } = context;
  const ports = h("datalist", { id: "bench-ports" });
  const url = h("input", { type: "text", list: "bench-ports", placeholder: "feetech:///dev/ttyUSB0", spellcheck: "false", maxlength: 512 });
  const id = h("input", { type: "number", min: 0, max: 255, step: 1, value: 1, inputmode: "numeric" });
  const model = h("input", { type: "text", placeholder: "as it says itself", spellcheck: "false", maxlength: 40 });
  const rates = h("input", { type: "checkbox" });
  const driven = h("p", { class: "note" });
  const line = h("p", { class: "line" });
  let scannedUrl = "";
  const never = new AbortController().signal;
  const begin = (/** @type {string} */ what, /** @type {() => string[]} */ words, /** @type {() => object} */ body) => () => {
    fill(line, copyButton(shellLine(["nuc", ...words()])));
    return /** @type {Promise<Done>} */ (api.json(`bench/${what}`, { method: "POST", body: body() }));
  };
  const shown = (/** @type {string} */ rows, /** @type {(found: any) => Node} */ show) => (/** @type {import("../jobs.js").Job} */ job, /** @type {HTMLElement} */ place) => {
    const { found } = /** @type {Done} */ (job);
    if (found?.[rows]?.length) fill(place, show(found));
  };
  /** Which servos are emulated, a configuration tells. */
  const config = () => (url.value.startsWith("emulated:") && live.configuration ? live.configuration : "");
  const scan = jobControl(
    context,
    {
      label: "Scan",
      help: "ask every id of a bus whether it is there; nothing moves. One job at a time, with little priority",
      begin: begin("scan", () => ["bus", "scan", url.value, ...(rates.checked ? ["--all-rates"] : []), ...(config() ? ["--config", config()] : [])], () => ({ url: (scannedUrl = url.value), all_rates: rates.checked, config: config() || null })),
      ended: shown("found", (found) => scanned(found, (servo) => {
        // Of the bus on which it answered, whatever is typed by now.
        url.value = scannedUrl;
        id.value = String(servo);
        registers.button.click();
      })),
    },
    never,
  );
  const registers = jobControl(
    context,
    {
      label: "Registers",
      help: "read what a servo is set to; nothing is written",
      begin: begin("registers", () => ["bus", "set", url.value, id.value, ...(model.value ? ["--model", model.value] : [])], () => ({ url: url.value, id: id.valueAsNumber, ...(model.value ? { model: model.value } : {}) })),
      ended: shown("registers", registerTable),
    },
    never,
  );
  const doctor = jobControl(
    context,
    {
      label: "Doctor",
      help: "whether the machine this page is served from is fit to run a leg, and what to do where it is not; nothing is changed",
      begin: begin("doctor", () => ["doctor"], () => ({})),
      ended: shown("checks", checkTable),
    },
    never,
  );
  let told = "";
  return {
    element: section(
      "Servos without the engine",
      "looks at a bus that no daemon drives, and at this machine; reads only",
      driven,
      h("div", { class: "form" }, field("bus", url, "FAMILY:///dev/...[?baud=RATE...] for servos on a serial port, or emulated:[FAMILY] to try it out"), field("servo", id, "id of a servo on the bus"), field("model", model, "what the servo is, where it does not tell"), ports, h("label", { class: "check", help: "try every rate the family has, not only that of the URL" }, rates, "all rates")),
      scan.element,
      registers.element,
      doctor.element,
      line,
    ),
    /** Hear what is plugged in. */
    known() {
      fill(ports, ...known.families.flatMap((family) => known.adapters.map((path) => h("option", { value: `${family}://${path}` }))), h("option", { value: "emulated:" }));
    },
    tell() {
      const buses = Object.values(live.status?.buses ?? {}).join(", ");
      const text = buses ? `${buses} is driven by the daemon: its port is in use, and is refused here until the daemon has ended (Engine, Shut down).` : "";
      if (text !== told) driven.textContent = told = text;
    },
  };
}

/**
 * @param {{found?: any[]}} result
 * @param {(id: number) => void} open
 */
function scanned({ found = [] }, open) {
  const rows = found.map((servo) => [h("button", { type: "button", class: "link", help: "its registers", on: { click: () => open(servo.id) } }, String(servo.id)), String(servo.model ?? "–"), String(servo.baud), String(servo.position_raw), servo.position_deg === undefined ? "–" : String(servo.position_deg), String(servo.current_raw)]);
  return table("servos that answer", ["id", "model", "bit/s", "position", "degrees", "load"], rows);
}

/** @param {{model?: string, registers?: any[]}} result */
function registerTable({ model, registers = [] }) {
  const filter = h("input", { type: "search", placeholder: "filter", "aria-label": "registers whose name, area or unit has this in it", spellcheck: "false" });
  const place = h("div", { class: "scroller short", tabindex: 0, role: "region", "aria-label": "registers" });
  const show = () => {
    const rows = matching(registers, filter.value).map((row) => [row.register, String(row.at), row.area, row.access, row.value === null ? "no answer" : String(row.value), row.low === undefined ? "" : `${row.low} to ${row.high}`, [row.unit, row.objection && `\u26a0 ${row.objection}`].filter(Boolean).join("; ")]);
    fill(place, table("registers", ["register", "at", "area", "access", "value", "bounds", "unit"], rows));
  };
  filter.addEventListener("input", show);
  show();
  return h("div", {}, h("div", { class: "toolbar" }, h("strong", {}, model ?? ""), filter), place);
}

/**
 * Return the registers in whose name, area or unit all words stand.
 * @template {{register: string, area: string, unit: string}} Row
 * @param {readonly Row[]} rows
 * @param {string} text
 */
export function matching(rows, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ register, area, unit }) => words.every((word) => `${register} ${area} ${unit}`.toLowerCase().includes(word)));
}

/** @param {{checks?: any[]}} result */
function checkTable({ checks = [] }) {
  const order = ["bad", "warn", "ok"];
  const sorted = [...checks].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
  const rows = sorted.map((check) => [check.name, LEVELS[/** @type {keyof typeof LEVELS} */ (check.level)] ?? String(check.level), check.found, check.level === "ok" ? "" : [check.meaning, check.remedy].filter(Boolean).join(": ")]);
  return h("div", { class: "scroller short", tabindex: 0, role: "region", "aria-label": "checks" }, table("checks of this machine", ["check", "verdict", "found", "what it means, what to do"], rows));
}

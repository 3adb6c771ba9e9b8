// What the daemon runs, and what it is told to do: configurations, bouts, arming, the log, and the end of it.

import { copyButton, field, fill, h, holdButton, setText, table } from "../dom.js";
import { counted, number } from "../format.js";
import { fetchSection, keepSection } from "./keeping.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */

const SLOW_MS = 500;

/**
 * @param {Context} context
 * @returns {Page}
 */
export function enginePage(context) {
  const left = [boutSection(context), armSection(context), logSection(context), keepSection(context), endSection(context)];
  const right = [configurationSection(context), fetchSection(context), machineSection(context)];
  const sections = [...left, ...right];
  const column = (/** @type {Section[]} */ parts) => h("div", { class: "column" }, parts.map((part) => part.element));
  const element = h("div", { class: "page page-engine" }, h("h1", { class: "unseen" }, "Engine"), column(left), column(right));
  let slowAt = 0;
  return {
    element,
    show: () => {
      for (const section of sections) section.show?.();
    },
    frame(now) {
      if (now - slowAt < SLOW_MS) return;
      slowAt = now;
      for (const section of sections) section.tell?.();
    },
  };
}

/** @typedef {{element: HTMLElement, show?: () => void, tell?: () => void}} Section */

/**
 * A section of the page, with the line for a shell that does what its fields say.
 * @param {string} title
 * @param {string} help
 * @param {...any} children
 */
export function section(title, help, ...children) {
  return h("section", { class: "panel", "aria-label": title }, h("h2", { help }, title), ...children);
}

/** A line for a shell that follows what is filled in. */
export function lineOf() {
  const place = h("p", { class: "line" });
  let shown = "";
  return {
    place,
    /** @param {string} line */
    tell(line) {
      if (line === shown) return;
      shown = line;
      fill(place, copyButton(line));
    },
    get text() {
      return shown;
    },
  };
}

/**
 * What stands in a field of numbers; null where nothing does.
 * @param {HTMLInputElement} input
 */
export function numberIn(input) {
  return input.value.trim() === "" || !Number.isFinite(input.valueAsNumber) ? null : input.valueAsNumber;
}

/**
 * Labels as they are typed: name=text, with commas or line ends between them.
 * @param {string} text
 */
export function labelsIn(text) {
  /** @type {Record<string, string>} */
  const labels = {};
  for (const part of text.split(/[,\n]/)) {
    const [name, ...words] = part.split("=");
    if (name.trim() && words.length) labels[name.trim()] = words.join("=").trim();
  }
  return labels;
}

/**
 * @param {Context} context
 * @returns {Section}
 */
function boutSection({ live, act, line }) {
  const delay = h("input", { type: "number", min: 0, step: 0.5, placeholder: "0", inputmode: "decimal" });
  const stop = h("input", { type: "number", min: 0, step: 1, placeholder: "until stopped", inputmode: "decimal" });
  const labels = h("input", { type: "text", placeholder: "operator=me, surface=carpet", spellcheck: "false" });
  const note = h("input", { type: "text", placeholder: "what is special about it" });
  const out = h("input", { type: "text", placeholder: "by time", pattern: "[A-Za-z0-9][A-Za-z0-9_\\-]*", spellcheck: "false" });
  const runLine = lineOf();
  const run = h("button", { type: "submit", class: "primary", help: "begin a bout: the rules are in charge from then on, engine time counts from 0" }, "Run");
  const form = h(
    "form",
    { class: "form" },
    field("delay, s", delay, "wait this long first"),
    field("stop after, s", stop, "end by itself at this engine time"),
    field("labels", labels, "labels of this bout alone: name=text, with commas between them"),
    field("note", note, "a note for the data directory"),
    field("directory", out, "name of the data directory: letters, digits, _ and -; one that exists is refused"),
    h("div", { class: "actions" }, run, runLine.place),
  );
  const options = () => ({ delay: numberIn(delay), stop: numberIn(stop), label: labelsIn(labels.value), note: note.value, out: out.value });
  const follow = () => runLine.tell(line("run", options()));
  form.addEventListener("input", follow);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { delay: wait, stop: end, label, note: notes, out: folder } = options();
    const params = { delay_s: wait ?? 0, stop_s: end, labels: Object.keys(label).length ? label : null, notes: notes || null, out: folder || null };
    void act("run", params, runLine.text, (started) => `bout ${started.bout} runs${started.folder ? `, into ${started.folder}` : ""}`);
  });

  const policy = h(
    "select",
    {},
    h("option", { value: "" }, "as the daemon was told"),
    h("option", { value: "off" }, "off: torque off"),
    h("option", { value: "hold" }, "hold the pose"),
    h("option", { value: "park" }, "park: move to its pose"),
  );
  const stopLine = lineOf();
  const end = h("button", { type: "submit", help: "end the bout; to take the torque off at once use the red button" }, "Stop the bout");
  const stopForm = h(
    "form",
    { class: "form" },
    field("what becomes of the torque", policy, "off, hold or park; without a choice, as the daemon was told when it was started"),
    h("div", { class: "actions" }, end, stopLine.place),
  );
  const followStop = () => stopLine.tell(line("stop", { policy: policy.value }));
  stopForm.addEventListener("input", followStop);
  stopForm.addEventListener("submit", (event) => {
    event.preventDefault();
    void act("stop", { policy: policy.value || null }, stopLine.text, () => "the bout has ended");
  });
  const why = h("p", { class: "note" });
  follow();
  followStop();
  return {
    element: section("Bout", "a bout is one run of the leg from engine time 0 to its end, and leaves one data directory", form, stopForm, why),
    show: () => {
      follow();
      followStop();
    },
    tell() {
      const { status } = live;
      const running = status?.mode === "RUNNING";
      const free = live.inControl;
      run.disabled = !live.mayBegin || running || !!status?.latched || !status?.ready;
      end.disabled = !free || !running;
      const reasons = [
        free ? "" : "take control first (above)",
        !free || live.mayBegin ? "" : "what is shown is not live",
        status?.latched ? "torque is off and latched: arm first" : "",
        status && !status.ready ? "no core is ready" : "",
      ].filter(Boolean);
      setText(why, reasons.join("; ") || (running ? `bout ${status.bout} runs` : "ready to run"));
    },
  };
}

/**
 * @param {Context} context
 * @returns {Section}
 */
export function armSection({ live, armButton, line }) {
  const button = armButton();
  const what = h("p", { class: "driven" });
  const latch = h("p", { class: "note" });
  const armLine = lineOf();
  return {
    element: section("Arm", "after a fault or torque off nothing drives before somebody arms; the joints start from where they are", what, latch, h("div", { class: "actions" }, button, armLine.place)),
    show: () => armLine.tell(line("arm")),
    tell() {
      const { status, model } = live;
      const motors = (model?.joints ?? []).filter((joint) => joint.motor).map((joint) => joint.name);
      const buses = Object.values(status?.buses ?? {});
      setText(what, motors.length ? `Arming lets the engine drive ${counted(motors.length, "servo")} of ${live.configuration}: ${motors.join(", ")}${buses.length ? `, at ${buses.join(", ")}` : ""}.` : "Nothing is configured.");
      setText(latch, status?.latched ? `Latched: ${status.latch_reason || "by the daemon"}. Keep hands clear.` : "Nothing is latched: the engine may drive.");
      button.disabled = !live.mayBegin || !status?.latched;
    },
  };
}

/**
 * @param {Context} context
 * @returns {Section}
 */
function configurationSection({ live, act, line, say }) {
  const list = h("div", { class: "configurations", role: "radiogroup", "aria-label": "configurations" });
  const load = h("button", { type: "button", help: "run this model: values that were set before are gone, save them first if you want them" }, "Load");
  const loadLine = lineOf();
  const warnings = h("ul", { class: "problems" });
  let chosen = "";
  let asked = false;
  /** @type {import("../messages.js").ConfigurationAnswer[]} */
  let found = [];

  const choose = (/** @type {string} */ name) => {
    chosen = name;
    loadLine.tell(line("configure", {}, [name]));
    for (const item of list.querySelectorAll("label")) item.classList.toggle("chosen", item.dataset.name === name);
  };
  const show = () => {
    fill(
      list,
      ...found.map(({ name, fullname, description, problem }) => {
        const input = h("input", { type: "radio", name: "configuration", value: name, checked: name === chosen, disabled: !!problem, on: { change: () => choose(name) } });
        const text = problem ? `can not be used: ${problem}` : description;
        return h(
          "label",
          { class: `configuration ${problem ? "broken" : ""} ${name === chosen ? "chosen" : ""}`, "data-name": name, help: text },
          input,
          h("span", {}, h("strong", {}, name), name === live.configuration ? h("em", {}, " in force") : null, fullname ? ` ${fullname}` : "", h("small", {}, text)),
        );
      }),
    );
  };
  const ask = async () => {
    if (asked || !live.open || live.welcome?.daemon === null) return;
    asked = true;
    try {
      found = await live.ask("configurations");
      chosen ||= live.configuration;
      show();
      choose(chosen);
    } catch (error) {
      asked = false;
      say(String(error instanceof Error ? error.message : error), "bad");
    }
  };
  load.addEventListener("click", async () => {
    fill(warnings);
    load.disabled = true;
    const done = await act("configure", { name: chosen }, loadLine.text, (result) => `${result.name} is in force`);
    for (const warning of done?.warnings ?? []) warnings.append(h("li", {}, warning));
  });
  live.addEventListener("layout", show);
  live.addEventListener("welcome", () => {
    asked = false;
    void ask();
  });
  return {
    element: section("Configuration", "the model: joints, muscles, sensors and rules, as SCCILS documents", list, warnings, h("div", { class: "actions" }, load, loadLine.place)),
    show: () => void ask(),
    tell() {
      load.disabled = !live.mayBegin || !chosen || live.status?.mode === "RUNNING";
    },
  };
}

/**
 * @param {Context} context
 * @returns {Section}
 */
function logSection({ live, act, line }) {
  const state = h("p", { class: "note live" });
  const out = h("input", { type: "text", placeholder: "by time", spellcheck: "false" });
  const begin = h("button", { type: "submit", help: "write a data directory from now on, where the daemon does not log every bout" }, "Log from now");
  const end = h("button", { type: "button", help: "end what Log from now began" }, "End the log");
  const logLine = lineOf();
  const form = h("form", { class: "form" }, field("directory", out, "name of the data directory"), h("div", { class: "actions" }, begin, end, logLine.place));
  const follow = () => logLine.tell(line("log", { out: out.value }));
  form.addEventListener("input", follow);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void act("log", { out: out.value || null }, logLine.text, (told) => `log: ${told.state} ${told.folder ?? ""}`);
  });
  end.addEventListener("click", () => void act("stoplog", {}, line("stoplog"), (told) => `log: ${told.state} ${told.folder ?? ""}`));
  follow();
  return {
    element: section("Log", "where the daemon logs every bout by itself, nothing has to be done here", state, form),
    tell() {
      const logging = live.status?.logging ?? {};
      setText(state, [logging.state, logging.folder].filter(Boolean).join(" ") || "no log");
      begin.disabled = end.disabled = !live.inControl;
    },
  };
}

/**
 * @param {Context} context
 * @returns {Section}
 */
function machineSection({ live }) {
  const where = h("p", { class: "mono" });
  const body = h("div", {});
  const heads = ["task", "period", "late, p99", "late, max", "takes, p99", "overruns"];
  let shown = "";
  return {
    element: section("Machine", "how punctual the engine is, who is connected, and what went wrong on the way", where, h("div", { help: "of each task its period on the average, how late it began and how long it took (99 % of the last second, and the most since the daemon began), and how often it was not done in time; below, who is connected and since when they have said nothing" }, body)),
    tell() {
      const { status } = live;
      setText(where, live.welcome?.daemon ?? "");
      if (!status) return;
      const us = (/** @type {number | undefined} */ ns) => (ns === undefined ? "–" : `${number(ns / 1000, 0)} µs`);
      const rows = Object.entries(status.tasks ?? {}).map(([name, task]) => [
        name,
        task.period_ns ? `${number(task.period_ns.mean / 1e6, 2)} ms` : "\u2013",
        us(task.last_second?.lateness_ns?.p99),
        us(task.since_start?.lateness_ns?.max),
        us(task.last_second?.execution_ns?.p99),
        String(task.overruns),
      ]);
      const people = (status.clients ?? []).map((client) => [
        `${client.name ?? ""}${client.in_control ? " (in control)" : ""}`,
        client.role ?? "",
        `${number(client.silent_s, 0)} s`,
      ]);
      const wrong = [
        ...Object.entries(status.bus_counts ?? {}).map(([name, count]) => [`bus: ${name}`, count]),
        ...Object.entries(status.losses ?? {}).map(([name, count]) => [`lost records: ${name}`, count]),
        ...Object.entries(status.deaths ?? {}).map(([name, count]) => [`restarts: ${name}`, count]),
        ["faults and offs, latched", status.latches],
        ["edits refused", status.edits_refused],
      ].filter(([, count]) => count);
      const missing = (status.privileges_missing ?? []).map((text) => `missing: ${text}`);
      const key = JSON.stringify([rows, people, wrong, missing]);
      if (key === shown) return;
      shown = key;
      fill(
        body,
        table("tasks", heads, rows, "numbers live"),
        h("h3", {}, "connected"),
        table("clients", ["client", "role", "silent for"], people, "live"),
        h("h3", {}, "what went wrong since the daemon began"),
        wrong.length || missing.length
          ? h("ul", { class: "problems live" }, wrong.map(([name, count]) => h("li", {}, `${name}: ${count}`)), missing.map((text) => h("li", {}, text)))
          : h("p", { class: "note live" }, "nothing"),
      );
    },
  };
}

/**
 * @param {Context} context
 * @returns {Section}
 */
function endSection({ live, act, line }) {
  const { button } = holdButton("Hold 1 s to shut down", () => void act("shutdown", {}, line("shutdown", { yes: true }), () => "the daemon ends"), { class: "danger", help: "hold it down for a second: the daemon then ends, for everybody" });
  const endLine = lineOf();
  return {
    element: section("Shut down", "ends the daemon: the bout is stopped, the torque taken off, the data flushed", h("p", { class: "note" }, "The bout is stopped, the torque taken off, the data flushed."), h("div", { class: "actions" }, button, endLine.place)),
    show: () => endLine.tell(line("shutdown", { yes: true })),
    tell() {
      button.disabled = !live.inControl;
    },
  };
}

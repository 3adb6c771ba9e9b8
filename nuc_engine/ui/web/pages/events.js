// What happened: faults, overlapping rules, losses, who changed what. Repeats stand in one line.

import { field, fill, h, setText } from "../dom.js";
import { clock, counted, timeOfDay } from "../format.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */
/** @typedef {import("../live.js").Happening} Happening */

const MOST_ROWS = 500;

/** Names whose events somebody has to see to. */
const GRAVE = /fault|lost|error|silent|not_done|missing|revoked|death|latched/;

/** @typedef {{first: Happening, last: Happening, count: number}} Line */

/**
 * Put repeats of one after the other into one line, newest last. What the engine says by itself is a repeat with other
 * numbers too; what somebody did is not.
 * @param {readonly Happening[]} events
 * @returns {Line[]}
 */
export function collapsed(events) {
  const same = (/** @type {Happening} */ a, /** @type {Happening} */ b) =>
    a.name === b.name &&
    a.author === b.author &&
    (a.text === b.text || (!a.author && a.text.replace(/\d+(\.\d+)?/g, "#") === b.text.replace(/\d+(\.\d+)?/g, "#")));
  /** @type {Line[]} */
  const lines = [];
  for (const event of events) {
    const last = lines.at(-1);
    if (last && same(last.last, event)) {
      last.last = event;
      last.count += 1;
    } else lines.push({ first: event, last: event, count: 1 });
  }
  return lines;
}

/**
 * @param {Context} context
 * @returns {Page}
 */
export function eventsPage({ live, act, line }) {
  const text = h("input", { type: "search", placeholder: "name, text, author", "aria-label": "show events with", help: "show only events with these words" });
  const kind = h("select", { "aria-label": "show events of one name", help: "show only events of this name" }, h("option", { value: "" }, "all names"));
  const follow = h("input", { type: "checkbox", checked: true });
  const together = h("input", { type: "checkbox", checked: true });
  const mark = h("input", { type: "text", placeholder: "foot slipped", maxlength: 500 });
  const markForm = h("form", { class: "mark" }, field("mark this moment", mark, "written into the log with the time and your name"), h("button", { type: "submit", help: "write this remark into the log now, with the time and your name" }, "Mark"));
  markForm.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = mark.value.trim();
    if (!words) return;
    void act("mark", { text: words }, line("mark", {}, [words]), () => `marked: ${words}`).then((done) => {
      if (done) mark.value = "";
    });
  });
  const body = h("tbody", {});
  const count = h("p", { class: "note", role: "status" });
  const scroller = h(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": "events, newest last", help: "time of day, engine time, what it is called, what it says, who did it, and how often one after the other" },
    h(
      "table",
      { class: "events" },
      h("caption", { class: "unseen" }, "events"),
      h("thead", {}, h("tr", {}, ["at", "engine time", "event", "what", "who", "times"].map((head) => h("th", { scope: "col" }, head)))),
      body,
    ),
  );
  const names = new Set();
  let stale = true;

  const show = () => {
    const wanted = text.value.trim().toLowerCase();
    const shown = live.happenings.filter(
      (event) =>
        (!kind.value || event.name === kind.value) &&
        (!wanted || `${event.name} ${event.text} ${event.author ?? ""}`.toLowerCase().includes(wanted)),
    );
    const lines = together.checked ? collapsed(shown) : shown.map((event) => ({ first: event, last: event, count: 1 }));
    fill(body, ...lines.slice(-MOST_ROWS).map(row));
    const left = lines.length > MOST_ROWS ? `; the last ${MOST_ROWS} lines are shown` : "";
    setText(count, `${counted(shown.length, "event")} of ${live.happenings.length}${left}`);
    if (follow.checked) scroller.scrollTop = scroller.scrollHeight;
  };

  live.addEventListener("events", (event) => {
    for (const { name } of /** @type {CustomEvent<Happening[]>} */ (event).detail) {
      if (names.has(name)) continue;
      names.add(name);
      kind.append(h("option", { value: name }, name));
    }
    stale = true;
  });
  for (const { name } of live.happenings) {
    if (!names.has(name)) kind.append(h("option", { value: name }, name));
    names.add(name);
  }
  const again = () => {
    stale = true;
  };
  text.addEventListener("input", again);
  kind.addEventListener("change", again);
  together.addEventListener("change", again);
  return {
    element: h(
      "div",
      { class: "page page-events" },
      h("h1", { class: "unseen" }, "Events"),
      h("div", { class: "toolbar" }, text, kind, h("label", { class: "check", help: "keep the newest in sight" }, follow, "follow"), h("label", { class: "check", help: "repeats one after the other stand in one line, with the newest of them" }, together, "repeats together"), count, markForm),
      scroller,
    ),
    show: again,
    frame() {
      if (!stale) return;
      stale = false;
      show();
    },
  };
}

/** @param {Line} line */
function row({ first, last, count }) {
  const grave = GRAVE.test(first.name);
  const more = Object.entries(last)
    .filter(([key]) => !["seq", "unix_time_s", "name", "text", "time_s", "author", "client"].includes(key))
    .map(([key, value]) => `${key}: ${typeof value === "object" ? JSON.stringify(value) : value}`);
  const what = [last.text, ...more].filter(Boolean).join("; ");
  return h(
    "tr",
    { class: grave ? "grave" : "" },
    h("td", { class: "number" }, timeOfDay(last.unix_time_s)),
    h("td", { class: "number" }, typeof last.time_s === "number" ? clock(last.time_s) : ""),
    h("td", {}, grave ? "\u26a0 " : "", first.name),
    h("td", { class: "what" }, what),
    h("td", { class: "who" }, first.author ?? ""),
    h("td", { class: "number" }, count > 1 ? `\u00d7${count}` : ""),
  );
}

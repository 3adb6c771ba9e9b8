// One bout, or two over each other: what it was, its steps in numbers, leg and traces in step, figures, movie, replay.

import { boutDiagram } from "../boutdiagram.js";
import { videoBeside } from "../camera.js";
import { shellLine } from "../ctl.js";
import { fill, h, setAttribute, setText, table } from "../dom.js";
import { csvOf } from "../export.js";
import { keepAs } from "../fetchbout.js";
import { bytes, clock, counted, number } from "../format.js";
import { readFrame } from "../frames.js";
import { jobControl } from "../jobs.js";
import { exactAt, Lanes } from "../lanes.js";
import { LegView, VIEWS } from "../legview.js";
import { chainOf, columnHelp, stripsOf } from "../model.js";
import { Ring } from "../ring.js";
import { Refused } from "../session.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../lanes.js").Source & {id: string}} Source */
/** @typedef {{name: string, id?: string, folder: string, manifest: Record<string, any>, statistics: any, events: any[],
 *   columns: {name: string, unit: string}[], model: import("../model.js").Model | null, plant: import("../live.js").Plant | null,
 *   begin_s: number, end_s: number, dry_run?: boolean, figures: string[], notes?: string[], files: {name: string, id?: string, bytes: number}[]}} Bout */

const MOST = 20_000;
/** Records asked for at once: of longer stretches, least and largest values. */
/** So much of what comes after the cursor is got record by record, s, and no oftener than this. */
const NEAR_S = 4;
const APART_MS = 150;

/**
 * @param {Context} context
 * @param {string} id
 * @param {string} other id of the bout it is compared with, "" for none
 */
export function boutView(context, id, other) {
  const { api, say } = context;
  const stopped = new AbortController();
  const { signal } = stopped;
  const title = h("h2", {}, "reading \u2026");
  const facts = h("p", { class: "note" });
  const body = h("div", { class: "bout-body" });
  const element = h("div", { class: "bout" }, h("div", { class: "toolbar" }, h("a", { href: "#bouts", class: "button", help: "back to the list" }, "\u25c2 All bouts"), title, facts), body);
  /** @type {string[]} */
  const blobs = [];
  /** @type {ReturnType<typeof player> | null} */
  let playing = null;

  const picture = async (/** @type {string} */ path) => {
    const address = await api.blob(path, signal);
    blobs.push(address);
    return address;
  };

  const open = async () => {
    try {
      const [bout, second] = await Promise.all([id, other].filter(Boolean).map((each) => /** @type {Promise<Bout>} */ (api.json(`bouts/${each}`, { signal }))));
      setText(title, second ? `${bout.name}  and  ${second.name}` : bout.name);
      const { manifest } = bout;
      setText(
        facts,
        [manifest.configuration, manifest.script?.name ?? manifest.spec?.script, clock(bout.end_s - bout.begin_s, 1), manifest.state, manifest.clock && `${manifest.clock} clock`, manifest.spec?.seed !== undefined && manifest.spec?.seed !== null && `seed ${manifest.spec.seed}`]
          .filter((text) => typeof text === "string" && text)
          .join(", "),
      );
      playing = player(context, [bout, ...(second ? [second] : [])], [id, ...(second ? [other] : [])], signal);
      fill(
        body,
        bout.dry_run ? h("p", { class: "panel dry-run", role: "note" }, h("strong", {}, `${bout.manifest.spec?.labels?.kind === "virtual clock" ? "VIRTUAL CLOCK" : "DRY RUN"}. `), "An emulated leg on its plant's ground, on a simulated clock, from values and joint angles that were in force. It says nothing of the ground and the hands that are there. It is kept as long as this server runs, among its last jobs.") : null,
        playing.element,
        statistics(bout, second),
        bout.notes?.length ? h("ul", { class: "problems panel" }, bout.notes.map((text) => h("li", {}, text))) : null,
        second ? null : jobs(context, id, signal),
        second ? null : log(bout, (time) => playing?.seek(time)),
        second ? null : files(context, id, bout, signal),
        second ? null : figures(bout, (kind) => picture(`bouts/${id}/figures/${encodeURIComponent(kind)}.png`)),
      );
      await playing.load();
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refused)) throw error;
      setText(title, "this bout can not be shown");
      setText(facts, error.message);
      say(error.message, "bad");
    }
  };
  return {
    element,
    open,
    close() {
      stopped.abort();
      blobs.forEach((blob) => URL.revokeObjectURL(blob));
    },
    pause: () => playing?.stop(),
    /** @param {number} now */
    frame: (now) => playing?.frame(now),
  };
}

/**
 * Leg and traces at one moment of the bout.
 * @param {Context} context
 * @param {Bout[]} bouts
 * @param {string[]} ids
 * @param {AbortSignal} signal
 */
function player({ api, say }, bouts, ids, signal) {
  const [bout] = bouts;
  const view = new LegView();
  const columns = new Map(bout.columns.map((column, k) => [column.name, k]));
  let from = bout.begin_s;
  let to = bout.end_s;
  let cursor = bout.begin_s;
  let running = false;
  let rate = 1;
  let last = NaN;
  /** @type {Source[]} */
  let sources = [];

  const video = videoBeside(bout.folder, signal);
  const lanes = new Lanes({
    onCursor: (time) => {
      if (!Number.isNaN(time) && !running) seek(time);
    },
    onZoom: (factor, at) => show(at - (at - from) * factor, at + (to - at) * factor),
    onPan: (seconds) => show(from + seconds, to + seconds),
  });

  const play = h("button", { type: "button", "aria-pressed": "false", help: "let leg and traces go on from the cursor" }, "\u25b6 Play");
  const speed = h("select", { "aria-label": "speed", help: "how fast it plays" }, [0.1, 0.25, 0.5, 1, 2, 5].map((factor) => h("option", { value: factor, selected: factor === 1 }, `\u00d7${factor}`)));
  const slider = h("input", { type: "range", min: bout.begin_s, max: bout.end_s, step: 0.001, value: bout.begin_s, "aria-label": "time in the bout", class: "scrub", help: "move to another moment of the bout" });
  const where = h("output", { class: "readout" });
  const whole = h("button", { type: "button", help: "show the whole bout" }, "Whole");
  const closer = h("button", { type: "button", "aria-label": "zoom in around the cursor", help: "show less time, around the cursor" }, "+");
  const farther = h("button", { type: "button", "aria-label": "zoom out", help: "show more time" }, "\u2212");
  const how = h("span", { class: "note" });
  const file = h("button", { type: "button", disabled: true, help: "each record of the stretch that is shown, of these traces, as a file of numbers (CSV) into your downloads; of a longer stretch `nuc export` makes one" }, "CSV");
  file.addEventListener("click", () => {
    const { parts, count } = csvOf(sources[0], lanes.names, from, to + 1e-6, 0);
    keepAs(parts, `${bout.name.split("/").at(-1)}_traces.csv`);
    say(`${counted(count, "record")}, into your downloads`, "good", shellLine(["nuc", "export", bout.folder, "--csv"]));
  });
  const looks = h("div", { class: "segmented", role: "group", "aria-label": "where to look from" });
  for (const [name, { title }] of Object.entries(VIEWS)) looks.append(h("button", { type: "button", help: `look at it from here: ${title.toLowerCase()}`, on: { click: () => view.look(/** @type {keyof VIEWS} */ (name)) } }, title));

  const step = (/** @type {number} */ records) => {
    const source = sources[0];
    const ring = source && exactAt(source, cursor);
    if (!ring || ring.end <= ring.begin) return;
    const at = Math.max(ring.begin, Math.min(ring.end - 1, ring.find(source.time, cursor - 1e-9) + records));
    seek(ring.at(source.time, at));
  };
  const earlier = h("button", { type: "button", "aria-label": "one record back", help: "one record back", on: { click: () => step(-1) } }, "\u25c2");
  const later = h("button", { type: "button", "aria-label": "one record on", help: "one record on", on: { click: () => step(1) } }, "\u25b8");

  const seek = (/** @type {number} */ time) => {
    cursor = Math.max(bout.begin_s, Math.min(bout.end_s, time));
    slider.value = String(cursor);
    setText(where, clock(cursor, 3));
    pose();
  };
  const valueAt = (/** @type {Source} */ source, /** @type {Ring} */ ring, /** @type {number} */ record) => (/** @type {string} */ name) => {
    const column = source.index.get(name);
    return column === undefined ? NaN : ring.at(column, record);
  };
  const pose = () => {
    const [source] = sources;
    if (!source || !source.ring.end || !bout.model) return;
    const ring = exactAt(source, cursor);
    // A pose is one record's: least and largest values of several would be a pose that never was.
    if (source.decimated) void approach(source);
    if (!ring || !ring.end) return;
    const record = Math.max(ring.begin, Math.min(ring.end - 1, ring.find(source.time, cursor)));
    view.trail.clear();
    const begin = Math.max(ring.begin, ring.find(source.time, cursor - view.trailS));
    const stride = Math.max(1, Math.ceil((record - begin) / 1500));
    for (let n = begin; n < record; n += stride) view.pose(ring.at(source.time, n), valueAt(source, ring, n));
    const at = valueAt(source, ring, record);
    view.pose(ring.at(source.time, record), at);
    const force = at("plant.contact_n");
    view.contact = Number.isNaN(force) ? null : force > 0;
    const [x, y, z] = ["x", "y", "z"].map((axis) => at(`plant.${axis}_cm`));
    view.trueFoot = Number.isNaN(x + y + z) ? null : [x, y, z];
  };
  let approaching = false;
  let approachedAt = -Infinity;
  /** Get each of the records around the cursor, where they are not here: for the foot's path, and to go on for a while. */
  const approach = async (/** @type {Source} */ source) => {
    const { near } = source;
    const ahead = Math.min(bout.end_s, cursor + 0.25 * NEAR_S * Math.max(1, rate));
    const there = near && near.from <= Math.max(bout.begin_s, cursor - 0.5 * view.trailS) && near.to >= ahead;
    if (there || approaching || performance.now() - approachedAt < APART_MS) return;
    approaching = true;
    approachedAt = performance.now();
    const stretch = { from: Math.max(bout.begin_s, cursor - view.trailS), to: Math.min(bout.end_s, cursor + NEAR_S * Math.max(1, rate)) };
    try {
      const { ring, exact } = await records(bout, ids[0], stretch.from, stretch.to);
      for (const each of sources) if (each.id === ids[0]) each.near = exact ? { ring, ...stretch } : null;
      lanes.spoil();
    } catch (error) {
      if (error instanceof Refused) say(error.message, "bad");
      else if (!signal.aborted) throw error;
    } finally {
      approaching = false;
    }
    if (exactAt(source, cursor)) pose();
    else if (!signal.aborted && (cursor < stretch.from || cursor > stretch.to)) setTimeout(pose, APART_MS);
  };
  slider.addEventListener("input", () => seek(slider.valueAsNumber));
  const stop = () => {
    running = false;
    setAttribute(play, "aria-pressed", "false");
    setText(play, "\u25b6 Play");
  };
  play.addEventListener("click", () => {
    if (running) return stop();
    if (cursor >= bout.end_s - 1e-3) seek(bout.begin_s);
    running = true;
    last = NaN;
    setAttribute(play, "aria-pressed", "true");
    setText(play, "\u2016 Pause");
  });
  speed.addEventListener("change", () => {
    rate = Number(speed.value);
  });

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const show = (/** @type {number} */ low, /** @type {number} */ high) => {
    const span = Math.min(bout.end_s - bout.begin_s, Math.max(0.02, high - low));
    from = Math.max(bout.begin_s, Math.min(bout.end_s - span, low));
    to = from + span;
    // What is there is stretched at once; finer records come when nothing has changed for a moment.
    clearTimeout(waiting);
    waiting = setTimeout(() => void load(), 200);
  };
  closer.addEventListener("click", () => show(cursor - (cursor - from) / 2, cursor + (to - cursor) / 2));
  farther.addEventListener("click", () => show(cursor - 2 * (cursor - from), cursor + 2 * (to - cursor)));
  whole.addEventListener("click", () => show(bout.begin_s, bout.end_s));

  const records = async (/** @type {Bout} */ each, /** @type {string} */ id, /** @type {number} */ begin, /** @type {number} */ end) => {
    const answer = await api.fetch(`bouts/${id}/records?from=${begin}&to=${end}&most=${MOST}`, { signal });
    const { count, rows } = readFrame(await answer.arrayBuffer());
    const ring = new Ring(each.columns.length, Math.max(1, count));
    if (count) ring.push(rows, count);
    return { ring, exact: answer.headers.get("X-Nuc-Records") !== "minmax" };
  };
  /** Each change of an action, by bout; null where the server does not tell. @type {Map<string, Promise<Record<string, any> | null>>} */
  const switches = new Map();
  const switchesOf = (/** @type {string} */ id) => {
    const known = switches.get(id) ?? api.json(`bouts/${id}/switches`, { signal }).catch(() => null);
    switches.set(id, known);
    return known;
  };
  const read = async (/** @type {Bout} */ each, /** @type {string} */ id) => {
    const margin = (to - from) * 0.1;
    const { ring, exact } = await records(each, id, Math.max(each.begin_s, from - margin), to + margin);
    const index = new Map(each.columns.map((column, k) => [column.name, k]));
    const units = new Map(each.columns.map((column) => [column.name, column.unit]));
    return {
      ...{ ring, time: 0, index, unit: (/** @type {string} */ name) => units.get(name) ?? "", label: each.name, id },
      ...{ decimated: !exact, near: null, switches: exact ? null : await switchesOf(id), until: each.end_s },
    };
  };
  const load = async () => {
    try {
      const found = await Promise.all(bouts.map((each, k) => read(each, ids[k])));
      // What is here of the records around the cursor stays here.
      for (const source of found) source.near = /** @type {any} */ (sources.find(({ id }) => id === source.id)?.near ?? null);
      sources = found;
      lanes.sources = sources;
      lanes.spoil();
      file.disabled = !!found[0].decimated;
      const coarse = found.filter(({ decimated }) => decimated);
      const unsure = coarse.some((source) => !source.switches) ? ", ACTIONS ARE APPROXIMATE" : "";
      setText(how, coarse.length ? `least and largest of several records${unsure}; zoom in for each` : "every record");
      pose();
    } catch (error) {
      if (error instanceof Refused) say(error.message, "bad");
      else if (!signal.aborted) throw error;
    }
  };

  const { model } = bout;
  if (model) {
    view.setShape({ model, plant: bout.plant ?? null });
    lanes.actions = stripsOf(model);
    const help = columnHelp(model);
    lanes.helpFor = (column) => help.get(column)?.help ?? "";
  }
  const joints = model ? chainOf(model).filter((joint) => joint.states.length) : [];
  const preferred = joints.flatMap((joint) => [`${joint.name}.state`, ...(joint.motor ? [joint.motor.angle_sensor.name] : [])]);
  lanes.setNames([...preferred, "plant.contact_n"].filter((name) => columns.has(name)));
  const add = h("input", { type: "text", list: "bout-columns", placeholder: "add a trace \u2026", class: "medium", "aria-label": "add a trace to the bout", help: "name of any column that was recorded", spellcheck: "false", autocomplete: "off" });
  add.addEventListener("change", () => {
    if (columns.has(add.value)) {
      lanes.setNames([...lanes.names, add.value]);
      add.value = "";
    }
  });
  const list = h("datalist", { id: "bout-columns" }, bout.columns.slice(1).map(({ name, unit }) => h("option", { value: name }, unit)));
  const marks = (bout.events ?? []).filter((event) => typeof event.time_s === "number" && event.name === "changeset").map((event) => ({ at: event.time_s, text: event.text ?? "" }));
  const legend = bouts.length > 1 ? h("p", { class: "legend" }, h("span", { class: "key first" }, bouts[0].name), h("span", { class: "key second" }, bouts[1].name)) : null;
  seek(bout.begin_s);
  const diagram = model && joints.length ? boutDiagram(api, ids[0], model, signal) : null;

  return {
    element: h(
      "section",
      { class: "panel player", "aria-label": "leg and traces in step" },
      h("div", { class: "toolbar" }, play, h("span", { class: "segmented" }, earlier, later), speed, slider, where),
      legend,
      h(
        "div",
        { class: "player-body" },
        h("div", { class: "player-leg" }, h("div", { class: "stage-canvas" }, view.paper.canvas), looks, bouts.length > 1 ? null : video.element),
        h("div", { class: "player-traces" }, h("div", { class: "toolbar" }, whole, h("span", { class: "segmented" }, closer, farther), add, list, file, how), lanes.element),
      ),
      diagram?.element,
    ),
    load,
    seek,
    stop,
    /** @param {number} now */
    frame(now) {
      if (running) {
        if (!Number.isNaN(last)) seek(cursor + ((now - last) / 1000) * rate);
        last = now;
        if (cursor >= bout.end_s) stop();
        if (cursor > to) show(cursor, cursor + (to - from));
      }
      video.follow(cursor, running, rate);
      view.draw();
      const [source] = sources;
      if (diagram && source) {
        const ring = exactAt(source, cursor);
        const record = ring ? Math.max(ring.begin, Math.min(ring.end - 1, ring.find(source.time, cursor))) : -1;
        diagram.frame(now, cursor, ring?.end ? ring : null, source.index, source.time, record);
      }
      lanes.draw({ from, to, cursor, levels: () => [], marks, start: 0, where: clock(cursor, 3), axis: (time) => clock(time, to - from < 5 ? 2 : to - from < 30 ? 1 : 0) }, now);
    },
  };
}

/**
 * Steps in numbers, window by window; of two bouts, beside each other.
 * @param {Bout} bout
 * @param {Bout} [second]
 */
function statistics(bout, second) {
  const each = [bout, ...(second ? [second] : [])];
  /** @type {{title: string, window: any}[]} */
  const windows = each.flatMap((one, k) => (one.statistics?.windows ?? []).map((/** @type {any} */ window) => ({ title: `${second ? `${k ? "second" : "first"}: ` : ""}${window.name}`, window })));
  const kinds = [...new Set(windows.flatMap(({ window }) => Object.keys(window.quantities ?? {})))];
  const cell = (/** @type {any} */ sample) => (sample && sample.mean !== null && sample.mean !== undefined ? `${number(sample.mean, 2)} \u00b1 ${number(sample.sd, 2)}` : "–");
  const unit = (/** @type {string} */ kind) => windows.map(({ window }) => window.quantities?.[kind]?.unit).find(Boolean) ?? "";
  const rows = [
    ["from, to", ...windows.map(({ window }) => `${number(window.begin_s, 1)} – ${number(window.end_s, 1)} s`)],
    ["seen", ...windows.map(({ window }) => window.outcome ?? window.why_not_judged ?? "–")],
    ["steps", ...windows.map(({ window }) => String(window.steps))],
    ...kinds.map((kind) => [`${kind.replaceAll("_", " ")}${unit(kind) ? `, ${unit(kind)}` : ""}`, ...windows.map(({ window }) => cell(window.quantities?.[kind]))]),
    ["lift-off spread, deg", ...windows.map(({ window }) => number(window.lift_off_spread_deg, 2))],
  ];
  return h(
    "section",
    { class: "panel", "aria-label": "steps", help: "mean and standard deviation of the steps of each window" },
    h("h3", { help: "mean and standard deviation of each window's steps, as `nuc stats` has them" }, "Steps"),
    windows.length ? h("div", { class: "scroller-x", tabindex: 0, role: "region", "aria-label": "steps in numbers" }, table("steps of each window, mean and standard deviation", ["window", ...windows.map(({ title }) => title)], rows, "numbers")) : h("p", { class: "note" }, bout.statistics?.problem ?? "nothing could be measured"),
  );
}

/**
 * @param {Bout} bout
 * @param {(kind: string) => Promise<string>} picture
 */
function figures(bout, picture) {
  const place = h("div", { class: "figure" });
  const buttons = (bout.figures ?? []).map((kind) => {
    const button = h("button", { type: "button" }, kind.replaceAll("_", " "));
    button.addEventListener("click", async () => {
      fill(place, h("p", { class: "note" }, "drawing \u2026"));
      try {
        fill(place, h("img", { src: await picture(kind), alt: `${kind} of ${bout.name}` }));
      } catch (error) {
        fill(place, h("p", { class: "note" }, error instanceof Refused ? error.message : "it could not be drawn"));
      }
    });
    return button;
  });
  return h("section", { class: "panel", "aria-label": "figures", help: "figures as `nuc plot` draws them; each is drawn when it is asked for" }, h("h3", {}, "Figures"), h("div", { class: "actions" }, buttons.length ? buttons : h("p", { class: "note" }, "none")), place);
}

/**
 * Movie and replay, with their progress.
 * @param {Context} context
 * @param {string} id
 * @param {AbortSignal} signal
 */
function jobs(context, id, signal) {
  const { api } = context;
  const ended = async (/** @type {import("../jobs.js").Job} */ job, /** @type {HTMLElement} */ place) => {
    if (!job.file) return;
    const address = await api.blob(`jobs/${job.id}/file`, signal);
    signal.addEventListener("abort", () => URL.revokeObjectURL(address));
    fill(place, h("video", { src: address, controls: true }), h("a", { href: address, download: job.file, class: "button" }, `Download ${job.file}`));
  };
  const control = (/** @type {string} */ kind, /** @type {string} */ label, /** @type {string} */ help) =>
    jobControl(context, { label, help, ended, begin: () => api.json(`bouts/${id}/${kind}`, { method: "POST", body: {}, signal }) }, signal).element;
  return h(
    "section",
    { class: "panel", "aria-label": "movie and replay" },
    h("h3", {}, "Movie and replay"),
    control("movie", "Make the movie", "the leg in motion, as `nuc movie` draws it; one job at a time, with little priority"),
    control("replay", "Replay and compare", "run the bout again from what is recorded, and compare every record"),
  );
}

/**
 * @param {Bout} bout
 * @param {(time: number) => void} seek
 */
function log(bout, seek) {
  const rows = (bout.events ?? []).slice(0, 1000).map((event) => [
    typeof event.time_s === "number" ? h("button", { type: "button", class: "link", on: { click: () => seek(event.time_s) } }, clock(event.time_s, 3)) : "",
    event.name ?? event.what ?? "",
    event.text ?? "",
    event.author ?? "",
  ]);
  return h(
    "section",
    { class: "panel", "aria-label": "what happened in it", help: "a click on its time moves leg and traces there" },
    h("h3", {}, "What happened"),
    rows.length ? h("div", { class: "scroller short", tabindex: 0, role: "region", "aria-label": "events of the bout" }, table("events of the bout", ["at", "event", "what", "who"], rows, "events")) : h("p", { class: "note" }, "nothing was noted"),
  );
}

/**
 * @param {Context} context
 * @param {string} id
 * @param {Bout} bout
 * @param {AbortSignal} signal
 */
function files({ api, say }, id, bout, signal) {
  const fetchFile = async (/** @type {{name: string, id?: string}} */ file) => {
    try {
      const address = await api.blob(`bouts/${id}/files/${file.id ?? encodeURIComponent(file.name)}`, signal);
      const link = h("a", { href: address, download: file.name.split("/").at(-1) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    } catch (error) {
      if (error instanceof Refused) say(error.message, "bad");
      else if (!signal.aborted) throw error;
    }
  };
  const rows = (bout.files ?? []).map((file) => [h("button", { type: "button", class: "link", on: { click: () => void fetchFile(file) } }, file.name), bytes(file.bytes)]);
  return h("section", { class: "panel", "aria-label": "files", help: "a click copies the file into your downloads" }, h("h3", {}, "Files"), h("p", { class: "note mono" }, bout.folder ?? ""), table("files of the bout", ["file", "size"], rows, "numbers"));
}

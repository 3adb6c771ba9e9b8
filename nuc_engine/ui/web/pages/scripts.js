// Scripts and configurations: written with the daemon's validator looking on, tried, compared, sent.

import { Checks } from "../checks.js";
import { noted } from "../ctl.js";
import { copyButton, field, fill, h, keyed, pressOnce, roving, setAttribute, setClass, setText, table } from "../dom.js";
import { draftsIn, freeName, isChanged, keepDrafts, sizeOf, staleText } from "../drafts.js";
import { Editor, problemText } from "../editor.js";
import { bytes, clock, counted, number } from "../format.js";
import { jobControl, typedLine } from "../jobs.js";
import { Lanes } from "../lanes.js";
import { diffLines } from "../linediff.js";
import { SPARE } from "../model.js";
import { Ring } from "../ring.js";
import { Refused } from "../session.js";
import { tabulate, unfold } from "../timeline.js";
import { offersAt, placeAt } from "../xmltext.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */
/** @typedef {import("../messages.js").FoundProblem} FoundProblem */
/** @typedef {import("../drafts.js").Doc} Doc */
/** @typedef {{doc: Doc | null, text: string, file: string}} Open */
/** @typedef {{entries: import("../timeline.js").Entry[], problems: FoundProblem[], left_out: number, end_s: number, name: string, of?: string}} Told: `of` is the text */
/** @typedef {{title: string, element: HTMLElement, forScripts?: boolean, show?: () => void | Promise<void>, tell?: (now: number) => void,
 *   frame?: (now: number) => void}} Part */

const SLOW_MS = 500;
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_LANES = 40;
const MOST_ROWS = 500;
const TOO_LONG = "it is longer than 4 MiB, and is neither checked, saved nor sent";
const KEEP_MS = 400;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const FIRST_FILE = "joints.xml";
const EMPTY = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">
<hdsoscript name="new_script" ScriptType="LegScript">
  <description></description>
</hdsoscript>
`;

/** What a request of the page has come to nothing of, as a sentence; throws what is none of it. @param {unknown} error */
function why(error) {
  if (error instanceof Refused) return error.message;
  throw error;
}

/**
 * Say why something is not there, and let it be tried again.
 * @param {HTMLElement} place
 * @param {unknown} error
 * @param {() => void} again
 */
function failed(place, error, again) {
  fill(place, h("p", { class: "problems" }, why(error)), h("button", { type: "button", on: { click: again } }, "Try again"));
}

/**
 * @param {Context} context
 * @returns {Page}
 */
export function scriptsPage(context) {
  const { api, live, say, act, line, go } = context;
  /** @type {Map<string, Doc>} */
  const docs = new Map(draftsIn(sessionStorage).map((doc) => [`${doc.kind}/${doc.name}`, doc]));
  /** @type {Open} */
  const open = { doc: null, text: "", file: "" };
  /** @type {Told | null} */
  let told = null;
  /** @type {import("../xmltext.js").Schema} */
  let schema = { roots: [], elements: {} };
  let slowAt = 0;

  // --- the editor and its toolbar ---

  const editor = new Editor({
    label: "text of the document",
    changed: () => changed(),
    save: () => void save(),
    offers: (text, caret) => {
      const place = placeAt(text, caret);
      return { from: place.from, offers: offersAt(place, schema, namesOf(live.model)) };
    },
  });
  const name = h("input", { type: "text", "aria-label": "name", spellcheck: "false", pattern: NAME.source.slice(1, -1), class: "doc-name", help: "what it is called on the daemon's disk: letters, digits, _ and -; another name makes a copy" });
  const saveButton = h("button", { type: "button", class: "primary", help: "write it beside the daemon (Ctrl+S); what could not be carried out is refused" }, "Save");
  const download = h("button", { type: "button", help: "keep this file on your own machine" }, "Download");
  const load = h("button", { type: "button", help: "run this model as it stands here: values that were set before are gone" }, "Load");
  const state = h("span", { class: "note", role: "status" });
  const lineOf = h("span", { class: "note" });
  const files = h("div", { class: "segmented", role: "group", "aria-label": "files" });
  const question = h("div", { class: "question", role: "group", "aria-label": "question" });
  question.hidden = true;
  const nothing = h("div", { class: "note empty" }, "Choose a script or a configuration, begin a new script, or upload one.");
  const desk = h("section", { class: "panel desk", "aria-label": "editor" }, h("div", { class: "toolbar" }, name, saveButton, download, load, files, state, lineOf), question, editor.element);

  const key = (/** @type {Doc} */ doc) => `${doc.kind}/${doc.name}`;

  // --- what is not saved yet outlives a reload of the tab ---

  let roomless = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let keeping;
  const keepNow = () => {
    clearTimeout(keeping);
    keeping = undefined;
    const room = keepDrafts(sessionStorage, [...docs.values()]);
    if (!room && !roomless) say("the browser has no room for these texts: save them before you load this page again", "bad");
    roomless = !room;
  };
  const keepSoon = () => {
    keeping ??= setTimeout(keepNow, KEEP_MS);
  };
  addEventListener("pagehide", () => keeping !== undefined && keepNow());
  addEventListener("beforeunload", (event) => {
    if (keeping !== undefined) keepNow();
    if (roomless) event.preventDefault();
  });

  const changed = () => {
    const { doc, file } = open;
    if (!doc) return;
    doc.files.set(file, editor.text);
    open.text = editor.text;
    setText(editor.counts, "checking \u2026");
    check();
    mark();
    keepSoon();
  };

  /** Say whether it is as on the disk, here and in the list. */
  const mark = () => {
    const { doc } = open;
    if (doc) setText(state, isChanged(doc) ? (doc.disk ? "\u25cf changed, not saved" : "\u25cf not on disk yet") : "as on disk");
    for (const link of list.querySelectorAll("a")) {
      const known = docs.get(link.dataset.key ?? "");
      setAttribute(link, "aria-current", doc && link.dataset.key === key(doc) ? "true" : null);
      const star = /** @type {HTMLElement} */ (link.lastElementChild);
      const other = !!known && isChanged(known);
      if (other !== star.hasChildNodes()) fill(star, ...(other ? ["\u25cf", h("span", { class: "unseen" }, "changed")] : []));
    }
  };

  const showFile = (/** @type {string} */ file) => {
    const { doc } = open;
    if (!doc) return;
    open.file = file;
    open.text = editor.text = doc.files.get(file) ?? "";
    tellProblems();
  };

  const tellFiles = () => {
    const { doc } = open;
    files.hidden = !doc || doc.files.size < 2;
    fill(
      files,
      ...[...(doc?.files.keys() ?? [])].map((file) => {
        const wrong = doc?.problems.filter((problem) => baseName(problem.file) === file).length ?? 0;
        return h("button", { type: "button", "aria-pressed": String(file === open.file), on: { click: () => showFile(file) } }, file, wrong ? ` (${wrong})` : "");
      }),
    );
  };

  const tellProblems = () => {
    const { doc, file } = open;
    if (!doc) return;
    const own = doc.kind === "script" ? doc.problems : doc.problems.filter((problem) => baseName(problem.file) === file || !doc.files.has(baseName(problem.file)));
    editor.tell(own);
    tellFiles();
    tellTabs();
  };

  const checks = new Checks(
    /** @returns {Promise<{doc: Doc | null, problems: FoundProblem[], unchecked: string}>} */
    async () => {
      const { doc } = open;
      if (!doc) return { doc, problems: [], unchecked: "" };
      if (sizeOf(doc) > MOST_BYTES) return { doc, problems: [], unchecked: TOO_LONG };
      try {
        const given = doc.kind === "script" ? { text: editor.text } : { documents: Object.fromEntries(doc.files) };
        return { doc, problems: await live.ask("validate", given), unchecked: "" };
      } catch (error) {
        return { doc, problems: [], unchecked: why(error) };
      }
    },
    ({ doc, problems, unchecked }) => {
      if (!doc || doc !== open.doc) return;
      doc.problems = problems;
      tellProblems();
      if (unchecked) setText(editor.counts, `not checked: ${unchecked}`);
      editor.announce(unchecked && `not checked: ${unchecked}`);
    },
  );
  const courses = new Checks(
    /** @returns {Promise<{doc: Doc | null, course: Told | string}>} */
    async () => {
      const { doc } = open;
      if (doc?.kind !== "script" || sizeOf(doc) > MOST_BYTES) return { doc, course: "" };
      try {
        const { text } = editor;
        return { doc, course: { ...(await api.json("timeline", { method: "POST", body: { text } })), of: text } };
      } catch (error) {
        return { doc, course: why(error) };
      }
    },
    ({ doc, course }) => {
      if (doc !== open.doc) return;
      told = typeof course === "string" ? null : course;
      if (typeof course === "string" && course) say(course, "bad");
      if (shown) void parts[shown].show?.();
    },
  );
  const check = () => {
    checks.want();
    courses.want();
  };

  /** @param {Doc} doc */
  const openDoc = (doc) => {
    fetched += 1;
    docs.set(key(doc), doc);
    open.doc = doc;
    told = null;
    name.value = doc.name;
    question.hidden = true;
    nothing.hidden = true;
    desk.hidden = below.hidden = false;
    load.hidden = doc.kind === "script";
    showFile(doc.files.has(FIRST_FILE) ? FIRST_FILE : ([...doc.files.keys()][0] ?? ""));
    if (doc.kind === "configuration" && parts[shown].forScripts) choose(0);
    setText(editor.counts, "checking \u2026");
    check();
    mark();
    tellTabs();
  };

  /** @param {Doc["kind"]} kind @param {string} called @returns {Promise<Map<string, string>>} */
  const read = async (kind, called) => {
    if (kind === "script") return new Map([[`${called}.xml`, (await live.ask("script_text", { name: called })).text]]);
    return new Map(Object.entries(/** @type {Record<string, string>} */ (await live.ask("documents", { name: called }))));
  };

  let fetched = 0;
  const fetchDoc = async (/** @type {Doc["kind"]} */ kind, /** @type {string} */ called) => {
    fetched += 1;
    const mine = fetched;
    try {
      const disk = await read(kind, called);
      // Something else was chosen meanwhile, or begun under this name.
      if (mine !== fetched || docs.has(`${kind}/${called}`)) return;
      openDoc({ kind, name: called, files: new Map(disk), disk, replaces: "", problems: [] });
    } catch (error) {
      if (mine !== fetched) return;
      failed(nothing, error, () => void fetchDoc(kind, called));
      nothing.hidden = false;
      desk.hidden = below.hidden = true;
      open.doc = null;
    }
  };

  // --- saving: what is there already is written over only after that was said ---

  /**
   * @param {string} text
   * @param {string} yes
   * @param {() => void} then
   */
  const askFirst = (text, yes, then) => {
    const answer = (/** @type {boolean} */ does) => () => {
      question.hidden = true;
      editor.area.focus();
      if (does) then();
    };
    const button = h("button", { type: "button", on: { click: answer(true) } }, yes);
    fill(question, h("span", {}, text), button, h("button", { type: "button", on: { click: answer(false) } }, "Cancel"));
    question.hidden = false;
    button.focus();
  };

  /** What the daemon has on its disk, as far as it is known here. @type {Set<string>} */
  const onDisk = new Set();
  let saving = false;
  const save = async () => {
    if (saving) return;
    saving = true;
    try {
      await saveNow();
    } finally {
      saving = false;
    }
  };
  const saveNow = async () => {
    const { doc } = open;
    const called = name.value.trim();
    if (!doc) return;
    if (sizeOf(doc) > MOST_BYTES) return say(TOO_LONG, "bad");
    if (!live.mayBegin) return say(reason(), "bad");
    if (!NAME.test(called)) return say("a name has letters, digits, _ and -, at most 64, and begins with a letter or digit", "bad");
    const isThere = onDisk.has(`${doc.kind}/${called}`);
    const replace = (/** @type {string} */ text) =>
      askFirst(text, `Replace ${called}`, () => {
        doc.replaces = called;
        void save();
      });
    const other = docs.get(`${doc.kind}/${called}`);
    if (other && other !== doc && isChanged(other)) return say(`${called} has text of its own here that is not saved: save it under another name first`, "bad");
    if (isThere && doc.replaces !== called) return replace(`The ${doc.kind} ${called} is on the daemon's disk already.`);
    if (isThere && doc.name === called && doc.disk) {
      // Somebody else may have written it since it was read here.
      const there = await read(doc.kind, called).catch(why);
      if (typeof there === "string") return say(`not saved: ${there}`, "bad");
      if (doc !== open.doc) return say(`not saved: something else than ${called} was opened meanwhile`, "bad");
      if ([...there].some(([file, text]) => doc.disk?.get(file) !== text)) {
        doc.disk = there;
        mark();
        return replace(`The ${doc.kind} ${called} was changed on the daemon's disk by somebody else meanwhile (Difference shows how).`);
      }
    }
    const isScript = doc.kind === "script";
    const content = isScript ? { text: editor.text } : { documents: Object.fromEntries(doc.files) };
    const kept = new Map(isScript ? [[`${called}.xml`, editor.text]] : doc.files);
    const words = [isScript ? `${called}.xml` : `./${called}`];
    const done = await act(isScript ? "store_script" : "store_configuration", { name: called, ...content, overwrite: isThere }, byHand(line("store", { overwrite: isThere }, words), words[0]), (answer) => `saved ${answer.path}`);
    if (!done) return;
    docs.delete(key(doc));
    // What was typed meanwhile is not saved yet, and something else may be open by now.
    const texts = isScript ? new Map([[`${called}.xml`, textOf(doc)]]) : doc.files;
    Object.assign(doc, { name: called, disk: kept, files: texts, replaces: called });
    docs.set(key(doc), doc);
    onDisk.add(key(doc));
    keepNow();
    if (open.doc === doc) {
      if (isScript) open.file = `${called}.xml`;
      // At once: the address of the old name leads nowhere any more.
      go(`scripts/${key(doc)}`);
    }
    void ask();
  };
  saveButton.addEventListener("click", () => void save());
  name.addEventListener("keydown", (event) => {
    if (event.key === "Enter") void save();
  });

  download.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([editor.text], { type: "application/octet-stream" }));
    h("a", { href: address, download: open.file }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });

  pressOnce(load, async () => {
    const { doc } = open;
    if (!doc) return;
    if (sizeOf(doc) > MOST_BYTES) return say(TOO_LONG, "bad");
    const given = isChanged(doc) ? { name: doc.name, documents: Object.fromEntries(doc.files) } : { name: doc.name };
    const done = await act("configure", given, isChanged(doc) ? byHand(line("configure", {}, [`./${doc.name}`]), `./${doc.name}`) : line("configure", {}, [doc.name]), (result) => `${result.name} is in force`);
    for (const warning of done?.warnings ?? []) say(warning);
  });

  const reason = () => (live.inControl ? "what is shown is not live" : "take control first (above)");

  // --- the lists ---

  const list = h("div", { class: "doc-list", role: "navigation", "aria-label": "scripts and configurations" });
  const upload = h("input", { type: "file", multiple: true, accept: ".xml,.toml,.json", "aria-label": "upload files", help: "files of yours, at most 4 MiB; nothing is written beside the daemon before you save", class: "unseen", tabindex: -1 });
  const uploadButton = h("button", { type: "button", help: "open a script of yours here, or files of a configuration into the one that is open; at most 4 MiB", on: { click: () => upload.click() } }, "Upload");
  const fresh = h("button", { type: "button", help: "begin an empty script", on: { click: () => begin("new_script", EMPTY) } }, "New script");
  /** What is begun takes nobody's place: neither that of a text which is not saved, nor that of a file. */
  const unused = (/** @type {string} */ called) => freeName(called, (each) => docs.has(`script/${each}`) && isChanged(/** @type {Doc} */ (docs.get(`script/${each}`))));
  const folders = h("section", { class: "panel folders", "aria-label": "documents" }, h("div", { class: "actions" }, fresh, uploadButton, upload), list);

  const begin = (/** @type {string} */ wanted, /** @type {string} */ text) => {
    const called = unused(wanted);
    openDoc({ kind: "script", name: called, files: new Map([[`${called}.xml`, text]]), disk: null, replaces: "", problems: [] });
    go(`scripts/script/${called}`);
  };

  upload.addEventListener("change", async () => {
    const chosen = [...(upload.files ?? [])];
    // The same may be chosen again.
    upload.value = "";
    const size = chosen.reduce((sum, file) => sum + file.size, 0);
    if (size > MOST_BYTES) return say(`nothing was read: ${counted(chosen.length, "file")} of ${bytes(size)}; at most 4 MiB`, "bad");
    /** @type {string[]} */
    let texts;
    try {
      texts = await Promise.all(chosen.map(async (file) => new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer())));
    } catch (error) {
      return say(error instanceof TypeError ? "nothing was read: these are no texts in UTF-8" : `nothing was read: ${error instanceof Error ? error.message : error}`, "bad");
    }
    const { doc } = open;
    // A file that the open configuration has is meant for it.
    const into = chosen.flatMap(({ name: called }, k) => (doc?.kind === "configuration" && doc.files.has(called) ? [{ called, text: texts[k] }] : []));
    const take = () => {
      if (!doc || doc !== open.doc) return;
      for (const { called, text } of into) doc.files.set(called, text);
      if (into.length) showFile(into[0].called);
      if (into.length) changed();
    };
    chosen.forEach(({ name: called }, k) => {
      if (!into.some((each) => each.called === called)) begin(called.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9_-]/g, "_").replace(/^[_-]+/, "").slice(0, 60) || "uploaded", texts[k]);
    });
    const over = into.filter(({ called, text }) => doc?.files.get(called) !== doc?.disk?.get(called) && doc?.files.get(called) !== text);
    if (over.length) askFirst(`${over.map(({ called }) => called).join(", ")}: what was changed here is not saved.`, "Put the uploaded text in its place", take);
    else take();
  });

  const scriptList = h("ul", {});
  const configurationList = h("ul", {});

  let asked = 0;
  const ask = async () => {
    if (!live.open) return;
    asked += 1;
    const mine = asked;
    try {
      if (!schema.roots.length) api.json("schema").then((found) => (schema = found), (error) => say(String(error.message), "bad"));
      const [scripts, configurations] = await Promise.all([live.ask("scripts"), live.ask("configurations")]);
      // An answer that was overtaken does not know what has been saved since.
      if (mine !== asked) return;
      /** @typedef {{name: string, description: string, fullname?: string, duration_s?: number | null, problem?: string}} Listed */
      const row = (/** @type {Doc["kind"]} */ kind) => (/** @type {Listed} */ item) =>
        h(
          "li",
          {},
          h(
            "a",
            { href: `#scripts/${kind}/${item.name}`, "data-key": `${kind}/${item.name}`, class: item.problem ? "broken" : "", help: item.problem || item.description || item.fullname },
            h("span", {}, item.problem ? `\u26a0 ${item.name}` : item.name),
            typeof item.duration_s === "number" ? h("small", {}, clock(item.duration_s, 0)) : kind === "configuration" && item.name === live.configuration ? h("small", {}, "in force") : null,
            h("em", {}),
          ),
        );
      // What is open and on no disk is in the list too, so that it is found again.
      const own = [...docs.values()].filter((doc) => doc.kind === "script" && !doc.disk && !scripts.some((/** @type {Listed} */ each) => each.name === doc.name));
      const drafts = own.map((doc) => ({ name: doc.name, description: "not on the daemon's disk yet" }));
      if (scriptList.parentElement !== list) fill(list, h("h2", {}, "Scripts"), scriptList, h("h2", {}, "Configurations"), configurationList);
      keyed(scriptList, [...drafts, ...scripts], (item) => JSON.stringify(item), row("script"));
      keyed(configurationList, configurations, (item) => JSON.stringify([item, /** @type {Listed} */ (item).name === live.configuration]), row("configuration"));
      onDisk.clear();
      for (const [kind, items] of Object.entries({ script: scripts, configuration: configurations })) for (const item of items) onDisk.add(`${kind}/${item.name}`);
      mark();
    } catch (error) {
      failed(list, error, () => void ask());
    }
  };
  live.addEventListener("welcome", () => {
    void ask();
    if (open.doc) check();
  });
  live.addEventListener("layout", () => {
    if (open.doc) check();
    mark();
  });

  // --- below the editor: problems, timeline, difference, dry run, sending ---

  const values = async () => /** @type {Record<string, any>} */ ((await live.ask("get", { names: [-1] })).values);
  /** @type {Part[]} */
  const parts = [
    { title: "Problems", element: h("div", {}, editor.counts, editor.list) },
    timelinePart(context, () => told, values, (at) => editor.jump(at)),
    differencePart(context, open, () => told, read, values),
    dryRunPart(context, open, () => told, values),
    sendPart(context, open, reason, (doc, problems) => {
      doc.problems = problems;
      if (doc === open.doc) tellProblems();
    }),
  ];
  /** Of the parts, in their order. */
  const TAB_HELP = ["what is wrong with it, line by line", "what it changes, and when", "what it changes against the disk, or what runs", "try it on an emulated leg, on a simulated clock", "let the engine make its changes, or withdraw what waits"];
  let shown = 0;
  const tabs = parts.map((part, k) => h("button", { type: "button", role: "tab", help: TAB_HELP[k], id: `scripts-tab-${k}`, "aria-controls": `scripts-part-${k}`, on: { click: () => choose(k), focus: () => choose(k) } }, part.title));
  parts.forEach((part, k) => {
    for (const [attribute, value] of Object.entries({ role: "tabpanel", id: `scripts-part-${k}`, "aria-labelledby": `scripts-tab-${k}`, tabindex: "0" })) part.element.setAttribute(attribute, value);
    part.element.classList.add("part");
  });
  const choose = (/** @type {number} */ k) => {
    if (k !== shown) void parts[k].show?.();
    shown = k;
    tellTabs();
  };
  const tellTabs = () => {
    const wrong = open.doc?.problems.length ?? 0;
    setText(tabs[0], wrong ? `Problems (${wrong})` : "Problems");
    tabs.forEach((tab, k) => {
      tab.hidden = !!parts[k].forScripts && open.doc?.kind === "configuration";
      setAttribute(tab, "aria-selected", String(k === shown));
      setAttribute(tab, "tabindex", k === shown ? "0" : "-1");
      parts[k].element.hidden = k !== shown;
    });
  };
  const tabList = h("div", { class: "segmented", role: "tablist", "aria-label": "about this document" }, tabs);
  roving(tabList);
  const below = h("section", { class: "panel below", "aria-label": "about this document" }, tabList, parts.map(({ element }) => element));
  desk.hidden = below.hidden = true;
  tellTabs();

  const element = h("div", { class: "page page-scripts" }, h("h1", { class: "unseen" }, "Scripts and configurations"), folders, h("div", { class: "work" }, nothing, desk, below));
  return {
    element,
    show(rest) {
      void ask();
      const [kind, called] = rest.split("/");
      if ((kind !== "script" && kind !== "configuration") || !NAME.test(called ?? "")) return;
      const known = docs.get(`${kind}/${called}`);
      if (known && known === open.doc) mark();
      else if (known) openDoc(known);
      else void fetchDoc(kind, called);
    },
    frame(now) {
      parts[shown].frame?.(now);
      if (now - slowAt < SLOW_MS) return;
      slowAt = now;
      saveButton.disabled = !live.mayBegin;
      load.disabled = !live.mayBegin || live.status?.mode === "RUNNING";
      setText(lineOf, live.mayBegin ? "" : `to save or load: ${reason()}`);
      parts[shown].tell?.(now);
    },
  };
}

/** The text of a script. @param {Doc} doc */
const textOf = (doc) => [...doc.files.values()][0] ?? "";

/** @param {string} file */
const baseName = (file) => file.slice(file.lastIndexOf("/") + 1);

/**
 * @param {import("../model.js").Model | null} model
 * @returns {import("../xmltext.js").Names}
 */
function namesOf(model) {
  const about = (/** @type {import("../model.js").Hdso} */ { fullname, unit }) => [fullname, unit].filter(Boolean).join(", ");
  return {
    hdsos: [...(model?.parameters ?? []), ...(model?.sensors ?? [])].map((hdso) => ({ id: hdso.id, name: hdso.name, about: about(hdso) })),
    joints: (model?.joints ?? []).map((joint) => joint.name),
    states: (model?.joints ?? []).flatMap((joint) => joint.states.map((each) => each.name)),
  };
}

/** @param {import("../model.js").Model | null} model */
function hdsosOf(model) {
  const found = [...(model?.parameters ?? []), ...(model?.sensors ?? [])];
  return new Map(found.flatMap((hdso) => /** @type {[number | string, import("../model.js").Hdso][]} */ ([[hdso.id, hdso], [hdso.name, hdso]])));
}

/**
 * What changes when: each value over the script's length, and each change in a table.
 * @param {Context} context
 * @param {() => Told | null} script
 * @param {() => Promise<Record<string, any>>} values
 * @param {(line: number) => void} jump
 * @returns {Part}
 */
function timelinePart({ live }, script, values, jump) {
  let [from, to, end] = [0, 1, 1];
  /** @type {Set<string>} */
  let strips = new Set();
  const show = (/** @type {number} */ low, /** @type {number} */ high) => {
    const span = Math.min(end, Math.max(0.01, high - low));
    from = Math.max(0, Math.min(end - span, low));
    to = from + span;
  };
  const zoom = (/** @type {number} */ factor, at = (from + to) / 2) => show(at - (at - from) * factor, at + (to - at) * factor);
  const lanes = new Lanes({ onZoom: zoom, onPan: (by) => show(from + by, to + by), isStrip: (called) => strips.has(called) });
  const closer = h("button", { type: "button", "aria-label": "zoom in", on: { click: () => zoom(0.5) } }, "+");
  const farther = h("button", { type: "button", "aria-label": "zoom out", on: { click: () => zoom(2) } }, "\u2212");
  const whole = h("button", { type: "button", help: "show the whole script", on: { click: () => show(0, end) } }, "Whole");
  const note = h("span", { class: "note" });
  const chart = h("div", { class: "chart", tabindex: 0, role: "group", "aria-label": "what the script does over time; + and - zoom, arrow keys move; the table below says the same" }, lanes.element);
  const rows = h("div", { class: "scroller changes", tabindex: 0, role: "region", "aria-label": "changes of the script" });
  chart.addEventListener("keydown", (event) => {
    const step = (to - from) / 10;
    /** @type {Record<string, () => void>} */
    const keys = { "+": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => show(from - step, to - step), ArrowRight: () => show(from + step, to + step), Home: () => show(0, end) };
    if (event.target !== chart || !keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  /** @type {{at: number, text: string}[]} */
  let marks = [];
  let asked = 0;
  /** @type {import("../timeline.js").Change[]} */
  let all = [];
  let first = 0;
  let listed = "";
  const earlier = h("button", { type: "button", on: { click: () => page(first - MOST_ROWS) } }, "Earlier");
  const later = h("button", { type: "button", on: { click: () => page(first + MOST_ROWS) } }, "Later");
  const which = h("span", { class: "note", role: "status" });
  const pager = h("div", { class: "toolbar" }, h("span", { class: "segmented" }, earlier, later), which);
  const place = h("div", {});
  fill(rows, place);
  /** Show the changes from there on, so many that the page stays quick. */
  const page = (/** @type {number} */ from) => {
    first = Math.max(0, from < all.length ? from : 0);
    const shown = all.slice(first, first + MOST_ROWS);
    pager.hidden = all.length <= MOST_ROWS;
    earlier.disabled = !first;
    later.disabled = first + MOST_ROWS >= all.length;
    setText(which, `changes ${first + 1} to ${first + shown.length} of ${all.length}`);
    const now = JSON.stringify(shown);
    if (now === listed) return;
    listed = now;
    const known = hdsosOf(live.model);
    const cells = shown.map(({ at, until, steps, name, from: before, to: after, kind, line, how }) => [
      how ? `from ${clock(at, 3)}` : clock(at, 3),
      how ? how : kind === "gradual" ? `over ${number(until - at, 2)} s in ${counted(steps, "step")}` : kind === "request" ? "asked for" : kind === "by hand" && until > at ? `for ${number(until - at, 2)} s` : "at once",
      h("span", { help: known.get(name)?.description }, name),
      !before ? after : before === after ? `${after}, as before` : `${before} \u2192 ${after}`,
      h("button", { type: "button", class: "link", on: { click: () => jump(line) } }, `line ${line}`),
    ]);
    fill(place, table("changes of the script, in order of time", ["at", "how", "what", "from, to", "where"], cells, "events"));
  };

  const draw = async () => {
    asked += 1;
    const mine = asked;
    const found = script();
    pager.hidden = all.length <= MOST_ROWS || !found?.entries.length;
    chart.hidden = rows.hidden = !found?.entries.length;
    if (!found) return setText(note, "reading \u2026");
    if (found.problems.length) {
      const [{ line, what }] = found.problems;
      return setText(note, `it does not parse: line ${line}: ${what}`);
    }
    if (!found.entries.length) return setText(note, "this script changes nothing");
    const held = await values().catch(() => ({}));
    // It was edited, or asked for again, while the values were on their way.
    if (mine !== asked) return;
    const known = hdsosOf(live.model);
    const { courses, changes } = unfold(found.entries, (ref) => known.get(ref), held);
    if (end !== Math.max(1, found.end_s * 1.05)) {
      end = Math.max(1, found.end_s * 1.05);
      show(0, end);
    }
    const byHand = changes.filter(({ kind }) => kind === "by hand");
    const different = courses.filter(({ start, steps }) => steps.some(({ value }) => value !== start));
    const shown = (different.length ? different : courses).slice(0, MOST_LANES - 1);
    if (byHand.length) shown.push(handCourse(byHand, end));
    const { rows: numbers, count, codes, switches } = tabulate(shown, end);
    const ring = new Ring(shown.length + 1, count);
    ring.push(numbers, count);
    strips = new Set(shown.filter(({ isNumber }) => !isNumber).map(({ name }) => name));
    lanes.actions = new Map([...codes].map(([text, code]) => [code, { name: text, color: text ? SPARE[code % SPARE.length] : "transparent", place: code }]));
    lanes.helpFor = (column) => known.get(column.replace(/\[\d+\]$/, ""))?.description ?? "";
    const units = new Map(shown.map(({ name, unit }) => [name, unit]));
    const index = new Map(shown.map(({ name }, k) => [name, k + 1]));
    lanes.sources = [{ ring, time: 0, index, unit: (called) => units.get(called) ?? "", label: "script", whole: true, decimated: true, near: { ring, from: 0, to: end }, switches, until: end }];
    lanes.setNames(shown.map(({ name }) => name));
    lanes.resetRanges();
    marks = [...new Set(changes.map(({ at }) => at))].map((at) => ({ at, text: "" }));
    const same = different.length ? courses.length - different.length : 0;
    const more = courses.length - same + (byHand.length ? 1 : 0) - shown.length;
    const gradual = changes.filter(({ kind }) => kind === "gradual").length;
    const waits = changes.filter(({ kind }) => kind === "when").length;
    setText(
      note,
      [counted(changes.length, "change"), gradual ? `${gradual} gradual` : "", waits ? `${waits} that ${waits === 1 ? "waits for its rule" : "wait for their rules"}` : "", `over ${clock(found.end_s, 1)}`, same ? `${same} values are written as they are in force: in the table alone` : "", more > 0 ? `${more} values more are in the table alone` : "", found.left_out ? `${found.left_out} entries are not shown` : ""].filter(Boolean).join(", "),
    );
    all = changes;
    page(first);
  };

  return {
    title: "Timeline",
    forScripts: true,
    element: h("div", { class: "timeline" }, h("div", { class: "toolbar" }, whole, h("span", { class: "segmented" }, closer, farther), note), chart, pager, rows),
    show: draw,
    frame(now) {
      const cursor = live.status?.bout && live.ring.end ? live.ring.at(live.timeColumn, live.ring.end - 1) - live.start : NaN;
      const where = Number.isNaN(cursor) ? "no bout runs" : `now ${clock(cursor, 1)}`;
      lanes.draw({ from, to, cursor, levels: () => [], marks, start: 0, where, axis: (time) => clock(time, to - from < 5 ? 2 : to - from < 30 ? 1 : 0) }, now);
    },
  };
}

/**
 * What is done to the leg by hand, as one strip; what takes no time is wide enough to be seen.
 * @param {import("../timeline.js").Change[]} changes
 * @param {number} end
 * @returns {import("../timeline.js").Course}
 */
function handCourse(changes, end) {
  const steps = changes.flatMap(({ at, until, to }, k) => [
    { at, value: to },
    { at: Math.min(Math.max(until, at + end / 200), changes[k + 1]?.at ?? Infinity), value: "" },
  ]);
  return { name: "by hand", unit: "", isNumber: false, start: "", steps };
}

/**
 * The text against the disk, and the values against what runs.
 * @param {Context} context
 * @param {Open} open
 * @param {() => Told | null} script
 * @param {(kind: Doc["kind"], name: string) => Promise<Map<string, string>>} read
 * @param {() => Promise<Record<string, any>>} values
 * @returns {Part}
 */
function differencePart({ live, api }, open, script, read, values) {
  const place = h("div", { class: "differences" });
  let against = "disk";
  let was = "";
  let asked = 0;
  const buttons = [
    { kind: "disk", title: "Text against the disk" },
    { kind: "runs", title: "Values against what runs" },
  ].map(({ kind, title }) =>
    h("button", { type: "button", "data-kind": kind, on: { click: () => ((against = kind), void show()) } }, title),
  );

  const disk = async (/** @type {Doc} */ doc) => {
    const there = await read(doc.kind, doc.name);
    const shown = [...new Set([...there.keys(), ...doc.files.keys()])].map((file) => {
      const hunks = diffLines(there.get(file) ?? "", doc.files.get(file) ?? "");
      if (!hunks.length) return null;
      const lines = hunks.flatMap((hunk, k) => [k ? h("div", { class: "diff-gap", "aria-hidden": "true" }, "\u22ee") : null, ...hunk.lines.map(diffLine)]);
      return h("div", {}, h("h2", {}, file), h("div", { class: "diff mono" }, lines));
    });
    return shown.some(Boolean) ? shown : [h("p", { class: "note" }, "the same as on the daemon's disk")];
  };

  const scriptValues = async () => {
    const found = script();
    if (!found || found.problems.length) return [h("p", { class: "note" }, "it does not parse yet")];
    const held = await values();
    const known = hdsosOf(live.model);
    const { courses } = unfold(found.entries, (ref) => known.get(ref), held);
    const rows = courses
      .filter(({ start, steps }) => steps.some(({ value }) => value !== start))
      .map(({ name, unit, start, steps }) => {
        const first = steps.find(({ value }) => value !== start);
        return [h("span", { help: known.get(name)?.description }, name), String(start ?? "no value"), first ? `${first.value} at ${clock(first.at, 2)}` : "", String(steps.at(-1)?.value), unit];
      });
    return [rows.length ? table("values that the script would change", ["value", "in force", "first other", "at the end", "unit"], rows) : h("p", { class: "note" }, "it writes what is in force already")];
  };

  const modelValues = async (/** @type {Doc} */ doc) => {
    if (!live.configuration) return [h("p", { class: "note" }, "nothing is configured")];
    const before = await live.ask("documents");
    const body = { name: live.configuration, before, values: await values(), after: Object.fromEntries(doc.files) };
    const { differences, left_out: more } = await api.json("differences", { method: "POST", body });
    const rows = differences.map((/** @type {any} */ found) => [found.section, found.name, found.a ?? "not there", found.b ?? "not there", found.unit]);
    return [rows.length ? table(`what differs from ${live.configuration} as it runs`, ["kind", "name", "runs", "here", "unit"], rows) : h("p", { class: "note" }, `the same as ${live.configuration} with the values in force`), more ? h("p", { class: "note" }, `and ${more} more`) : null];
  };

  const show = async () => {
    const { doc } = open;
    asked += 1;
    const mine = asked;
    buttons.forEach((button) => setAttribute(button, "aria-pressed", String(button.dataset.kind === against)));
    if (!doc) return;
    if (against !== was) fill(place, h("p", { class: "note" }, "reading \u2026"));
    was = against;
    let found;
    try {
      found = await (against === "disk" ? (doc.disk ? disk(doc) : [h("p", { class: "note" }, "it is not on the daemon's disk yet")]) : doc.kind === "script" ? scriptValues() : modelValues(doc));
    } catch (error) {
      found = [h("p", { class: "problems" }, why(error))];
    }
    if (mine === asked) fill(place, ...found);
  };
  return { title: "Difference", element: h("div", {}, h("div", { class: "toolbar" }, h("span", { class: "segmented", role: "group", "aria-label": "against" }, buttons)), place), show };
}

/**
 * Return a line for a shell that reads what stands here from a file.
 * @param {string} line
 * @param {string} file
 */
function byHand(line, file) {
  return noted(line, `${file} as it stands here: Download`);
}

/** @param {import("../linediff.js").DiffLine} line */
function diffLine({ sign, text, before, after }) {
  const word = { "+": "here", "-": "on disk", " ": "" }[sign];
  return h("div", { class: `diff-line ${word ? (sign === "+" ? "added" : "removed") : ""}` }, h("span", { class: "diff-sign" }, `${String(after || before).padStart(5)} ${sign === "-" ? "\u2212" : sign} `), word ? h("span", { class: "unseen" }, `${word}: `) : null, text);
}

/**
 * The script on an emulated leg and a simulated clock.
 * @param {Context} context
 * @param {Open} open
 * @param {() => Told | null} script
 * @param {() => Promise<Record<string, any>>} values
 * @returns {Part}
 */
function dryRunPart(context, open, script, values) {
  const { live, api } = context;
  const duration = h("input", { type: "number", min: 0.1, max: 3600, step: "any", value: "", placeholder: "script + 5", inputmode: "decimal" });
  const seed = h("input", { type: "number", min: 0, step: 1, value: 0, inputmode: "numeric" });
  const done = h("ul", { class: "dry-runs" });
  const what = h("p", { class: "note" });

  /** @typedef {{doc: Doc | null, basis: import("../drafts.js").Basis, note: HTMLElement}} Tried */
  /** @type {Tried | null} what is under way */
  let begun = null;
  /** @type {Tried[]} */
  const tried = [];
  /** Values in force as they were asked for last, and when that has to be done again. */
  let held = "";
  let heldOf = "";
  let asking = false;
  const angles = () => Object.fromEntries((live.model?.joints ?? []).flatMap((joint) => (joint.motor ? [[joint.name, live.now(joint.motor.angle_sensor.name)]] : [])).filter(([, angle]) => Number.isFinite(angle)));
  const begin = async () => {
    const { model } = live;
    const { doc } = open;
    // What stands here now, whatever is typed while the rest is asked for.
    const text = open.text;
    if (!doc || !model || !live.liveness(performance.now()).live) throw new Refused("refused", "what is in force is not known: it is not live");
    if (sizeOf(doc) > MOST_BYTES) throw new Refused("refused", TOO_LONG);
    const pose = angles();
    const end = async () => (script()?.of === text ? script()?.end_s : (await api.json("timeline", { method: "POST", body: { text } })).end_s) ?? 0;
    const [documents, inForce, seconds] = await Promise.all([live.ask("documents"), values(), duration.value ? duration.valueAsNumber : end().then((length) => length + 5)]);
    if (model !== live.model) throw new Refused("refused", "another model came into force meanwhile: try it again");
    const body = { name: live.configuration, documents, values: inForce, angles: pose, script: text, script_name: doc.name, duration_s: seconds, seed: seed.valueAsNumber || 0 };
    begun = { doc, basis: { text, values: JSON.stringify(inForce), angles: pose, model: JSON.stringify(model) }, note: h("span", { class: "problems", role: "status" }) };
    const job = await api.json("dryruns", { method: "POST", body });
    return { ...job, line: typedLine(live.configuration, job.line) };
  };
  const ended = (/** @type {import("../jobs.js").Job} */ job) => {
    if (!job.result || !begun) return;
    tried.unshift(begun);
    done.prepend(h("li", {}, h("a", { href: `#bouts/${job.result}` }, `Dry run ${job.id} of ${begun.doc?.name ?? "the script"}`), `: leg, traces, steps and figures${job.state === "failed" ? `; stopped early: ${job.text}` : ""} `, begun.note));
    heldOf = "";
    void judge();
  };
  /** Mark those that began from something else than what is here now. */
  const judge = async () => {
    if (!tried.length || asking) return;
    const { edits, bout, mode } = live.status ?? {};
    const now = JSON.stringify([edits, bout, mode, live.configuration]);
    if (now !== heldOf && live.open) {
      asking = true;
      try {
        held = JSON.stringify(await values());
        heldOf = now;
      } catch {
        // It is asked for again.
      } finally {
        asking = false;
      }
    }
    const is = { angles: angles(), model: JSON.stringify(live.model) };
    for (const { doc, basis, note: place } of tried) setText(place, staleText(basis, { ...is, values: held || basis.values, text: doc ? textOf(doc) : "" }));
  };
  const job = jobControl(context, { label: "Dry run", help: "run the script on an emulated leg, from the values and joint angles in force; nothing of it reaches the daemon or the leg", begin, ended }, new AbortController().signal);
  return {
    title: "Dry run",
    forScripts: true,
    show: judge,
    element: h(
      "div",
      {},
      h("p", {}, "An ", h("strong", {}, "emulated leg"), " on its plant's ground and a simulated clock, from the values and joint angles in force now; each joint begins in its start state. Nothing of it reaches the daemon or the leg."),
      h("div", { class: "form" }, field("duration, s", duration, "simulated seconds"), field("seed", seed, "decides friction, sensor noise and servo turnaround")),
      what,
      job.element,
      done,
    ),
    tell() {
      setText(what, `The leg is ${live.configuration || "not configured"}, as it runs now.`);
      void judge();
    },
  };
}

/**
 * Sending, and what waits for its time.
 * @param {Context} context
 * @param {Open} open
 * @param {() => string} reason
 * @param {(doc: Doc, problems: FoundProblem[]) => void} told what is wrong with it, as it was found before it is sent
 * @returns {Part}
 */
function sendPart({ live, act, say, line }, open, reason, told) {
  const offset = h("select", {}, h("option", { value: "start" }, "from the start of the bout"), h("option", { value: "now" }, "from now"));
  const send = h("button", { type: "button", class: "primary", help: "check the text as it stands here, and let the engine make these changes at their times; those of time 0 at once" }, "Send");
  const all = h("button", { type: "button", help: "withdraw every change that still waits, whoever sent it" }, "Withdraw all");
  const rows = h("tbody", {});
  const grid = h("table", { class: "events" }, h("caption", { class: "unseen" }, "changes that wait for their time"), h("thead", {}, h("tr", {}, ["at", "what", "who", "withdraw"].map((head) => h("th", { scope: "col" }, head)))), rows);
  const none = h("p", { class: "note" });
  const more = h("p", { class: "note" });
  const place = h("div", { class: "waiting" }, grid, none, more);
  const note = h("p", { class: "note" });
  const copied = h("span", { class: "line" });
  /** @type {import("../messages.js").Pending[]} */
  let waiting = [];
  let busy = false;

  const naming = (/** @type {readonly string[]} */ [first = "", ...others]) => {
    // What waits for a rule has that first, then what it writes.
    return first.startsWith("when ") ? `${first}: ${list(others)}` : list([first, ...others]);
  };
  const list = (/** @type {readonly string[]} */ names) => (names.length > 4 ? `${names.slice(0, 4).join(", ")} and ${names.length - 4} more` : names.join(", "));
  const nameOf = (/** @type {import("../messages.js").Pending} */ { names, time_s: at, author }) => `${naming(names)} at ${clock(at, 2)}, of ${author}`;
  const ask = async () => {
    if (busy || !live.open || !live.model) return;
    busy = true;
    try {
      waiting = await live.ask("pending");
    } catch (error) {
      setText(more, why(error));
      return;
    } finally {
      busy = false;
    }
    grid.hidden = !waiting.length;
    setText(none, waiting.length ? "" : "nothing waits for its time, or for a rule");
    setText(more, waiting.length > MOST_ROWS ? `and ${waiting.length - MOST_ROWS} more` : "");
    keyed(rows, waiting.slice(0, MOST_ROWS), (item) => JSON.stringify(item), (item) => {
      const button = h("button", { type: "button", class: "small", disabled: !live.mayBegin, "aria-label": `Withdraw ${nameOf(item)}` }, "Withdraw");
      pressOnce(button, () => withdraw(item));
      return h("tr", {}, [item.names[0]?.startsWith("when ") ? `armed from ${clock(item.time_s, 2)}` : clock(item.time_s, 2), naming(item.names), item.author, button].map((cell) => h("td", {}, cell)));
    });
  };
  const withdraw = async (/** @type {import("../messages.js").Pending} */ item) => {
    const { request } = item;
    await act("forget", { request }, line("forget", {}, [String(request)]), (answer) => (answer.forgotten ? `withdrawn: ${nameOf(item)}` : `${nameOf(item)}: not withdrawn, it was made or withdrawn before`));
    await ask();
  };
  pressOnce(all, async () => {
    const listed = waiting.slice();
    const named = [...new Set(listed.flatMap(({ names }) => names))];
    await act("forget", { request: "all" }, line("forget", {}, ["all"]), ({ forgotten }) => `withdrawn: ${forgotten === listed.length ? "" : `${forgotten}, where ${listed.length} were listed: `}${naming(named)}`);
    await ask();
  });
  const sendLine = () => {
    const file = `${open.doc?.name ?? "script"}.xml`;
    return byHand(line("script", { now: offset.value === "now" }, [file]), file);
  };
  /** Say why what was checked can not be sent: it has errors, or is not what is shown. */
  const objection = async (/** @type {Doc} */ doc, /** @type {string} */ text, /** @type {string} */ from) => {
    const { model } = live;
    if (sizeOf(doc) > MOST_BYTES) return TOO_LONG;
    const problems = /** @type {FoundProblem[]} */ (await live.ask("validate", { text }));
    if (open.doc !== doc || open.text !== text) return "the text was changed while it was checked: look at it, and send it again";
    if (offset.value !== from || model !== live.model) return "something else was chosen while it was checked: look at it, and send it again";
    told(doc, problems);
    const wrong = problems.find(({ severity }) => severity === "error");
    if (wrong) return `line ${wrong.line}: ${problemText(wrong)}`;
    return live.mayBegin ? "" : reason();
  };
  pressOnce(send, async () => {
    const { doc, text } = open;
    const from = offset.value;
    if (!doc) return;
    setText(note, "checking it \u2026");
    const not = await objection(doc, text, from).catch(why);
    if (not) return say(`${doc.name} was not sent: ${not}`, "bad", sendLine());
    await act("script", { text, offset: from }, sendLine(), (answer) => {
      const later = answer.requests?.length ?? 0;
      const refused = (answer.refused ?? []).map((/** @type {any} */ each) => `${each.name}: ${each.reason}`);
      return [`sent ${doc.name}: ${counted(answer.applied.length, "value")} written`, later ? `${counted(later, "changeset")} wait` : "", refused.length ? `NOT WRITTEN: ${refused.join("; ")}` : ""].filter(Boolean).join(", ");
    });
    await ask();
  });
  offset.addEventListener("change", () => fill(copied, copyButton(sendLine())));
  return {
    title: "Send",
    forScripts: true,
    element: h("div", {}, h("div", { class: "toolbar" }, h("label", { class: "inline" }, "its times count ", offset), send, copied), note, h("h2", {}, "What waits ", all), place),
    show: () => {
      fill(copied, copyButton(sendLine()));
      return ask();
    },
    tell() {
      const wrong = open.doc?.problems.some(({ severity }) => severity === "error");
      send.disabled = !live.mayBegin || !live.status?.ready;
      all.disabled = !live.mayBegin || !waiting.length;
      for (const button of rows.querySelectorAll("button")) button.disabled = !live.mayBegin;
      setClass(note, "problems", !!wrong);
      setText(note, [live.mayBegin ? "" : reason(), wrong ? "it has errors, and will be refused" : "", live.status?.bout ? "" : "no bout runs: what it changes later waits for one"].filter(Boolean).join("; "));
      void ask();
    },
  };
}

// What was done: a table of data directories, and one of them opened.

import { fill, h, setText } from "../dom.js";
import { clock, counted } from "../format.js";
import { Refused } from "../session.js";
import { boutView } from "./bout.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */
/** @typedef {{id?: string, name: string, configuration: string, script: string, started: string, duration_s: number | null,
 *   state?: string, outcomes: (string | {what: string})[] | null, labels: Record<string, string>, notes: string[],
 *   losses?: Record<string, number>, clock: string, thumbnail: boolean, problem?: string | null}} BoutEntry */

const TYPED_MS = 250;

/** What is in the address of a bout. @param {BoutEntry} entry */
export const idOf = (entry) => entry.id ?? encodeURIComponent(entry.name);

/**
 * @param {Context} context
 * @returns {Page}
 */
export function boutsPage(context) {
  const { api, say } = context;
  const search = h("input", { type: "search", placeholder: "search names, labels, notes", "aria-label": "search bouts", help: "show only bouts with these words in name, configuration, script, labels, notes or what was seen" });
  const count = h("p", { class: "note", role: "status" });
  const again = h("button", { type: "button", help: "read the folder again" }, "Read again");
  const body = h("tbody", {});
  const compare = h("button", { type: "button", disabled: true, help: "lay two bouts over each other" }, "Compare two");
  /** @type {Set<string>} */
  const chosen = new Set();
  const list = h(
    "div",
    { class: "bout-list" },
    h("div", { class: "toolbar" }, search, again, compare, count),
    h(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": "bouts, newest first", help: "a click on its name opens a bout; tick two to compare them; the picture is the foot's path from above" },
      h(
        "table",
        { class: "bouts" },
        h("caption", { class: "unseen" }, "bouts, newest first"),
        h("thead", {}, h("tr", {}, ["two", "picture", "bout", "when", "lasted", "seen", "labels and notes"].map((head) => h("th", { scope: "col" }, head)))),
        body,
      ),
    ),
  );
  const place = h("div", { class: "bout-place" });
  const element = h("div", { class: "page page-bouts" }, h("h1", { class: "unseen" }, "Bouts"), list, place);
  /** @type {ReturnType<typeof boutView> | null} */
  let opened = null;
  /** @type {AbortController | null} */
  let asking = null;
  /** @type {string[]} */
  let pictures = [];

  const mark = () => {
    compare.disabled = chosen.size !== 2;
    setText(compare, chosen.size === 1 ? "Compare: one more" : "Compare two");
  };
  compare.addEventListener("click", () => context.go(`bouts/${[...chosen].join("/with/")}`));

  const ask = async () => {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    try {
      const words = search.value.trim();
      const told = await api.json(`bouts${words ? `?q=${encodeURIComponent(words)}` : ""}`, { signal });
      const bouts = /** @type {BoutEntry[]} */ (Array.isArray(told) ? told : told.bouts);
      pictures.forEach((picture) => URL.revokeObjectURL(picture));
      pictures = [];
      chosen.clear();
      wanted = [];
      rows.clear();
      watcher.disconnect();
      mark();
      fill(body, ...bouts.map((entry) => row(entry)));
      setText(count, `${counted(bouts.length, "bout")}${told.whole === false ? " of the newest; nuc ls lists all" : ""}`);
      if (!bouts.length) fill(body, h("tr", {}, h("td", { colspan: 7 }, words ? "no bout has these words" : "there are no bouts yet")));
    } catch (error) {
      if (error instanceof Refused) setText(count, error.message);
      else if (!signal.aborted) throw error;
    }
  };

  // Pictures are drawn, and logs judged, only for rows that are looked at, one after the other.
  /** @type {BoutEntry[]} */
  let wanted = [];
  let busy = false;
  /** @type {Map<string, {entry: BoutEntry, image: HTMLImageElement, seen: HTMLElement}>} */
  const rows = new Map();
  const watcher = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      const known = rows.get(/** @type {HTMLElement} */ (target).dataset.id ?? "");
      if (!isIntersecting || !known) continue;
      watcher.unobserve(target);
      wanted.push(known.entry);
    }
    void look();
  });
  const look = async () => {
    if (busy) return;
    busy = true;
    for (let entry = wanted.shift(); entry; entry = wanted.shift()) {
      const id = idOf(entry);
      const known = rows.get(id);
      const signal = asking?.signal;
      if (!known || known.entry !== entry) continue;
      try {
        if (entry.thumbnail) {
          const picture = await api.blob(`bouts/${id}/thumbnail.png`, signal);
          pictures.push(picture);
          known.image.src = picture;
        }
        if (!entry.outcomes && entry.thumbnail) {
          setText(known.seen, "reading \u2026");
          const told = await api.json(`bouts/${id}/seen`, { signal });
          setText(known.seen, outcomes(told.outcomes));
        }
      } catch {
        // A bout without a picture is listed all the same.
        known.image.hidden = !known.image.src;
        setText(known.seen, entry.outcomes ? outcomes(entry.outcomes) : "–");
      }
    }
    busy = false;
  };

  /** @param {BoutEntry} entry */
  const row = (entry) => {
    const id = idOf(entry);
    const box = h("input", { type: "checkbox", "aria-label": `compare ${entry.name}`, disabled: !!entry.problem });
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(id);
      else chosen.delete(id);
      mark();
    });
    const image = h("img", { alt: "", width: 96, height: 54 });
    const seen = h("span", {}, entry.problem ? `\u26a0 ${entry.problem}` : outcomes(entry.outcomes));
    rows.set(id, { entry, image, seen });
    const lost = Object.values(entry.losses ?? {}).reduce((sum, count) => sum + count, 0);
    const line = h(
      "tr",
      { class: entry.problem ? "broken" : "", "data-id": id },
      h("td", {}, box),
      h("td", { class: "thumbnail" }, entry.thumbnail ? image : null),
      h("td", {}, h("a", { href: `#bouts/${id}` }, entry.name), h("small", {}, [entry.configuration, entry.script?.replace(/\.xml$/, "")].filter(Boolean).join(", "))),
      h("td", { class: "number" }, when(entry.started)),
      h("td", { class: "number" }, clock(entry.duration_s, 1), h("small", {}, entry.clock ?? "")),
      h("td", {}, seen, h("small", {}, [entry.state && entry.state !== "complete" ? `\u26a0 ${entry.state}` : "", lost ? `\u26a0 ${lost} records lost` : ""].filter(Boolean).join(", "))),
      h("td", { class: "labels" }, Object.entries(entry.labels ?? {}).map(([key, text]) => h("span", { class: "label" }, `${key} = ${text}`)), (entry.notes ?? []).map((text) => h("small", {}, text))),
    );
    watcher.observe(line);
    return line;
  };

  again.addEventListener("click", () => void ask());
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => void ask(), TYPED_MS);
  });

  return {
    element,
    show(rest) {
      if (!rest) {
        opened?.close();
        opened = null;
        fill(place);
        list.hidden = false;
        void ask();
        return;
      }
      const [first, second] = rest.split("/with/");
      list.hidden = true;
      opened?.close();
      opened = boutView(context, first, second ?? "");
      fill(place, opened.element);
      void opened.open().catch((error) => {
        say(String(error instanceof Error ? error.message : error), "bad");
      });
    },
    hide() {
      asking?.abort();
      opened?.pause();
    },
    frame: (now) => opened?.frame(now),
  };
}

/**
 * What was seen, in the order in which it was, each once in a row.
 * @param {BoutEntry["outcomes"] | undefined} found
 */
function outcomes(found) {
  const words = (found ?? []).map((outcome) => (typeof outcome === "string" ? outcome : outcome.what));
  return words.filter((word, k) => word !== words[k - 1]).join(", ") || "–";
}

/**
 * When something began, as a date for people; what is no date stays as it is.
 * @param {string} text
 */
export function when(text) {
  const moment = new Date(text);
  if (!text || Number.isNaN(moment.getTime())) return text ?? "";
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())} ${two(moment.getHours())}:${two(moment.getMinutes())}`;
}

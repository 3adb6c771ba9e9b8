// A text that is edited: numbered lines, problems at theirs, names that are offered. A textarea, which readers of screens know.

import { fill, h, keyed, setAttribute, setText } from "./dom.js";
import { counted } from "./format.js";
import { lineOf, lineStarts, newLine, shifted } from "./xmltext.js";

/** @typedef {{severity: string, line: number, what: string, expected: string, hint: string}} Problem */
/** @typedef {{from: number, offers: import("./xmltext.js").Offer[]}} Offers */

const LINE = 18;
/** Height of a line, px: as the style sheet has it. */
const PAD = 4;
const MOST_LISTED = 200;

/** What is wrong, in a sentence. @param {Problem} problem */
export const problemText = ({ what, expected, hint }) => `${what}${expected ? `; expected ${expected}` : ""}${hint ? ` (${hint})` : ""}`;

export class Editor {
  /**
   * @param {{label: string, changed: () => void, save: () => void, offers: (text: string, caret: number) => Offers}} hooks
   */
  constructor(hooks) {
    this.hooks = hooks;
    /** @type {Problem[]} */
    this.problems = [];
    this.starts = [0];
    this.chosen = 0;
    /** @type {Offers} */
    this.offered = { from: 0, offers: [] };
    this.area = h("textarea", {
      "aria-label": hooks.label,
      class: "editor-text",
      wrap: "off",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      "aria-autocomplete": "list",
      "aria-controls": "editor-offers",
      help: "Ctrl+Space offers names, Ctrl+] and Ctrl+[ indent, Ctrl+S saves, F8 goes to the next problem; Tab leaves the editor",
    });
    this.numbers = h("div", { class: "editor-numbers", "aria-hidden": "true" });
    this.notes = h("div", { class: "editor-notes", "aria-hidden": "true" });
    this.menu = h("ul", { class: "editor-offers", id: "editor-offers", role: "listbox", "aria-label": "names", hidden: true });
    this.said = h("p", { class: "unseen", role: "status" });
    this.element = h("div", { class: "editor" }, this.numbers, h("div", { class: "editor-page" }, this.area, this.notes, this.menu), this.said);
    this.list = h("ul", { class: "problem-list", "aria-label": "problems" });
    this.counts = h("p", { class: "note" });
    /** What was said of problems last; null before anything was. @type {string | null} */
    this.told = null;
    this.area.addEventListener("input", () => this.changed());
    this.area.addEventListener("scroll", () => this.draw(), { passive: true });
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("blur", () => this.close());
    this.area.addEventListener("pointerdown", () => this.close());
    new ResizeObserver(() => this.draw()).observe(this.area);
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.area.scrollTop = this.area.scrollLeft = 0;
    this.starts = lineStarts(this.text);
    this.close();
    this.tell([]);
    this.told = null;
    setText(this.said, "");
    setText(this.counts, "");
  }

  /**
   * Say what was found, to who listens: once, until it is something else.
   * @param {string} [unchecked] why nothing was
   */
  announce(unchecked = "") {
    const [first] = this.problems;
    const words = unchecked || `${this.counts.textContent}${first ? `, the first at line ${first.line}: ${problemText(first)}` : ""}`;
    if (words === this.told) return;
    this.told = words;
    setText(this.said, words);
  }

  changed() {
    this.starts = lineStarts(this.text);
    if (!this.menu.hidden) this.offer();
    this.draw();
    this.hooks.changed();
  }

  /**
   * Show what is wrong.
   * @param {Problem[]} problems
   */
  tell(problems) {
    this.problems = [...problems].sort((a, b) => a.line - b.line);
    const errors = problems.filter(({ severity }) => severity === "error").length;
    const words = [errors ? counted(errors, "error") : "", problems.length - errors ? counted(problems.length - errors, "warning") : ""].filter(Boolean);
    setText(this.counts, words.join(", ") || "nothing is wrong");
    /** @type {[Problem | null, number][]} */
    const rows = this.problems.slice(0, MOST_LISTED).map((problem, k) => [problem, k]);
    if (problems.length > MOST_LISTED) rows.push([null, problems.length - MOST_LISTED]);
    keyed(this.list, rows, (row) => JSON.stringify(row), ([problem, more]) =>
      problem
        ? h(
            "li",
            { class: problem.severity },
            h("button", { type: "button", class: "link", on: { click: () => this.jump(problem.line) } }, problem.line ? `line ${problem.line}` : "document"),
            ` ${problem.severity}: ${problemText(problem)}`,
          )
        : h("li", {}, `and ${more} more`),
    );
    setAttribute(this.area, "aria-invalid", errors ? "true" : "false");
    this.draw();
  }

  /**
   * Put the caret at a line, in sight.
   * @param {number} line from 1
   */
  jump(line) {
    const at = Math.max(0, Math.min(this.starts.length - 1, line - 1));
    this.area.focus();
    this.area.setSelectionRange(this.starts[at], (this.starts[at + 1] ?? this.text.length + 1) - 1);
    this.area.scrollTop = Math.max(0, at * LINE - this.area.clientHeight / 3);
    this.area.scrollLeft = 0;
    this.draw();
  }

  /** Draw what is in sight beside and over the text. */
  draw() {
    const { scrollTop, scrollLeft, clientHeight } = this.area;
    if (!clientHeight) return;
    const first = Math.max(0, Math.floor((scrollTop - PAD) / LINE));
    const last = Math.min(this.starts.length, first + Math.ceil(clientHeight / LINE) + 1);
    /** @type {Map<number, Problem[]>} */
    const here = new Map();
    for (const problem of this.problems) {
      const line = Math.max(1, problem.line);
      if (line > first && line <= last) here.set(line, [...(here.get(line) ?? []), problem]);
    }
    const numbers = [];
    const notes = [];
    for (let line = first + 1; line <= last; line += 1) {
      const found = here.get(line);
      const top = (line - 1) * LINE + PAD - scrollTop;
      const severity = found?.some((problem) => problem.severity === "error") ? "error" : found ? "warning" : "";
      const number = h("span", { class: severity }, severity ? `${severity === "error" ? "\u2715" : "!"} ${line}` : String(line));
      number.style.top = `${top}px`;
      numbers.push(number);
      if (!found) continue;
      const long = (this.starts[line] ?? this.text.length + 1) - 1 - this.starts[line - 1];
      const note = h("span", { class: `editor-note ${severity}` }, found.map(problemText).join("; "));
      note.style.top = `${top}px`;
      // Behind the line, never over what is written; who has no room for it has the list.
      note.style.left = `calc(${long + 3}ch - ${scrollLeft}px)`;
      notes.push(note);
    }
    this.numbers.replaceChildren(...numbers);
    this.notes.replaceChildren(...notes);
  }

  // --- keys ---

  /** @param {KeyboardEvent} event */
  key(event) {
    const command = event.ctrlKey || event.metaKey;
    /** @type {Record<string, () => void>} */
    const menu = {
      ArrowDown: () => this.choose(this.chosen + 1),
      ArrowUp: () => this.choose(this.chosen - 1),
      PageDown: () => this.choose(Math.min(this.offered.offers.length - 1, this.chosen + 8)),
      PageUp: () => this.choose(Math.max(0, this.chosen - 8)),
      Enter: () => this.take(),
      Escape: () => this.close(),
    };
    /** @type {Record<string, () => void>} */
    const plain = { Enter: () => this.insert(newLine(this.text, this.area.selectionStart)), F8: () => this.nextProblem() };
    /** @type {Record<string, () => void>} */
    const commands = { " ": () => this.offer(true), s: () => this.hooks.save(), "]": () => this.shift(false), "[": () => this.shift(true) };
    const act = command ? commands[event.key] : (!this.menu.hidden && menu[event.key]) || plain[event.key];
    if (!act || event.altKey || event.isComposing) return;
    event.preventDefault();
    act();
  }

  /**
   * Put a text in place of what is selected, so that the browser can undo it.
   * @param {string} text
   */
  insert(text) {
    const { area } = this;
    if (!document.execCommand("insertText", false, text)) {
      area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
      this.changed();
    }
  }

  /** @param {boolean} out */
  shift(out) {
    const { area } = this;
    const done = shifted(this.text, area.selectionStart, area.selectionEnd, out);
    area.setSelectionRange(done.begin, done.end);
    this.insert(done.text);
    area.setSelectionRange(done.begin, done.begin + done.text.length);
  }

  nextProblem() {
    const here = lineOf(this.starts, this.area.selectionStart);
    const next = this.problems.find(({ line }) => line > here) ?? this.problems[0];
    if (!next) return;
    this.jump(next.line);
    setText(this.said, `line ${next.line}: ${problemText(next)}`);
  }

  // --- names that are offered ---

  /** @param {boolean} [asked] */
  offer(asked = false) {
    const caret = this.area.selectionStart;
    this.offered = this.hooks.offers(this.text, caret);
    const { offers } = this.offered;
    if (!offers.length) {
      this.close();
      if (asked) setText(this.said, "there is nothing to offer here");
      return;
    }
    fill(
      this.menu,
      ...offers.map(({ text, detail }, k) => {
        const row = h("li", { id: `editor-offer-${k}`, role: "option" }, h("span", {}, text), detail ? h("small", {}, detail) : null);
        // The editor keeps the focus.
        row.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          this.choose(k);
          this.take();
        });
        return row;
      }),
    );
    const line = lineOf(this.starts, caret);
    const column = this.offered.from - this.starts[line - 1];
    const top = line * LINE + PAD - this.area.scrollTop;
    this.menu.hidden = false;
    // Below the line where there is room, else above it.
    const above = top + this.menu.offsetHeight > this.area.clientHeight && top > this.area.clientHeight / 2;
    this.menu.style.top = `${above ? top - LINE - this.menu.offsetHeight : top}px`;
    this.menu.style.left = `min(calc(${column}ch - ${this.area.scrollLeft}px), 100% - ${this.menu.offsetWidth}px)`;
    this.choose(0);
    if (asked) setText(this.said, `${counted(offers.length, "name")}: arrows choose, Enter takes, Escape leaves`);
  }

  /** @param {number} k */
  choose(k) {
    const count = this.offered.offers.length;
    this.chosen = (k + count) % count;
    [...this.menu.children].forEach((row, at) => setAttribute(row, "aria-selected", String(at === this.chosen)));
    this.menu.children[this.chosen]?.scrollIntoView({ block: "nearest" });
    setAttribute(this.area, "aria-activedescendant", `editor-offer-${this.chosen}`);
  }

  take() {
    const { from, offers } = this.offered;
    const { text } = offers[this.chosen];
    this.close();
    this.area.setSelectionRange(from, this.area.selectionEnd);
    this.insert(text);
    // Between the quotes of an attribute.
    if (text.endsWith('=""')) {
      const inside = this.area.selectionStart - 1;
      this.area.setSelectionRange(inside, inside);
    }
  }

  close() {
    this.menu.hidden = true;
    setAttribute(this.area, "aria-activedescendant", null);
  }
}

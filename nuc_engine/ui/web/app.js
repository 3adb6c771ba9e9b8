// The frame around every page: what the engine is doing, whether what is shown is live, and the red button.

import { ctlLine } from "./ctl.js";
import { Desk } from "./desk.js";
import { copyButton, everyFrame, fill, h, helpOf, holdButton, keyed, roving, setAttribute, setClass, setHelp, setText } from "./dom.js";
import { clock, number } from "./format.js";
import { Live } from "./live.js";
import { benchPage } from "./pages/bench.js";
import { boutsPage } from "./pages/bouts.js";
import { diagramsPage } from "./pages/diagrams.js";
import { enginePage } from "./pages/engine.js";
import { eventsPage } from "./pages/events.js";
import { experimentsPage } from "./pages/experiments.js";
import { jointsPage } from "./pages/joints.js";
import { legPage } from "./pages/leg.js";
import { scriptsPage } from "./pages/scripts.js";
import { tracesPage } from "./pages/traces.js";
import { valuesPage } from "./pages/values.js";
import { STRANGER } from "./prove.js";
import { Api, openSession, Refused } from "./session.js";
import { offText, onPress, StopLine, Verdict } from "./stop.js";

/**
 * What a page gets. `act` asks the daemon and tells in the footer what came of it, with the line for a shell.
 * @typedef {{live: Live, api: Api, desk: Desk, act: (method: string, params: Record<string, unknown>, line: string,
 *   told?: (result: any) => string) => Promise<any>, say: (text: string, kind?: "good" | "bad" | "", line?: string) => void,
 *   line: (subcommand: string, options?: Record<string, import("./ctl.js").Option>, words?: string[]) => string,
 *   armButton: () => HTMLButtonElement, go: (path: string) => void}} Context
 */

/**
 * A page: `frame` is called before each picture of the screen while it is shown, `show` with the rest of its address.
 * @typedef {{element: HTMLElement, show?: (rest: string) => void, hide?: () => void, frame?: (now: number) => void}} Page
 */

const id = (/** @type {string} */ name) => /** @type {HTMLElement} */ (document.getElementById(name));

const THEMES = ["system", "light", "dark"];
const SLOW_MS = 100;
/** Numbers in the frame change ten times a second: faster, nobody reads them. */
const FAILED_MS = 1000;
/** Pictures are drawn again when none has failed for so long. */

const PAGES = [
  { path: "engine", title: "Engine", make: enginePage, needs: "daemon", help: "what the daemon runs: configurations, bouts, arming, what is kept, the machine" },
  { path: "leg", title: "Leg", make: legPage, needs: "daemon", help: "the leg in space, its joints, muscles and sensors; a camera; bouts on the virtual clock" },
  { path: "joints", title: "Joints", make: jointsPage, needs: "daemon", help: "rules, muscles and motors of all joints, and what can be turned of them" },
  { path: "traces", title: "Traces", make: tracesPage, needs: "daemon", help: "what changes with time, each cycle of the last ten minutes" },
  { path: "diagrams", title: "Diagrams", make: diagramsPage, needs: "daemon", help: "which events promote which actions, where rules hold, which states follow: live" },
  { path: "scripts", title: "Scripts", make: scriptsPage, needs: "daemon", help: "scripts and configurations: written, checked, tried, sent" },
  { path: "bouts", title: "Bouts", make: boutsPage, needs: "bouts", help: "what was recorded: leg and traces in step, steps in numbers, figures, movies, replays" },
  { path: "experiments", title: "Experiments", make: experimentsPage, needs: "bouts", help: "the experiments of chapter 7: what was seen then, and with this program" },
  { path: "bench", title: "Bench", make: benchPage, needs: "daemon", help: "joints by hand, poses, faults, buses and registers" },
  { path: "events", title: "Events", make: eventsPage, needs: "daemon", help: "what happened, and a mark of yours" },
  { path: "values", title: "All values", make: valuesPage, needs: "daemon", help: "every value: at the start, saved, now, and who changed it" },
];

class App {
  /** @param {string} session */
  constructor(session) {
    this.live = new Live(session);
    this.api = new Api(session, () => this.live.proven());
    this.stopLine = new StopLine(session);
    this.verdict = new Verdict();
    /** @type {Map<string, Page>} */
    this.made = new Map();
    /** @type {Page | null} */
    this.page = null;
    this.slowAt = 0;
    this.wasLive = true;
    /** Why pictures are no longer drawn, "" where they are. */
    this.failure = "";
    this.failedAt = this.failedLastAt = NaN;
    /** What this page's own work took in the last frames, ms: for tests, and for who wonders. */
    this.frameMs = new Float64Array(600);
    this.frames = 0;
    /** @type {Context} */
    this.context = {
      live: this.live,
      api: this.api,
      desk: new Desk(this.live),
      act: (method, params, line, told) => this.act(method, params, line, told),
      say: (text, kind, line) => this.say(text, kind, line),
      line: (subcommand, options, words) => ctlLine(this.live.welcome?.way ?? [], subcommand, options, words),
      armButton: () => this.armButton(),
      go: (path) => {
        location.hash = path;
      },
    };
    this.makeNav();
    this.makeState();
    this.makeStop();
    this.makeTheme();
    this.makeHelp();
    addEventListener("hashchange", () => this.route());
    this.live.addEventListener("welcome", () => {
      this.makeNav();
      this.route();
    });
    this.live.addEventListener("layout", () => setText(id("leg-name"), this.live.configuration || "nuc"));
    everyFrame((now) => this.frame(now), (error) => this.fail(error));
    // Pages that are not looked at get no frames, and their title still tells.
    setInterval(() => {
      this.tellLiveness(performance.now());
      this.tellStop(performance.now());
    }, 250);
  }

  // --- pages ---

  get pages() {
    const welcome = this.live.welcome;
    return PAGES.filter(({ needs }) => (needs === "bouts" ? welcome?.bouts !== false : welcome?.daemon !== null));
  }

  makeNav() {
    const apart = (/** @type {MouseEvent} */ event, /** @type {string} */ path) => {
      if (!(event.ctrlKey || event.metaKey || event.button === 1)) return;
      event.preventDefault();
      this.api.open(path).catch((error) => this.say(String(error.message), "bad"));
    };
    const link = (/** @type {typeof PAGES[number]} */ { path, title, help }) => {
      const on = { click: (/** @type {MouseEvent} */ event) => apart(event, path), auxclick: (/** @type {MouseEvent} */ event) => apart(event, path) };
      return h("a", { href: `#${path}`, tabindex: "-1", on, help }, title);
    };
    // Who stands there when the server is back stays there.
    keyed(id("nav"), this.pages, ({ path }) => path, link);
    if (!this.roving) roving(id("nav"));
    this.roving = true;
    this.markNav();
  }

  markNav() {
    const here = location.hash.slice(1).split("/")[0];
    for (const link of id("nav").querySelectorAll("a")) {
      const current = link.getAttribute("href") === `#${here}`;
      setAttribute(link, "aria-current", current ? "page" : null);
      setAttribute(link, "tabindex", current ? "0" : "-1");
    }
  }

  route() {
    const [path, ...rest] = location.hash.slice(1).split("/");
    const known = this.pages.find((page) => page.path === path) ?? this.pages[0];
    if (known.path !== path) {
      history.replaceState(null, "", `#${known.path}`);
    }
    let page = this.made.get(known.path);
    if (!page) {
      page = known.make(this.context);
      this.made.set(known.path, page);
    }
    if (page !== this.page) {
      this.page?.hide?.();
      this.page = page;
      fill(id("main"), page.element);
      id("main").scrollTop = 0;
    }
    page.show?.(rest.join("/"));
    document.title = `${known.title} \u2013 nuc`;
    setAttribute(document.body, "data-page", known.path);
    this.title = known.title;
    this.markNav();
  }

  // --- what stands above every page ---

  makeState() {
    const cell = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ help, /** @type {Node[]} */ ...more) =>
      h("div", { class: `cell cell-${name}`, help }, h("dt", {}, label), h("dd", { class: "live" }, h("span", { id: `is-${name}` }, "–"), ...more));
    this.control = h("button", { type: "button", class: "small", on: { click: () => this.takeControl() } }, "Take control");
    this.force = holdButton("Hold to take", () => this.takeControl(true), { class: "small" });
    fill(
      id("state"),
      cell("mode", "mode", "what the engine may do now; after a fault, what is latched"),
      cell("bout", "bout", "number of the bout under way"),
      cell("time", "engine time", "seconds since the bout began"),
      cell("torque", "torque", "whether servos may push; latched: nothing drives before somebody arms"),
      cell("losses", "losses", "records that were lost on their way to the disk, or to this page, since the daemon began"),
      cell("control", "control", "who may change things; everybody may watch, and take the torque off", this.control, this.force.button),
    );
  }

  async takeControl(force = false) {
    if (this.live.inControl) await this.act("release_control", {}, this.context.line("release"), () => "control is given back");
    else await this.act("take_control", force ? { force } : {}, this.context.line("take", { force }), () => "you have control");
  }

  tellState() {
    const { live } = this;
    const { status } = live;
    const reason = status?.latched ? `latched: ${status.latch_reason || "by the daemon"}; arm to go on` : "";
    // Who comes later must see that the leg feels what is not there.
    const clamped = Object.keys(live.clamps);
    setText(id("latchtext"), [reason, clamped.length ? `CLAMPED: ${clamped.join(", ")}` : ""].filter(Boolean).join("; "));
    setText(id("is-mode"), status?.mode ?? "–");
    setAttribute(id("is-mode"), "data-mode", status?.mode ?? null);
    const bout = status?.bout ?? 0;
    setText(id("is-bout"), bout ? String(bout) : "none");
    const time = this.engineTime();
    setText(id("is-time"), clock(time, time !== null && time > 3600 ? 0 : 1));
    setText(id("is-torque"), status ? (status.torque ? "on" : "off") : "–");
    setAttribute(id("is-torque"), "data-on", status?.torque ? "yes" : "no");
    const lost = Object.values(status?.losses ?? {}).reduce((sum, count) => sum + count, 0);
    const losses = [lost ? `${lost}` : "", live.missed ? `${live.missed} here` : ""].filter(Boolean).join(", ");
    setText(id("is-losses"), losses || (status ? "none" : "–"));
    setAttribute(id("is-losses"), "data-bad", losses ? "yes" : "no");
    const who = status?.control ?? "";
    setText(id("is-control"), live.inControl ? "you" : who || (status ? "nobody" : "–"));
    setHelp(id("is-control"), who);
    if (this.control && this.force) {
      const other = !!who && !live.inControl;
      setText(this.control, live.inControl ? "Give back" : "Take control");
      this.control.hidden = other;
      this.force.button.hidden = !other;
    }
  }

  engineTime() {
    const { live } = this;
    if (!live.status?.bout || !live.ring.end) return live.status?.engine_time_s ?? null;
    const start = live.starts.get(live.status.bout);
    return start === undefined ? live.status.engine_time_s ?? null : live.ring.at(live.timeColumn, live.ring.end - 1) - start;
  }

  // --- live or not ---

  /** @param {number} now */
  tellLiveness(now) {
    const { live } = this;
    if (live.welcome && live.welcome.daemon === null && !this.failure) {
      setText(id("livetext"), live.open ? "bouts only: no daemon is watched" : live.stranger ? STRANGER : "the server of this page does not answer");
      document.body.classList.add("no-daemon");
      setClass(document.body, "stale", !live.open);
      id("notlive").hidden = true;
      return;
    }
    const is = this.failure ? { live: false, sinceMs: now - this.failedAt, why: this.failure } : live.liveness(now);
    setClass(document.body, "stale", !is.live);
    setClass(document.body, "is-live", is.live);
    id("notlive").hidden = is.live;
    if (is.live) {
      const every = live.welcome?.every_cycle === false ? "not every cycle" : "every cycle";
      const age = Number.isFinite(live.ageMs) && live.columns.length ? `, ${number(Math.max(0, live.ageMs), 0)} ms old` : "";
      const without = live.model ? "live, without records of each cycle" : "live, nothing is configured";
      setText(id("livetext"), live.columns.length ? `live, ${every}${age}` : without);
    } else {
      setText(id("livetext"), `NOT LIVE since ${number(is.sinceMs / 1000, 1)} s`);
      setText(id("notlive-since"), `NOT LIVE since ${number(is.sinceMs / 1000, 1)} s:`);
      setText(id("notlive-why"), is.why);
    }
    if (is.live !== this.wasLive) {
      setText(id("alarm"), is.live ? "live again" : `not live: ${is.why}`);
      document.title = `${is.live ? "" : "NOT LIVE "}${this.title ?? ""} \u2013 nuc`;
      this.wasLive = is.live;
    }
  }

  // --- the red button ---

  makeStop() {
    const ready = h("span", { class: "stop-ready", id: "stop-ready" }, "not connected");
    const button = h(
      "button",
      {
        type: "button",
        id: "torque-off",
        class: "torque-off",
        "aria-describedby": "stop-ready",
        "aria-keyshortcuts": "Control+.",
        help: "take the torque off all servos at once, whoever has control; it stays off until somebody arms. Not an emergency stop: that is the switch of the supply",
      },
      h("span", { class: "stop-label" }, "Torque off"),
      h("kbd", {}, "Ctrl ."),
    );
    onPress(button, (by) => this.torqueOff(by === "key" ? "the button of nuc ui, by key" : "the button of nuc ui"));
    addEventListener(
      "keydown",
      (event) => {
        if (!(event.ctrlKey || event.metaKey) || event.key !== "." || event.repeat) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        this.torqueOff("Ctrl+. in nuc ui");
      },
      { capture: true },
    );
    const answer = h("span", { class: "stop-answer", id: "stop-answer", role: "status", "aria-live": "assertive" });
    fill(id("stop"), button, ready, answer);
    this.stopLine.addEventListener("answered", () => this.tellStopAnswer());
    this.stopLine.addEventListener("change", () => this.tellStop(performance.now()));
  }

  /** @param {string} why */
  torqueOff(why) {
    this.verdict.asked();
    setText(id("stop-answer"), "torque off asked for \u2026");
    setAttribute(id("stop-answer"), "data-kind", "asked");
    this.stopLine.off(why, () => this.live.ask("off", { why }), (text, kind) => this.tellOff(text, kind));
  }

  tellStopAnswer() {
    const { answer, failed } = this.stopLine;
    if (answer) this.tellOff(offText(answer), answer.unconfirmed.length || answer.torque ? "failed" : "done");
    else if (failed) this.tellOff(`FAILED: ${failed}: cut the supply`, "failed");
  }

  /**
   * @param {string} text
   * @param {string} kind
   */
  tellOff(text, kind) {
    setText(id("stop-answer"), text);
    setAttribute(id("stop-answer"), "data-kind", kind);
    this.verdict.tell(kind, performance.now());
    this.say(`torque ${text}`, kind === "done" ? "good" : "bad", this.context.line("off"));
  }

  /** @param {number} now */
  tellStop(now) {
    if (this.live.welcome && this.live.welcome.daemon === null) {
      id("stop").hidden = true;
      return;
    }
    const ready = this.stopLine.ready(now);
    const way = { socket: "", ssh: ", by ssh", channel: ", by the channel" }[this.stopLine.path] ?? "";
    setText(
      id("stop-ready"),
      ready ? `ready, ${number(this.stopLine.readyMs, 0)} ms${way}` : "STOP NOT AVAILABLE: cut the supply, or `nuc ctl off`",
    );
    setClass(id("stop"), "unavailable", !ready);
    // Whoever armed again is done with the last answer.
    if (this.verdict.over(this.live.status?.latched, now)) {
      setText(id("stop-answer"), "");
      this.verdict = new Verdict();
    }
  }

  armButton() {
    const { button } = holdButton(
      "Hold 1 s to arm",
      () => void this.act("arm", {}, this.context.line("arm"), () => "armed: the joints start from where they are"),
      { help: "hold it down for a second, by pointer, Space or Enter: the engine may then drive the servos that are named" },
    );
    button.classList.add("arm");
    return button;
  }

  // --- what was done, and help ---

  /**
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @param {string} line
   * @param {(result: any) => string} [told]
   */
  async act(method, params, line, told = () => `${method}: done`) {
    try {
      const result = await this.live.ask(method, params);
      this.say(told(result), "good", line);
      return result;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(`${method}: ${error.message}`, "bad", line);
      return null;
    }
  }

  /**
   * @param {string} text
   * @param {"good" | "bad" | ""} [kind]
   * @param {string} [line] the same for a shell
   */
  say(text, kind = "", line = "") {
    const sign = { good: "\u2713 ", bad: "\u2715 ", "": "" }[kind];
    const said = id("said");
    fill(said, h("span", { class: `said-text ${kind}`, help: text }, sign + text), line ? copyButton(line, (words) => this.say(words)) : null);
  }

  makeHelp() {
    const show = (/** @type {Event} */ event) => setText(id("help"), helpOf(event.target));
    addEventListener("pointerover", show);
    addEventListener("focusin", show);
  }

  makeTheme() {
    const button = id("theme");
    let theme = localStorage.getItem("nuc-theme") ?? "system";
    const apply = () => {
      setAttribute(document.documentElement, "data-theme", theme === "system" ? null : theme);
      setText(button, { system: "\u25d0", light: "\u25cb", dark: "\u25cf" }[theme] ?? "\u25d0");
      button.setAttribute("aria-label", `colours: ${theme === "system" ? "as the system" : theme}`);
      setHelp(button, `colours: ${theme === "system" ? "as the system" : theme}; press for the next`);
      dispatchEvent(new Event("theme"));
    };
    button.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      localStorage.setItem("nuc-theme", theme);
      apply();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("theme")));
    apply();
  }

  // --- pictures of the screen ---

  /** @param {number} now */
  frame(now) {
    const began = performance.now();
    if (now - this.slowAt >= SLOW_MS) {
      this.slowAt = now;
      this.tellState();
      this.tellLiveness(began);
      this.tellStop(began);
    }
    this.page?.frame?.(now);
    if (began - this.failedLastAt > FAILED_MS) this.failure = "";
    this.frameMs[this.frames % this.frameMs.length] = performance.now() - began;
    this.frames += 1;
  }

  /**
   * What is shown stands still: nobody may take it for what is.
   * @param {unknown} error
   */
  fail(error) {
    if (!this.failure) {
      this.failedAt = performance.now();
      console.error(error);
    }
    this.failedLastAt = performance.now();
    this.failure = `this page failed: ${error instanceof Error ? error.message : error}; load it again`;
    this.tellLiveness(performance.now());
  }
}

const session = await openSession();
if (session) {
  const app = new App(session);
  app.route();
  Object.assign(globalThis, { nuc: app });
} else {
  fill(
    id("main"),
    h(
      "section",
      { class: "panel denied" },
      h("h1", {}, "This page has no key"),
      h("p", {}, "It is opened by ", h("code", {}, "nuc ui"), ", with a key that is good once and for a minute. Start it again, or open the file it names."),
    ),
  );
  setText(id("livetext"), "no key");
}

// The bench: joints by hand, poses, what went wrong and how to go on, and servos without the engine.

import { field, fill, h, keyed, pressOnce, roving, setAttribute, setClass, setHelp, setText, table } from "../dom.js";
import { dropWishes, Sender } from "../edit.js";
import { number } from "../format.js";
import { angleProblem, ModePresses, outcomeText } from "../modes.js";
import { benchTools } from "./benchtools.js";
import { armSection, lineOf, numberIn, section } from "./engine.js";

/** @typedef {import("../app.js").Context} Context */
/** @typedef {import("../app.js").Page} Page */
/** @typedef {import("../model.js").Joint & {motor: import("../model.js").Motor}} Driven */
/** @typedef {import("./engine.js").Section} Section */
/** @typedef {{name: string, does: Record<string, string>, once: string, hint: string}} Fault */
/** What the server tells of faults, counts and refusals: the engine's own words.
 * @typedef {{faults: Fault[], counts: Record<string, string>, refused: Record<string, string>, statuses: Record<string, string>,
 *   families: string[], adapters: string[]}} Known */

const SLOW_MS = 100;
const MODES = /** @type {const} */ (["muscle", "force", "position", "hold", "limp"]);
const MODE_HELP = {
  muscle: "its rules and muscles command it; they act in a bout",
  force: "the force command of its motor commands it",
  position: "the position command of its motor commands it, or it stays where it is where it has none",
  hold: "it stays where it is, whatever its muscles ask for",
  limp: "its servo is read and not driven: it can be moved by hand",
};
const RATE_DEG_S = 20;
const [SLOWEST_DEG_S, FASTEST_DEG_S] = [0.1, 10000];
const AGAIN_MS = 2000;
const STEP_DEG = 0.5;

/**
 * @param {Context} context
 * @returns {Page}
 */
export function benchPage(context) {
  /** @type {Known} */
  const known = { faults: [], counts: {}, refused: {}, statuses: {}, families: [], adapters: [] };
  const rate = h("input", { type: "number", min: SLOWEST_DEG_S, max: FASTEST_DEG_S, step: "any", value: RATE_DEG_S, inputmode: "decimal" });
  /** NaN where what is typed is no rate: nothing moves then. */
  const speed = () => {
    const typed = numberIn(rate) ?? NaN;
    return typed >= SLOWEST_DEG_S && typed <= FASTEST_DEG_S ? typed : NaN;
  };
  const joints = jointsSection(context, known, rate, speed);
  const tools = benchTools(context, known);
  const left = [joints, posesSection(context, known, speed)];
  const right = [armSection(context), faultsSection(context, known), tools];
  const sections = [...left, ...right];
  const column = (/** @type {Section[]} */ parts) => h("div", { class: "column" }, parts.map((part) => part.element));
  let asked = false;
  let askAt = Infinity;
  let slowAt = 0;
  const ask = async () => {
    if (asked) return;
    asked = true;
    try {
      Object.assign(known, await context.api.json("bench"));
      tools.known();
    } catch (error) {
      asked = false;
      askAt = performance.now() + AGAIN_MS;
      context.say(String(error instanceof Error ? error.message : error), "bad");
    }
  };
  return {
    element: h("div", { class: "page page-engine page-bench" }, h("h1", { class: "unseen" }, "Bench"), column(left), column(right)),
    show: () => {
      void ask();
      for (const part of sections) part.show?.();
    },
    frame(now) {
      if (now - slowAt < SLOW_MS) return;
      slowAt = now;
      if (now > askAt) {
        askAt = Infinity;
        void ask();
      }
      for (const part of sections) part.tell?.();
    },
  };
}

/**
 * Say why nothing can be changed now; "" where something can.
 * @param {import("../live.js").Live} live
 */
export function whyNot(live) {
  if (!live.inControl) return "take control first (above)";
  if (!live.mayBegin) return "what is shown is not live";
  return live.model ? (live.status?.ready ? "" : "no core is ready") : "nothing is configured";
}

/**
 * Say why joints can not be moved now, in the engine's words.
 * @param {import("../live.js").Live} live
 * @param {Record<string, string>} refused by mode; `latched`: in any
 */
export function whyStill(live, refused) {
  if (whyNot(live)) return whyNot(live);
  // What is refused when, the server tells.
  if (!Object.keys(refused).length) return "it is not known yet when joints may be moved";
  return refused[live.status?.mode ?? ""] ?? (live.status?.latched ? refused.latched ?? "it is latched" : "");
}

/**
 * Say why a joint can not be commanded so; "" where it can.
 * @param {Driven} joint
 * @param {string} mode
 */
export function unfit(joint, mode) {
  if (mode === "muscle" && !joint.muscles.length) return "it has no muscles";
  if (mode === "force" && !joint.motor.force_command) return "its motor has no force command";
  return "";
}

/**
 * Return how old the angle of a motor is, ms: by the records' own stamps, else as the daemon told it last.
 * @param {import("../live.js").Live} live
 * @param {string} motor
 */
export function ageOf(live, motor) {
  const stamp = live.now(`${motor}.stamp`);
  if (!Number.isFinite(stamp)) return live.joints[`motor.${motor}.age_ms`] ?? NaN;
  return stamp < 0 ? NaN : 1000 * live.now("time") - (stamp - live.originNs) / 1e6;
}

/**
 * A button that can not be pressed says why.
 * @param {HTMLButtonElement | HTMLInputElement} button
 * @param {string} why
 * @param {string} help where it can
 */
function allow(button, why, help) {
  button.disabled = !!why;
  setHelp(button, why ? `not now: ${why}` : help);
  setAttribute(button, "title", why || null);
}

/**
 * @param {Context} context
 * @param {Known} known
 * @param {HTMLInputElement} rate
 * @param {() => number} speed
 * @returns {Section}
 */
function jointsSection(context, known, rate, speed) {
  const { live, line, say } = context;
  const why = h("p", { class: "note", role: "status" });
  const list = h("div", { class: "bench-joints" });
  const limp = h("button", { type: "button" }, "All limp");
  const hold = h("button", { type: "button" }, "All hold");
  const presses = new ModePresses((joint, mode) => live.ask("joint_mode", { joint, mode }));
  /** @type {Drive} */
  const drive = async (names, mode) => {
    // A joint that gives way must not be sent on by where the slider was drawn to before.
    dropWishes();
    const all = mode === "limp" && names.length > 1;
    const words = all ? line("limp", { all: true }) : names.map((name) => line("mode", {}, [name, mode])).join(" && ");
    const outcome = await presses.press(names, mode);
    if (outcome) say(outcomeText(mode, outcome), outcome.failed.size || outcome.left.length ? "bad" : "good", words);
  };
  /** @type {Map<string, ReturnType<typeof jointRow>>} */
  const rows = new Map();
  const driven = () => /** @type {Driven[]} */ ((live.model?.joints ?? []).filter((joint) => joint.motor));
  const all = () => driven().map((joint) => joint.name);
  limp.addEventListener("click", () => void drive(all(), "limp"));
  pressOnce(hold, () => drive(all(), "hold"));
  const make = () => {
    // What was wanted of joints of another model is wanted no more.
    const joints = new Map(driven().map((joint) => [JSON.stringify(joint), joint]));
    if ([...rows.keys()].some((key) => !joints.has(key))) dropWishes();
    for (const key of rows.keys()) if (!joints.has(key)) rows.delete(key);
    keyed(list, [...joints], ([key]) => key, ([key, joint]) => {
      const row = jointRow(context, known, joint, speed, drive, presses);
      rows.set(key, row);
      return row.element;
    });
  };
  live.addEventListener("layout", make);
  make();
  return {
    element: section(
      "Joints",
      "what commands each joint, where it is to go, and what is measured beside it",
      h("div", { class: "toolbar" }, limp, hold, field("rate, deg/s", rate, "how fast joints move to an angle or a pose")),
      why,
      list,
    ),
    tell() {
      const not = whyNot(live);
      const held = whyStill(live, known.refused);
      const rateProblem = Number.isNaN(speed()) ? `the rate has to be ${SLOWEST_DEG_S} to ${FASTEST_DEG_S} deg/s` : "";
      const still = held || rateProblem;
      setText(why, not || (still ? `no joint can be moved: ${still}` : rows.size ? "keep your hands clear: joints move when you let them" : "no joint has a motor"));
      allow(limp, not, "every servo is read and not driven: the leg gives way");
      allow(hold, held, "every joint stays where it is");
      setAttribute(rate, "aria-invalid", rateProblem ? "true" : null);
      for (const row of rows.values()) row.tell(not, still);
    },
  };
}

/** Commands joints by name. @typedef {(names: string[], mode: import("../modes.js").JointMode) => Promise<void>} Drive */

/**
 * One joint: mode, angle, tweak; and what is measured.
 * @param {Context} context
 * @param {Known} known
 * @param {Driven} joint
 * @param {() => number} speed
 * @param {Drive} drive
 * @param {ModePresses} presses
 */
function jointRow({ live, act, say, line }, known, joint, speed, drive, presses) {
  const { name, motor } = joint;
  const [low, high] = motor.range_deg;
  const text = [joint.fullname, joint.description].filter(Boolean).join(": ");
  const modes = h("div", { class: "segmented", role: "group", "aria-label": `what commands ${name}` });
  const buttons = MODES.map((mode) =>
    h("button", { type: "button", class: "small", "aria-pressed": "false", on: { click: () => void drive([name], mode) } }, mode),
  );
  const asked = h("span", { class: "note mode-asked", role: "status" });
  modes.append(...buttons);
  roving(modes);

  const slider = h("input", { type: "range", class: "scrub", min: low, max: high, step: STEP_DEG, "aria-label": `angle of ${name}, degrees` });
  const typed = h("input", { type: "number", min: low, max: high, step: "any", class: "degrees", help: `where ${name} is to go; Enter sends it`, "aria-label": `angle of ${name}, degrees, typed`, inputmode: "decimal" });
  /** Where it was told to go from here; NaN while it is moved otherwise. */
  let target = NaN;
  const goLine = () => line("pose go", { rate: speed() }, [`${name}=${number(target, 1).replace("\u2212", "-")}`]);
  const sender = new Sender({
    // A drag, however many angles it goes through, is one step of undo.
    ask: (/** @type {number} */ angle, merge) => live.ask("pose", { angles: { [name]: angle }, rate_deg_s: speed(), ...(merge ? { merge } : {}) }),
    told: (_answer, angle, more) => {
      if (!more) say(`${name} goes to ${number(angle, 1)} deg`, "good", goLine());
    },
    refused: (error, _angle, more) => {
      target = NaN;
      if (!more) say(`pose: ${error.message}`, "bad", goLine());
    },
  });
  const go = (/** @type {number} */ angle) => {
    if (!Number.isFinite(angle) || slider.disabled) return;
    target = angle;
    sender.want(target);
  };
  const range = h("span", { class: "muted" }, `deg, ${number(low, 0)} to ${number(high, 0)}`);
  slider.addEventListener("input", () => {
    typed.value = slider.value;
    go(slider.valueAsNumber);
  });
  slider.addEventListener("change", () => sender.end());
  // Enter alone sends what is typed: who only leaves the field has not decided.
  typed.addEventListener("keydown", (event) => {
    if (event.key === "Escape") typed.value = slider.value;
    if (event.key !== "Enter" || event.repeat || event.isComposing) return;
    event.preventDefault();
    const problem = angleProblem(typed.value, low, high);
    setAttribute(typed, "aria-invalid", problem ? "true" : null);
    if (problem) say(`${name}: ${problem}: not sent`, "bad");
    else {
      go(typed.valueAsNumber);
      sender.end();
    }
  });
  typed.addEventListener("input", () => setAttribute(typed, "aria-invalid", null));
  typed.addEventListener("blur", () => setAttribute(typed, "aria-invalid", null));

  const tweak = h("input", { type: "number", step: 1, class: "ticks", placeholder: "0", "aria-label": `tweak of ${name}, ticks`, inputmode: "numeric" });
  const tweakSet = h("button", { type: "submit", class: "small" }, "Tweak");
  const tweakIs = h("span", { class: "live" }, "–");
  const form = h("form", { class: "tweak" }, tweak, tweakSet);
  let tweaking = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (tweaking) return;
    tweaking = true;
    const ticks = numberIn(tweak) ?? 0;
    await act("tweak", { joint: name, ticks }, line("tweak", {}, [name, String(ticks)]), () => `${name}: tweak ${ticks} ticks`);
    tweaking = false;
  });

  const cell = (/** @type {string} */ label, /** @type {string} */ help) => {
    const value = h("dd", { class: "live" }, "–");
    return { value, element: h("div", { help }, h("dt", {}, label), value) };
  };
  const angle = cell("angle, deg", `measured: ${motor.angle_sensor.name}`);
  const load = cell("load", `measured: ${motor.load_sensor.name}`);
  const status = cell("servo", "what became of the last question to the servo: ok, missed, implausible, unsure, silent");
  const age = cell("age, ms", "how old the angle is");
  const sent = cell("sent, deg", "the angle the servo was commanded to; limp: it was told to give way; read: it was only asked");
  return {
    element: h(
      "section",
      { class: "bench-joint", "aria-label": name },
      h("header", {}, h("span", {}, h("strong", { help: text }, name), " ", asked), modes),
      h("div", { class: "bench-angle" }, slider, typed, range),
      h("dl", { class: "bench-values" }, angle.element, sent.element, load.element, status.element, age.element, h("div", { class: "tweaked", help: "torque on top of what its muscles ask for, in raw ticks of its servo; 0 ends it. Logged" }, h("dt", {}, "tweak, ticks: ", tweakIs), h("dd", {}, form))),
    ),
    /**
     * @param {string} not why nothing can be changed
     * @param {string} still why it can not be moved
     */
    tell(not, still) {
      // The daemon's word alone: what was asked for stands beside it.
      const mode = live.liveness(performance.now()).live ? live.joints[`joint.${name}.mode`] : undefined;
      const wanted = presses.asked.get(name)?.mode;
      setText(asked, wanted ? `${wanted} asked for, no answer yet` : "");
      MODES.forEach((each, k) => {
        setAttribute(buttons[k], "aria-pressed", String(each === mode));
        setClass(buttons[k], "asked", each === wanted);
        allow(buttons[k], not || unfit(joint, each), MODE_HELP[each]);
      });
      for (const input of [slider, typed]) allow(input, still, `where ${name} is to go, ${number(low, 1)} to ${number(high, 1)} deg, at the rate above; it then stays there. A number that is typed is sent by Enter`);
      allow(tweakSet, not, "add this torque to what its muscles ask for");
      tweak.disabled = !!not;
      const raw = live.now(`${motor.name}.sent_raw`);
      const commanded = raw >= 0 ? (raw - motor.angle_cal1) / motor.angle_cal2 : NaN;
      const measured = live.now(motor.angle_sensor.name);
      setText(angle.value, number(measured, 1));
      setText(sent.value, raw === -2 ? "limp" : raw === -1 ? "read" : number(commanded, 1));
      setText(load.value, number(live.now(motor.load_sensor.name), 2));
      const code = live.now(`${motor.name}.status`);
      setText(status.value, known.statuses[String(code)] ?? (Number.isFinite(code) ? `status ${code}` : "–"));
      setText(age.value, number(ageOf(live, motor.name), 0));
      setText(tweakIs, number(live.joints[`joint.${name}.tweak`], 0));
      // Its own wish stays in the slider until it is commanded otherwise; else it shows where the joint is sent, or is.
      if ((mode !== "hold" || still) && !sender.active) target = NaN;
      const shown = Number.isFinite(target) ? target : Number.isFinite(commanded) ? commanded : measured;
      if (!Number.isFinite(shown)) return;
      if (document.activeElement !== typed) typed.value = shown.toFixed(1);
      if (!sender.active) slider.value = String(shown);
    },
  };
}

/**
 * @param {Context} context
 * @param {Known} known
 * @param {() => number} speed
 * @returns {Section}
 */
function posesSection({ live, act, line, say }, known, speed) {
  const list = h("div", {});
  const name = h("input", { type: "text", required: true, pattern: "[A-Za-z0-9][A-Za-z0-9_\\-]*", maxlength: 64, placeholder: "standing", spellcheck: "false" });
  const save = h("button", { type: "submit" }, "Save the pose");
  const saveLine = lineOf();
  const form = h("form", { class: "form" }, field("name", name, "letters, digits, _ and -; one that is there is written anew"), h("div", { class: "actions" }, save, saveLine.place));
  /** @type {{button: HTMLButtonElement, moves: boolean, help: string}[]} */
  let buttons = [];
  const what = h("p", { class: "note driven" });
  /** What is in the list, and who asked for it last. */
  let shown = "";
  let asks = 0;
  const show = (/** @type {Record<string, Record<string, number>>} */ poses) => {
    if (JSON.stringify(poses) === shown) return;
    shown = JSON.stringify(poses);
    buttons = [];
    const button = (/** @type {string} */ label, /** @type {string} */ full, /** @type {string} */ help, /** @type {boolean} */ moves, /** @type {() => Promise<unknown>} */ click) => {
      const element = h("button", { type: "button", class: "small", "aria-label": full }, label);
      pressOnce(element, click);
      buttons.push({ button: element, moves, help });
      return element;
    };
    const rows = Object.entries(poses).map(([pose, angles]) => [
      pose,
      Object.entries(angles).map(([joint, deg]) => `${joint} ${number(deg, 1)}`).join(", "),
      h(
        "div",
        { class: "actions" },
        // By the angles that stand here: the name may have become another pose meanwhile.
        button("Go to", `Go to ${pose}: drives ${Object.keys(angles).join(", ")}`, "move there, at the rate above, from wherever the leg is", true, () => move(pose, angles)),
        button("Park here", `Park here: ${pose}`, "where a stop with the policy park leaves the leg, at the rate above", false, () => park(pose, angles)),
      ),
    ]);
    fill(list, rows.length ? table("poses", ["pose", "degrees", "what to do"], rows) : h("p", { class: "note" }, "no pose was saved for this configuration"));
  };
  const words = (/** @type {Record<string, number>} */ angles) => Object.entries(angles).map(([joint, deg]) => `${joint}=${deg}`);
  const move = (/** @type {string} */ pose, /** @type {Record<string, number>} */ angles) => {
    dropWishes();
    return act("pose", { angles, rate_deg_s: speed() }, line("pose go", { rate: speed() }, words(angles)), () => `the leg goes to ${pose}`);
  };
  const park = (/** @type {string} */ pose, /** @type {Record<string, number>} */ angles) =>
    act("park", { angles, rate_deg_s: speed() }, line("pose park", { rate: speed() }, words(angles)), () => `${pose} is where the leg is parked`);
  const ask = async () => {
    asks += 1;
    const mine = asks;
    if (!live.open || !live.model) return show({});
    try {
      const poses = await live.ask("poses");
      if (mine === asks) show(poses);
    } catch (error) {
      say(String(error instanceof Error ? error.message : error), "bad");
    }
  };
  const follow = () => saveLine.tell(line("pose save", {}, [name.value || "standing"]));
  form.addEventListener("input", follow);
  let saving = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (saving) return;
    saving = true;
    if (await act("pose_save", { name: name.value }, saveLine.text, (saved) => `saved ${saved.name}`)) await ask();
    saving = false;
  });
  live.addEventListener("layout", () => void ask());
  return {
    element: section("Poses", "the pose the leg is in can be saved, and reached again slowly; poses are kept with the daemon, for each configuration", what, list, form),
    show: () => {
      follow();
      void ask();
    },
    tell() {
      const not = whyNot(live);
      const still = whyStill(live, known.refused);
      allow(save, not, "keep the angles the joints have now");
      const noRate = Number.isNaN(speed()) ? "the rate above is none" : "";
      const names = (live.model?.joints ?? []).filter((joint) => joint.motor).map((joint) => joint.name);
      setText(what, !buttons.length ? "" : still || noRate ? `no pose can be gone to: ${still || noRate}` : `Go to drives ${names.join(", ")} of ${live.configuration}, at ${number(speed(), 1)} deg/s.`);
      for (const { button, moves, help } of buttons) allow(button, (moves ? still : not) || noRate, help);
    },
  };
}

/**
 * What went wrong, what it means, and what to do.
 * @param {Context} context
 * @param {Known} known
 * @returns {Section}
 */
function faultsSection({ live }, known) {
  const body = h("div", {});
  const whole = h("details", { help: "every fault there is: what it does, when, and how to go on" }, h("summary", {}, "All faults, and what to do about each"));
  let shown = "";
  let listed = 0;
  return {
    element: section("Faults", "what is latched and how to go on, and what was counted on the way", body, whole),
    tell() {
      if (listed !== known.faults.length) {
        listed = known.faults.length;
        const rows = known.faults.map(({ name, does, once, hint }) => [h("code", {}, name), Object.entries(does).map(([process, effect]) => `${process}: ${effect}`).join("; ") || "torque off", once, hint]);
        fill(whole, h("summary", {}, "All faults, and what to do about each"), h("div", { class: "scroller short", tabindex: 0, role: "region", "aria-label": "all faults" }, table("all faults", ["fault", "does", "once", "what to do"], rows)));
      }
      const { status } = live;
      const key = JSON.stringify([listed, status && troubles(status, known)]);
      if (key === shown || !status) return;
      shown = key;
      const rows = troubles(status, known);
      fill(body, rows.length ? table("what went wrong", ["what", "how often", "what it means, what to do"], rows, "live faults") : h("p", { class: "note live" }, "nothing is latched, and nothing went wrong since the daemon began"));
    },
  };
}

/**
 * Return what is wrong, the gravest first: what, how often, what it means.
 * @param {import("../messages.js").Status} status
 * @param {Pick<Known, "faults" | "counts">} known
 * @returns {string[][]}
 */
export function troubles(status, { faults, counts }) {
  const fault = (/** @type {string} */ name) => faults.find((each) => each.name === name);
  const counted_ = (/** @type {Record<string, number> | undefined} */ of) => Object.entries(of ?? {}).filter(([, count]) => count);
  const reason = status.latch_reason ?? "";
  return [
    ...(status.latched ? [[`\u26a0 latched: ${reason || "by the daemon"}`, "", fault(reason)?.hint ?? "see that the leg may move, then arm"]] : []),
    ...(status.bus_lost && reason !== "bus_lost" ? [["\u26a0 bus lost", "", fault("bus_lost")?.hint ?? ""]] : []),
    ...(status.unconfirmed?.length ? [["\u26a0 torque not confirmed to be off", String(status.unconfirmed.length), `${status.unconfirmed.join(", ")}: may still push; cut the supply before you reach in`]] : []),
    ...(status.refusals ?? []).map((text) => ["servo refused", "", `${text}; ${fault("servo_refused")?.hint ?? ""}`]),
    ...counted_(status.bus_counts).map(([name, count]) => [`bus: ${name}`, String(count), counts[name] ?? ""]),
    ...counted_(status.losses).map(([name, count]) => [`records lost: ${name}`, String(count), "they are missing in the data directory; its manifest says so"]),
    ...counted_(status.deaths).map(([name, count]) => [`${name} was started anew`, String(count), fault(`${name}_dead`)?.hint ?? fault(`${name}_lost`)?.hint ?? ""]),
    ...(status.latches ? [["faults and offs that were latched", String(status.latches), "Events tells each"]] : []),
    ...(status.guardian_acts ? [["the guardian took the torque off", String(status.guardian_acts), "Events tells why"]] : []),
  ];
}


// A number that can be turned: slider, field, what became of it, and how long it is tried.

import { h, setAttribute, setClass, setHelp, setText } from "./dom.js";
import { heldBy, kept, numbersIn, Sender, snapped, stepped, typedProblem, valueText, wishNumber } from "./edit.js";
import { clock, number, shortUnit } from "./format.js";

/** @typedef {import("./app.js").Context} Context */
/** @typedef {import("./edit.js").Knob} Knob */
/** @typedef {{element: HTMLElement, tell: () => void}} Control */
/** A slider that something else turns too: `closed` says that it can not be turned, `value` is where it stands.
 * @typedef {Control & {begin: () => void, turn: (value: number) => void, settle: () => void, key: (event: KeyboardEvent) => void,
 *   readonly closed: boolean, readonly value: number}} Slider */

const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
/** A key that is pressed again sooner than this is of the same step of undo. */
const SETTLE_MS = 700;
const INSTEAD = "not sent: something else was asked for, or what is edited is another";

/**
 * Return why nobody but its control, or its module, writes an HDSO; "" where anybody may.
 * @param {import("./model.js").Hdso} hdso
 */
function owned({ owner }) {
  return owner ? `it follows ${owner}` : "";
}

/**
 * @param {Knob} knob
 * @returns {string}
 */
function helpOf({ hdso, unit, quantum, least, most, low, high }) {
  const parts = [
    [hdso.fullname, hdso.description].filter(Boolean).join(": ") || hdso.name,
    unit && `in ${unit}`,
    Number.isNaN(low) ? "" : `suggested ${low} to ${high}`,
    Number.isFinite(least) || Number.isFinite(most) ? `valid ${least} to ${most}` : "",
    `steps of ${quantum}, with Shift a tenth`,
  ];
  return parts.filter(Boolean).join("; ");
}

/**
 * @param {Context} context
 * @param {Knob} knob
 * @param {{name?: boolean}} [options] `name` false: it stands elsewhere
 * @returns {Slider}
 */
export function knobControl({ desk, line, say }, knob, { name = true } = {}) {
  const { label, hdso, low, high, least, most } = knob;
  const help = helpOf(knob);
  const slides = !Number.isNaN(low);
  const range = h("input", { type: "range", min: low, max: high, step: "any", class: "knob-range", "aria-label": label, hidden: !slides });
  const field = h("input", { type: "number", step: "any", min: Number.isFinite(least) ? least : null, max: Number.isFinite(most) ? most : null, class: "knob-field", "aria-label": `${label}, typed`, autocomplete: "off" });
  const told = h("span", { class: "knob-told live" });
  const refusal = h("span", { class: "knob-refusal", role: "alert" });
  const left = h("span", { class: "number" });
  const keepButton = h("button", { type: "button", class: "small", help: "let the value stay" }, "Keep");
  const backButton = h("button", { type: "button", class: "small", help: "put back what it was, now" }, "Back now");
  const trial = h("span", { class: "knob-trial", hidden: true }, left, keepButton, backButton);
  const pin = h("button", { type: "button", class: "quiet pin", help: "pin it: it then stands above, in this browser", on: { click: () => desk.pin(label) } });
  const element = h(
    "div",
    { class: "knob", help },
    name ? h("span", { class: "knob-name" }, label) : null,
    range,
    h("span", { class: "knob-number" }, field, h("span", { class: "unit" }, knob.unit === "dimensionless" ? "" : shortUnit(knob.unit))),
    pin,
    told,
    refusal,
    trial,
    hdso.owner ? h("span", { class: "note" }, owned(hdso)) : null,
  );
  let fine = false;
  /** What somebody turns it to now; NaN: it shows what is in force. */
  let turned = NaN;
  /** For how long that is to be tried, s, as it was asked for when the turning began; NaN: it stays. */
  let trialS = NaN;
  let dragging = false;
  let attempting = false;
  /** What was turned was given up: the pointer, or the key, that is still down turns nothing. */
  let over = false;
  /** What was wanted when the turning began: once that was dropped, it is over. */
  let wish = NaN;
  let shown = NaN;
  /** What it held when the turning began, or what was turned last took effect: anything else is somebody else's. */
  let mine = NaN;
  /** What is to be said of the last edit that took effect, and the same for a shell. */
  let last = ["", ""];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let settling;

  const held = () => heldBy(knob, desk.values.get(hdso.name));
  const author = () => desk.authors.get(hdso.name) || "somebody";
  const show = (/** @type {number} */ value) => {
    shown = value;
    range.value = String(value);
    setAttribute(range, "aria-valuetext", Number.isNaN(value) ? "no value" : `${value} ${knob.unit}`.trim());
    field.value = Number.isNaN(value) ? "" : String(value);
  };
  const object = (/** @type {string} */ why) => {
    setText(told, "");
    setText(refusal, `\u2715 ${why}`);
  };
  const refuse = (/** @type {string} */ why) => {
    object(why);
    turned = NaN;
    show(held());
  };
  const setLine = (/** @type {number} */ value, /** @type {number} */ seconds) => line("set", Number.isNaN(seconds) ? {} : { "back-after": seconds }, [`${label}=${value}`]);
  const acknowledge = (/** @type {import("./messages.js").Acknowledgement} */ { cycle, time_s: time }) => {
    setText(refusal, "");
    setText(told, `\u2713 cycle ${cycle}${time === null ? "" : `, ${clock(time)}`}`);
  };
  const sender = new Sender({
    ask: (/** @type {number} */ value, merge) => desk.set(label, value, merge),
    told: (answer, value, more) => {
      acknowledge(answer);
      mine = held();
      last = [`${label} = ${value} since cycle ${answer.cycle}`, setLine(value, NaN)];
      if (!more && !dragging) rest();
    },
    refused: (error, value, more) => {
      if (!more) refuse(error.message);
      say(`${label} = ${value}: ${error.message}`, "bad", setLine(value, NaN));
    },
    dropped: () => giveUp(INSTEAD),
  });
  /** What was turned is in force. */
  const rest = () => {
    turned = NaN;
    if (last[0]) say(last[0], "good", last[1]);
    last = ["", ""];
  };
  const attempt = async (/** @type {number} */ value) => {
    const words = setLine(value, trialS);
    attempting = true;
    try {
      acknowledge(await desk.attempt(label, value, held(), trialS));
      say(`${label} = ${value} for ${trialS} s`, "good", words);
      turned = NaN;
    } catch (error) {
      refuse(String(/** @type {Error} */ (error).message));
      say(`${label} = ${value}: ${/** @type {Error} */ (error).message}`, "bad", words);
    } finally {
      attempting = false;
    }
  };
  /** What was turned and not sent yet is given up. */
  const giveUp = (/** @type {string} */ why) => {
    clearTimeout(settling);
    settling = undefined;
    dragging = false;
    over = true;
    sender.clear();
    sender.end();
    refuse(why);
  };
  const dropped = () => (wish === wishNumber() ? "" : INSTEAD);
  const turn = (/** @type {number} */ value) => {
    if (over) return show(held());
    if (Number.isNaN(value) || value === (Number.isNaN(turned) ? held() : turned)) return show(value);
    const why = Number.isNaN(turned) ? desk.unready : desk.closed || dropped();
    if (why) return giveUp(why);
    if (Number.isNaN(turned)) {
      trialS = desk.trialS;
      wish = wishNumber();
      mine = held();
    }
    turned = value;
    show(value);
    // What is tried is one value: each on the way would be put back to the one before it.
    if (Number.isNaN(trialS)) sender.want(value);
  };
  /** The turning has ended; both the pointer and the slider tell so. */
  const settle = () => {
    clearTimeout(settling);
    settling = undefined;
    dragging = false;
    sender.end();
    if (Number.isNaN(turned)) return;
    if (Number.isNaN(trialS)) {
      if (!sender.active) rest();
    } else if (desk.closed || dropped()) giveUp(desk.closed || dropped());
    else if (!attempting) void attempt(turned);
  };
  const soon = () => {
    clearTimeout(settling);
    settling = setTimeout(settle, SETTLE_MS);
  };

  for (const kind of ["pointerdown", "pointermove"]) {
    range.addEventListener(kind, (event) => {
      fine = /** @type {PointerEvent} */ (event).shiftKey;
    });
  }
  const begin = () => {
    dragging = true;
    over = false;
  };
  range.addEventListener("pointerdown", begin);
  range.addEventListener("input", () => turn(snapped(knob, Number(range.value), fine)));
  range.addEventListener("change", () => {
    settle();
    over = false;
  });
  for (const kind of ["pointerup", "pointercancel", "lostpointercapture", "blur"]) range.addEventListener(kind, () => dragging && settle());
  const byKey = (/** @type {KeyboardEvent} */ event) => {
    const steps = STEPS[/** @type {keyof typeof STEPS} */ (event.key)];
    const end = event.target === range ? { Home: low, End: high }[event.key] : undefined;
    if (event.ctrlKey || event.metaKey || event.altKey || (!steps && end === undefined)) return;
    if (event.target === field && (event.key === "ArrowLeft" || event.key === "ArrowRight")) return;
    event.preventDefault();
    over &&= event.repeat;
    const from = Number.isNaN(turned) ? held() : turned;
    turn(end === undefined ? stepped(knob, from, steps, event.shiftKey) : kept(knob, end));
    soon();
  };
  range.addEventListener("keydown", byKey);
  field.addEventListener("keydown", byKey);
  typedInto(field, {
    send: () => {
      const problem = typedProblem(knob, field.value);
      setAttribute(field, "aria-invalid", problem ? "true" : null);
      if (problem) return object(problem);
      over = false;
      turn(Number(field.value));
      settle();
    },
    leave: () => {
      if (field.value === String(shown) || (field.value === "" && Number.isNaN(shown))) return false;
      setAttribute(field, "aria-invalid", null);
      show(Number.isNaN(turned) ? held() : turned);
      return true;
    },
    object,
  });
  keepButton.addEventListener("click", async () => {
    const words = line("forget", {}, [String(desk.trials.get(label)?.back)]);
    await desk.keep(label).then(() => say(`${label} stays`, "good", words), (error) => say(`${label}: ${error.message}`, "bad", words));
  });
  backButton.addEventListener("click", async () => {
    const { before, back } = /** @type {import("./desk.js").Trial} */ (desk.trials.get(label));
    const words = `${line("forget", {}, [String(back)])}; ${line("set", {}, [`${label}=${before}`])}`;
    try {
      await desk.keep(label);
      acknowledge(await desk.set(label, before));
      say(`${label} is ${before} again`, "good", words);
    } catch (error) {
      say(`${label}: ${/** @type {Error} */ (error).message}`, "bad", words);
    }
  });

  return {
    element,
    begin,
    turn,
    settle: () => {
      settle();
      over = false;
    },
    key: byKey,
    get closed() {
      return range.disabled;
    },
    get value() {
      return Number.isNaN(turned) ? held() : turned;
    },
    tell() {
      const tried = desk.trials.get(label);
      const why = owned(hdso) || desk.closed || (tried ? "it is being tried: keep it, or put it back, first" : "");
      if (desk.closed && (dragging || settling !== undefined || sender.waiting.length)) giveUp(desk.closed);
      const at = sender.active || dragging;
      if (!Number.isNaN(turned) && !sender.busy && !attempting && !Object.is(held(), mine)) {
        mine = held();
        object(`${author()} set it to ${mine} meanwhile`);
      }
      if (!at) {
        range.disabled = field.disabled = !!why;
        keepButton.disabled = backButton.disabled = !!desk.closed;
        setHelp(element, why ? `${why}. ${help}` : help);
        const value = held();
        const typing = document.activeElement === field && field.value !== String(shown);
        if (Number.isNaN(turned) && !Object.is(value, shown)) {
          const typed = field.value;
          show(value);
          if (typing) {
            field.value = typed;
            object(`${author()} set it to ${value} meanwhile`);
          }
        }
      }
      trial.hidden = !tried;
      if (tried) setText(left, `back to ${valueText(tried.before)} in ${number(Math.max(0, tried.until - desk.time), 1)} s`);
      const isPinned = desk.pins.includes(label);
      setText(pin, isPinned ? "\u2605" : "\u2606");
      setAttribute(pin, "aria-pressed", String(isPinned));
      setAttribute(pin, "aria-label", `${isPinned ? "unpin" : "pin"} ${label}`);
      setClass(element, "turned", !Number.isNaN(turned));
    },
  };
}

/**
 * What is typed is sent by Enter alone: a field that is left, or Escape, sends nothing and says so.
 * @param {HTMLInputElement} field
 * @param {{send: () => void, leave: () => boolean, object: (why: string) => void}} how `leave` puts back what is in
 *   force, and says whether anything else had been typed
 */
export function typedInto(field, { send, leave, object }) {
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      // A key that stays down decides once.
      if (!event.repeat) send();
    } else if (event.key === "Escape") leave();
  });
  field.addEventListener("blur", () => {
    if (leave()) object("not sent: Enter sends what is typed");
  });
}

/**
 * A value that is written as a text: a rule, or several numbers.
 * @param {Context} context
 * @param {import("./model.js").Hdso} hdso
 * @returns {Control}
 */
export function textControl({ desk, line, say }, hdso) {
  const { name, kind, datatype } = hdso;
  const isText = kind === "boolstring" || datatype.endsWith("char");
  const field = h("input", { type: "text", class: "text-field mono", "aria-label": name, spellcheck: "false", autocomplete: "off" });
  const told = h("span", { class: "knob-told live" });
  const refusal = h("span", { class: "knob-refusal", role: "alert" });
  let shown = "";
  let asking = false;
  const back = () => {
    shown = field.value = valueText(desk.values.get(name) ?? "");
  };
  const object = (/** @type {string} */ why) => {
    setText(told, "");
    setText(refusal, `\u2715 ${why}`);
  };
  const send = async () => {
    const { trialS } = desk;
    const text = field.value.trim();
    const value = isText ? text : numbersIn(text);
    if (!value) return object(isText ? "nothing is written" : "these are no numbers, apart by spaces");
    if (desk.unready) return object(desk.unready);
    const [options, span] = Number.isNaN(trialS) ? [{}, ""] : [{ "back-after": trialS }, ` for ${trialS} s`];
    const words = line("set", options, [`${name}=${valueText(value)}`]);
    asking = field.disabled = true;
    try {
      const { cycle, time_s: time, applied, refused } = Number.isNaN(trialS) ? await desk.set(name, value) : await desk.attempt(name, value, desk.values.get(name), trialS);
      if (!applied.length && refused.length) throw new Error(refused[0].reason);
      setText(refusal, "");
      setText(told, `\u2713 cycle ${cycle}${time === null ? "" : `, ${clock(time)}`}${span}`);
      say(`${name} = ${text}${span}`, "good", words);
      back();
    } catch (error) {
      // It stays in the field, to be mended there.
      object(/** @type {Error} */ (error).message);
      say(`${name}: ${/** @type {Error} */ (error).message}`, "bad", words);
    }
    asking = field.disabled = false;
    field.focus();
  };
  typedInto(field, {
    send: () => void send(),
    leave: () => {
      if (asking || field.value === shown) return false;
      back();
      return true;
    },
    object,
  });
  return {
    element: h("div", { class: "knob" }, field, told, refusal, hdso.owner ? h("span", { class: "note" }, owned(hdso)) : null),
    tell() {
      const why = owned(hdso) || desk.closed || (desk.trials.has(name) ? "it is being tried" : "");
      field.disabled = asking || !!why;
      setHelp(field, why);
      const is = valueText(desk.values.get(name) ?? "");
      if (is !== shown && (document.activeElement !== field || field.value === shown)) back();
    },
  };
}

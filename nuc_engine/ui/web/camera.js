// Pictures and sound beside the leg: a camera of this machine, or a video file laid beside a bout with its time offset.
// Nothing of either leaves the browser.

import { field, fill, h, setAttribute, setClass, setText } from "./dom.js";
import { number } from "./format.js";
import { keep, recall } from "./store.js";

const OFFSETS = "nuc-video-offsets";
/** Offsets of cameras, by what they are called. */
const CAMERA = "camera: ";
const LATEST_S = 5;
const MOST_OFFSETS = 200;
/** A video that plays along is set right where it is further off than this, s: setting it is heard. */
const OFF_S = 0.12;
/** And one that stands, than this. */
const STILL_S = 0.01;
const [SLOWEST, FASTEST] = [0.0625, 16];

/** @returns {Record<string, number>} offsets by bout */
function offsets() {
  return recall(localStorage, OFFSETS, 1, (kept) => Object.fromEntries(Object.entries(kept).filter(([, offset]) => Number.isFinite(offset))), {});
}

/**
 * Return the offset that was kept for a bout, s; 0 where none was.
 * @param {string} bout
 */
export function offsetOf(bout) {
  return offsets()[bout] ?? 0;
}

/**
 * Keep it, in this browser.
 * @param {string} bout
 * @param {number} offset
 */
export function keepOffset(bout, offset) {
  const others = Object.entries(offsets()).filter(([name]) => name !== bout);
  keep(localStorage, OFFSETS, 1, Object.fromEntries([...others, [bout, offset]].slice(-MOST_OFFSETS)));
}

/**
 * Say how a video has to be set so that it shows a moment of a bout: what it is to be set to, NaN where it is near enough.
 * @param {number} at where it is, s
 * @param {number} time of the bout, s
 * @param {number} offset where in the video the bout's time 0 is, s
 * @param {number} length of the video, s
 * @param {boolean} running
 */
export function settingOf(at, time, offset, length, running) {
  const end = Number.isFinite(length) ? length : Infinity;
  const wanted = Math.max(0, Math.min(end, time + offset));
  return Math.abs(at - wanted) > (running ? OFF_S : STILL_S) ? wanted : NaN;
}

/**
 * A video or sound file that goes with a bout.
 * @param {string} bout what its offset is kept under
 * @param {AbortSignal} signal
 */
export function videoBeside(bout, signal) {
  const choose = h("input", { type: "file", accept: "video/*,audio/*", "aria-label": "a video or sound file of this bout", help: "a video or sound file of this bout; it stays in this browser" });
  const video = h("video", { controls: true, hidden: true, preload: "auto" });
  const offset = h("input", { type: "number", step: 0.01, value: offsetOf(bout), class: "small-number", inputmode: "decimal", "aria-label": "time offset of the video, s" });
  const here = h("button", { type: "button", class: "small", disabled: true, help: "the picture that the video shows is of the moment at the cursor: pause the bout, move the video, and press" }, "Line up");
  const without = h("button", { type: "button", class: "small", help: "take the video away" }, "Without");
  const state = h("span", { class: "note", role: "status" });
  let address = "";
  let cursor = 0;
  let follows = false;
  /** The cursor was moved while it was still on its way to where that was before. */
  let late = false;

  /** Let it show the moment of the cursor. */
  const beside = (/** @type {boolean} */ running) => {
    const to = settingOf(video.currentTime, cursor, Number(offset.value) || 0, video.duration, running);
    late = video.seeking;
    if (!Number.isNaN(to) && !late) video.currentTime = to;
  };
  video.addEventListener("seeked", () => {
    if (late) beside(follows);
  });
  const end = () => {
    video.pause();
    video.removeAttribute("src");
    video.load();
    if (address) URL.revokeObjectURL(address);
    address = "";
    video.hidden = more.hidden = true;
    here.disabled = true;
  };
  choose.addEventListener("change", () => {
    const file = choose.files?.[0];
    end();
    if (!file) return;
    address = URL.createObjectURL(file);
    video.src = address;
    setText(state, "");
  });
  video.addEventListener("loadedmetadata", () => {
    video.hidden = more.hidden = false;
    here.disabled = false;
    setClass(video, "sound-only", !video.videoWidth);
    beside(false);
  });
  video.addEventListener("error", () => {
    if (!address) return;
    setText(state, "this browser can not show that file");
    end();
  });
  const setOffset = (/** @type {number} */ value) => {
    if (!Number.isFinite(value)) return setAttribute(offset, "aria-invalid", "true");
    setAttribute(offset, "aria-invalid", null);
    keepOffset(bout, value);
    if (!video.hidden) beside(false);
  };
  offset.addEventListener("change", () => setOffset(offset.valueAsNumber));
  here.addEventListener("click", () => {
    offset.value = number(video.currentTime - cursor, 2).replace("\u2212", "-");
    setOffset(offset.valueAsNumber);
  });
  without.addEventListener("click", () => {
    choose.value = "";
    setText(state, "");
    end();
  });
  signal.addEventListener("abort", end);
  const more = h("div", { class: "toolbar", hidden: true }, field("offset, s", offset, "where in the video the bout's time 0 is, in s; kept for this bout, in this browser"), here, without);
  return {
    element: h("div", { class: "video-beside" }, h("div", { class: "toolbar" }, choose, state), video, more),
    video,
    /**
     * Show the moment of the cursor; called with each picture.
     * @param {number} time of the bout, s
     * @param {boolean} running
     * @param {number} rate
     */
    follow(time, running, rate) {
      const moved = time !== cursor;
      cursor = time;
      if (video.hidden) return;
      // Paused, it may be moved by hand, to be lined up.
      if (running || moved) beside(running);
      if (running) video.playbackRate = Math.max(SLOWEST, Math.min(FASTEST, rate));
      if (running !== follows) {
        if (running) void video.play().catch(() => setText(state, "the browser does not let it play: press its own play button once"));
        else video.pause();
      }
      follows = running;
    },
  };
}

/** A camera of this machine beside the leg, with sound where that is wanted; off until it is asked for. */
export function cameraBeside() {
  const video = h("video", { muted: true, playsinline: true, "aria-label": "what the camera sees" });
  const which = h("select", { "aria-label": "camera", help: "which camera of this machine; nothing of it leaves the browser" });
  const sound = h("input", { type: "checkbox" });
  const off = h("button", { type: "button", class: "small", help: "the camera is let go" }, "Camera off");
  const state = h("p", { class: "note", role: "status" });
  const offset = h("input", { type: "number", min: 0, max: 1000 * LATEST_S, step: 10, value: 0, class: "small-number", inputmode: "numeric" });
  const late = h("label", { class: "inline", help: "how much later than the leg its picture comes: the leg beside it is drawn as much later. Tap the foot, and turn it until both move together; kept for this camera, in this browser" }, "late by, ms ", offset);
  const element = h("section", { class: "panel camera", "aria-label": "camera", hidden: true }, video, h("div", { class: "toolbar" }, which, h("label", { class: "check", help: "hear the microphone too; with loudspeakers beside it, it howls" }, sound, "sound"), late, off), state);
  const on = h("button", { type: "button", help: "show a camera of this machine beside the leg, and hear it; nothing of it leaves the browser" }, "Camera \u2026");
  /** @type {MediaStream | null} */
  let stream = null;
  let turn = 0;
  /** What the offset is kept under. */
  let called = "";
  offset.addEventListener("change", () => {
    const wrong = !(offset.valueAsNumber >= 0 && offset.valueAsNumber <= 1000 * LATEST_S);
    setAttribute(offset, "aria-invalid", wrong ? "true" : null);
    if (!wrong) keepOffset(called, offset.valueAsNumber / 1000);
  });

  const end = () => {
    turn += 1;
    for (const track of stream?.getTracks() ?? []) track.stop();
    stream = null;
    video.srcObject = null;
  };
  const begin = async () => {
    end();
    const mine = turn;
    element.hidden = false;
    setText(state, "asking for the camera \u2026");
    try {
      const device = which.value ? { deviceId: { exact: which.value } } : true;
      const found = await navigator.mediaDevices.getUserMedia({ video: device, audio: sound.checked });
      if (mine !== turn) {
        for (const track of found.getTracks()) track.stop();
        return;
      }
      stream = found;
      video.srcObject = stream;
      video.muted = !sound.checked;
      await video.play();
      const cameras = (await navigator.mediaDevices.enumerateDevices()).filter(({ kind }) => kind === "videoinput");
      const used = stream.getVideoTracks()[0]?.getSettings().deviceId;
      fill(which, ...cameras.map(({ deviceId, label }, k) => h("option", { value: deviceId, selected: deviceId === used }, label || `camera ${k + 1}`)));
      called = CAMERA + (stream.getVideoTracks()[0]?.label ?? "");
      offset.valueAsNumber = Math.round(1000 * offsetOf(called));
      setText(state, "As it comes from the camera; the leg is drawn as late as you say.");
    } catch (error) {
      if (mine !== turn) return;
      setText(state, `no camera: ${error instanceof Error ? error.message || error.name : error}`);
    }
  };
  on.addEventListener("click", () => void begin());
  which.addEventListener("change", () => void begin());
  sound.addEventListener("change", () => void begin());
  const close = () => {
    end();
    element.hidden = true;
  };
  off.addEventListener("click", close);
  /** How late its picture is, s; 0 while there is none. */
  const lateness = () => (stream && offset.getAttribute("aria-invalid") !== "true" ? offset.valueAsNumber / 1000 : 0);
  return { element, on, close, late: lateness };
}

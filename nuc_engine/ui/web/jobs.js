// What takes long and is done by the server: a button that begins it, how far it is, a way to end it.

import { ctlLine, noted } from "./ctl.js";
import { h, setText } from "./dom.js";
import { Refused } from "./session.js";

/** @typedef {{id: string, kind: string, state: string, progress: number | null, text: string, verdict: string | null, file: string | null,
 *   result: string | null, line?: string}} Job */

const POLL_MS = 400;
const AGAIN_MS = 1500;

/**
 * Return the line for a shell that does what a job does with the values in force: they are kept as a configuration first,
 * which is beside the daemon, where `nuc run` finds it.
 * @param {string} configuration
 * @param {string | undefined} run what follows
 */
export function typedLine(configuration, run) {
  return run ? noted(`${ctlLine([], "save", { overwrite: true }, [`${configuration}_now`])} && ${run}`, "on the daemon's machine, in the folder it was started in") : "";
}

/**
 * @param {import("./app.js").Context} context
 * @param {{label: string, help: string, begin: () => Promise<Job>, ended: (job: Job, place: HTMLElement) => void | Promise<void>}} wanted
 * @param {AbortSignal} signal
 */
export function jobControl({ api, say }, { label, help, begin, ended }, signal) {
  const button = h("button", { type: "button", help }, label);
  const cancel = h("button", { type: "button", hidden: true }, "Cancel");
  const bar = h("progress", { max: 1, "aria-label": label });
  const text = h("span", { class: "note", role: "status" });
  const result = h("div", { class: "job-result" });
  bar.hidden = true;
  let number = "";
  const tell = async (/** @type {Job} */ job) => {
    number = job.id;
    const busy = job.state === "waiting" || job.state === "running";
    button.disabled = busy;
    cancel.hidden = bar.hidden = !busy;
    if (typeof job.progress === "number") bar.value = job.progress;
    else bar.removeAttribute("value");
    setText(text, job.verdict ?? (busy ? `${job.state} ${job.text ?? ""}` : `${job.state}${job.state === "failed" ? `: ${job.text}` : ""}`));
    if (!busy) return ended(job, result);
    setTimeout(() => void look(), POLL_MS);
  };
  /** It goes on without anybody looking: a server that does not answer now is asked again. */
  const look = async () => {
    if (signal.aborted) return;
    await ask(async () => {
      for (;;) {
        try {
          return await api.json(`jobs/${number}`, { signal });
        } catch (error) {
          if (!(error instanceof Refused) || error.kind !== "gone") throw error;
          setText(text, `how far it is is not known: ${error.text}; asked again`);
          await new Promise((done) => setTimeout(done, AGAIN_MS));
          signal.throwIfAborted();
        }
      }
    });
  };
  const ask = async (/** @type {() => Promise<Job>} */ how) => {
    try {
      const job = await how();
      if (how === begin && job.line) say(`${label}: begun`, "", job.line);
      await tell(job);
    } catch (error) {
      if (error instanceof Refused) {
        setText(text, error.message);
        say(error.message, "bad");
        button.disabled = false;
        cancel.hidden = bar.hidden = true;
      } else if (!signal.aborted) throw error;
    }
  };
  button.addEventListener("click", () => {
    if (button.disabled) return;
    result.replaceChildren();
    button.disabled = true;
    void ask(begin);
  });
  cancel.addEventListener("click", () => void api.fetch(`jobs/${number}`, { method: "DELETE", signal }).catch((error) => {
    if (!signal.aborted) say(`not cancelled: ${error instanceof Error ? error.message : error}`, "bad");
  }));
  return { element: h("div", { class: "job" }, h("div", { class: "actions" }, button, cancel, bar, text), result), button, text };
}

// Who this page is to the server: a token, used once, is exchanged for a secret that lives as long as the tab.

const KEPT = "nuc-session";

/** What the server says when it does not do something. */
export class Refused extends Error {
  /**
   * @param {string} kind
   * @param {string} text
   * @param {string} [hint]
   */
  constructor(kind, text, hint = "") {
    super(hint ? `${text} (${hint})` : text);
    this.kind = kind;
    this.text = text;
    this.hint = hint;
  }
}

/**
 * Return the session's secret; "" where there is none.
 *
 * The token is taken out of the address at once, so that it is in no bookmark; `page` beside it is where to begin.
 */
export async function openSession() {
  const words = new URLSearchParams(location.hash.slice(1));
  const token = words.get("t");
  if (token) {
    const page = words.get("page");
    history.replaceState(null, "", location.pathname + (page ? `#${page}` : ""));
    const answer = await fetch("/api/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    if (answer.ok) sessionStorage.setItem(KEPT, (await answer.json()).session);
  }
  return sessionStorage.getItem(KEPT) ?? "";
}

/** What is under /api, asked for with the session's secret. */
export class Api {
  /**
   * @param {string} session
   * @param {() => Promise<void>} [proven] waits until the server is known to be this page's own; throws Refused
   */
  constructor(session, proven = async () => {}) {
    this.session = session;
    this.proven = proven;
  }

  /**
   * Throws Refused.
   * @param {string} path below /api/
   * @param {{method?: string, body?: unknown, signal?: AbortSignal}} [options]
   */
  async fetch(path, { method = "GET", body, signal } = {}) {
    /** @type {Record<string, string>} */
    const headers = { Authorization: `Bearer ${this.session}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    await this.proven();
    signal?.throwIfAborted();
    let answer;
    try {
      answer = await fetch(`/api/${path}`, { method, headers, body: body === undefined ? null : JSON.stringify(body), signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Refused("gone", "the server of this page does not answer", "is `nuc ui` still running?");
    }
    if (answer.ok) return answer;
    let told;
    try {
      told = (await answer.json()).error;
    } catch {
      told = null;
    }
    throw new Refused(told?.kind ?? "failed", told?.text ?? `the server says ${answer.status}`, told?.hint ?? "");
  }

  /**
   * @param {string} path
   * @param {{method?: string, body?: unknown, signal?: AbortSignal}} [options]
   */
  async json(path, options) {
    return (await this.fetch(path, options)).json();
  }

  /**
   * Open a page in another tab, with a session of its own.
   * @param {string} page
   */
  async open(page) {
    const { token } = await this.json("token", { method: "POST" });
    window.open(`/#${new URLSearchParams({ t: token, page })}`, "_blank", "noopener");
  }

  /**
   * Return the address of a picture or file, good for this page alone. Whoever asks gives it back (URL.revokeObjectURL).
   * @param {string} path
   * @param {AbortSignal} [signal]
   */
  async blob(path, signal) {
    return URL.createObjectURL(await (await this.fetch(path, { signal })).blob());
  }
}

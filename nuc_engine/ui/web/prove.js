// Whether the server of this page is the one it was opened by: a port that one has left may be anybody's.

const UTF8 = new TextEncoder();
/** Who has not proved itself for so long is asked anew. */
const LONGEST_MS = 4000;

/** @param {ArrayBuffer | Uint8Array} bytes */
const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text */
const digest = (text) => crypto.subtle.digest("SHA-256", UTF8.encode(text));

/** What is asked of a server before it is told the session's secret. */
export class Proof {
  /** @param {string} session its secret */
  constructor(session) {
    this.session = session;
    this.nonce = crypto.getRandomValues(new Uint8Array(32));
  }

  /** Return the first message: which session, and a number that was never used before. */
  async question() {
    return JSON.stringify({ hello: hex(await digest(this.session)), nonce: hex(this.nonce) });
  }

  /**
   * Say whether an answer shows that the server knows the secret.
   * @param {unknown} text of the answer
   */
  async isGood(text) {
    let told;
    try {
      told = JSON.parse(String(text)).proof;
    } catch {
      return false;
    }
    const key = await crypto.subtle.importKey("raw", await digest(`prove:${this.session}`), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return told === hex(await crypto.subtle.sign("HMAC", key, this.nonce));
  }
}

/** A stranger answered: nothing was said to it, and nothing of what it says is shown. */
export const STRANGER = "whoever answers at this page's port is not the server that opened it: close this page, and use `nuc ctl off` or the supply";

/**
 * Open a WebSocket of this page's server, and let it prove itself before it is told anything.
 * @param {string} path
 * @param {string} session
 * @param {{proven: (socket: WebSocket) => void, message: (event: MessageEvent) => void,
 *   closed: (code: number, stranger: boolean) => void}} hears `proven` before any message
 */
export function provenSocket(path, session, hears) {
  const socket = new WebSocket(`ws://${location.host}${path}`);
  socket.binaryType = "arraybuffer";
  const proof = new Proof(session);
  let stranger = false;
  const waiting = setTimeout(() => socket.close(), LONGEST_MS);
  socket.onopen = async () => {
    const question = await proof.question();
    if (socket.readyState === WebSocket.OPEN) socket.send(question);
  };
  socket.onmessage = async ({ data }) => {
    // Whatever comes before it is known to be good is not heard.
    socket.onmessage = () => {
      stranger = true;
      socket.close();
    };
    if (!(await proof.isGood(data)) || stranger) {
      stranger = true;
      return socket.close();
    }
    clearTimeout(waiting);
    socket.onmessage = hears.message;
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send(JSON.stringify({ session }));
    hears.proven(socket);
  };
  socket.onclose = ({ code }) => {
    clearTimeout(waiting);
    hears.closed(code, stranger);
  };
}

// Checking what is typed: a moment after the last key, one check under way at a time, old answers dropped.

/** @template T */
export class Checks {
  /**
   * @param {() => Promise<T>} check
   * @param {(found: T) => void} tell
   * @param {number} [waitMs]
   */
  constructor(check, tell, waitMs = 300) {
    this.check = check;
    this.tell = tell;
    this.waitMs = waitMs;
    this.wanted = 0;
    this.busy = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** Something has changed. */
  want() {
    this.wanted += 1;
    this.wait();
  }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.go(), this.waitMs);
  }

  async go() {
    // What is under way looks again when it is done.
    if (this.busy) return;
    this.busy = true;
    const of = this.wanted;
    try {
      const found = await this.check();
      if (of === this.wanted) this.tell(found);
    } finally {
      this.busy = false;
      if (of !== this.wanted) this.wait();
    }
  }
}

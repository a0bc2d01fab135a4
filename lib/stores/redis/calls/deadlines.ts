// One timer for all calls under way: a timer per call would cost more than the call.

/** A call that must be over by a moment. */
export interface Due {
  /** Microseconds of the monotonic clock. */
  readonly due: number;
  expire(): void;
}

export class Deadlines {
  private readonly calls = new Set<Due>();
  private timer: NodeJS.Timeout | null = null;
  /** When the timer goes off. */
  private next = Infinity;

  constructor(private readonly now: () => number) {}

  add(call: Due): void {
    this.calls.add(call);
    if (call.due < this.next) this.arm(call.due);
  }

  remove(call: Due): void {
    this.calls.delete(call);
  }

  /**
   * Runs out what is due. A timer that finds nothing due is set again for what is left. After a pause of the process
   * timers come before what the sockets have: answers that are there already are read first.
   */
  private run(): void {
    setImmediate(() => this.expire());
  }

  private expire(): void {
    this.next = Infinity;
    const now = this.now();
    let next = Infinity;
    for (const call of this.calls) {
      if (call.due > now) {
        next = Math.min(next, call.due);
        continue;
      }
      this.calls.delete(call);
      call.expire();
    }
    if (next < this.next) this.arm(next);
  }

  private arm(due: number): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.next = due;
    // Unref'd: while a call is under way its socket keeps the process alive, and without one nothing is lost.
    this.timer = setTimeout(() => this.run(), Math.max(0, Math.ceil((due - this.now()) / 1000)));
    this.timer.unref();
  }
}

// One timer for all calls under way: a timer per call would cost more than the call.

/** A call that must be over by a moment: a link of the list of those under way, which costs less than a Set of them. */
export abstract class Due {
  /** Only for the list. */
  before: Due | null = null;
  after: Due | null = null;
  listed = false;
  /** Microseconds of the monotonic clock. */
  abstract readonly due: number;
  abstract expire(): void;
}

export class Deadlines {
  private first: Due | null = null;
  private timer: NodeJS.Timeout | null = null;
  /** When the timer goes off. */
  private next = Infinity;

  constructor(private readonly now: () => number) {}

  add(call: Due): void {
    call.listed = true;
    call.after = this.first;
    if (this.first !== null) this.first.before = call;
    this.first = call;
    if (call.due < this.next) this.arm(call.due);
  }

  remove(call: Due): void {
    if (!call.listed) return;
    call.listed = false;
    if (call.before === null) this.first = call.after;
    else call.before.after = call.after;
    if (call.after !== null) call.after.before = call.before;
    call.before = null;
    call.after = null;
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
    for (let call = this.first, after: Due | null; call !== null; call = after) {
      after = call.after;
      if (call.due > now) {
        next = Math.min(next, call.due);
        continue;
      }
      this.remove(call);
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

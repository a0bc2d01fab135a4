// Drops expired buckets in steps that never hold up the event loop. No decision depends on it.

/** How often a pass over all tables starts. */
const PASS_EVERY_MS = 10_000;
/** Most buckets looked at in one go. */
const STEP = 1_000;

/** What can be swept: a table of buckets, the accounts. */
export interface Sweepable {
  readonly size: number;
  /** Lets the next `sweep` start from the beginning. */
  rewind(): void;
  /** Looks at up to `count` entries and drops those that equal a fresh one; how many went. */
  sweep(count: number, now: number): number;
}

export class Sweeper {
  private timer: NodeJS.Timeout | null = null;
  private pending: Generator<void> | null = null;

  constructor(private readonly tables: () => Iterable<{ table: Sweepable; now: number }>) {
    this.start();
  }

  /** Also after a stop; while it runs it does nothing. */
  start(): void {
    if (this.timer !== null) return;
    this.timer = setInterval(() => this.startPass(), PASS_EVERY_MS);
    this.timer.unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.pending = null;
  }

  /** A whole pass at once. */
  sweepAll(): void {
    const pass = this.pass();
    while (pass.next().done !== true);
  }

  private startPass(): void {
    if (this.pending !== null) return;
    this.pending = this.pass();
    this.step();
  }

  private step(): void {
    if (this.pending === null) return;
    if (this.pending.next().done === true) this.pending = null;
    else setImmediate(() => this.step()).unref();
  }

  private *pass(): Generator<void> {
    for (const { table, now } of this.tables()) {
      table.rewind();
      for (let left = table.size; left > 0; left -= STEP) {
        table.sweep(STEP, now);
        yield;
      }
    }
  }
}

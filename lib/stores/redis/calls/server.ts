// One server behind a client, as far as its answers tell: its clock, and whether it still answers at all.

import { ServerClock } from './server-clock.js';

/** How long a connection may leave calls unanswered before it is replaced, in milliseconds. */
const LONGEST_SILENCE = 1_000;

export class Server {
  readonly clock = new ServerClock();
  private heardAt = -Infinity;
  private watch: NodeJS.Timeout | null = null;

  /** `onSilence` is called when no call has been answered for too long. */
  constructor(private readonly onSilence: () => void) {}

  /** It answered, be it with an error. `at`: microseconds of the monotonic clock. */
  heard(at: number): void {
    this.heardAt = at;
  }

  /** A call sent at `sent` ran out of time at `now` without an answer. */
  missed(sent: number, now: number): void {
    if (this.watch !== null || this.heardAt >= sent) return;
    const left = LONGEST_SILENCE - (now - sent) / 1000;
    this.watch = setTimeout(
      () => {
        this.watch = null;
        if (this.heardAt < sent) this.onSilence();
      },
      Math.max(0, left),
    );
    this.watch.unref();
  }
}

// Puts the commands of one turn of the event loop into few writes: a system call each would cost more than a decision.

import { hasMethods, type Methods } from './client.js';

/** So many commands are written together at most: the server is to be at work while others are still being made. */
const MOST = 16;

export class WriteBatch {
  private count = 0;
  private corked: Methods<'cork' | 'uncork'> | null = null;

  /** Before each command to `stream`. The first of a turn goes out at once: one by itself waits for nobody. */
  add(stream: unknown): void {
    if (this.count++ === 0) {
      setImmediate(this.end);
    } else if (this.corked === null) {
      if (!hasMethods(stream, 'cork', 'uncork')) return;
      this.corked = stream;
      stream.cork();
    } else if (this.count % MOST === 0) {
      this.corked.uncork();
      this.corked.cork();
    }
  }

  private readonly end = (): void => {
    this.count = 0;
    this.corked?.uncork();
    this.corked = null;
  };
}

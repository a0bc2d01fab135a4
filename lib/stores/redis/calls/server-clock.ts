// What this process knows of a server's clock: enough to tell the server, in its own time, when to give up on a call.

/** How far two clocks may run apart, in parts of the time passed: the most by which NTP slews one. */
const DRIFT = 0.0005;

/**
 * An interval in which (the server's clock − our monotonic one) lies, in microseconds. Every answer that tells the
 * server's time narrows it: that time was read between sending and receiving.
 */
export class ServerClock {
  private low = -Infinity;
  private high = Infinity;
  private learnedAt = 0;

  learn(server: number, sent: number, received: number): void {
    const drift = (received - this.learnedAt) * DRIFT;
    // Both clocks count whole microseconds, rounded down.
    const low = server - received - 1;
    const high = server - sent + 1;
    const stepped = low > this.high + drift || high < this.low - drift;
    this.low = stepped ? low : Math.max(low, this.low - drift);
    this.high = stepped ? high : Math.min(high, this.high + drift);
    this.learnedAt = received;
  }

  /**
   * The server's time when ours will be `due`: rather too early than too late. 0, long past, while nothing is known:
   * a command with that deadline does nothing but tell the time.
   */
  deadline(due: number, now: number): number {
    if (this.low === -Infinity) return 0;
    return Math.floor(due + this.low - Math.max(0, now - this.learnedAt) * DRIFT);
  }
}

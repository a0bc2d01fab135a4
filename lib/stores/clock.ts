// The only file that reads the machine's clocks, so that tests can put another clock in their place.

/** Two clocks in whole microseconds. */
export interface Clock {
  /** Never steps: for intervals (GCRA, leases). Its origin means nothing. */
  monotonic(): number;
  /** Time since the epoch: for windows aligned to it. May step. */
  wall(): number;
}

export const systemClock: Clock = {
  // Counts from some moment before this process, so no bucket's TAT is 0, the fresh one. Cheaper than performance.now().
  monotonic: () => {
    const time = process.hrtime();
    return time[0] * 1e6 + Math.floor(time[1] / 1000);
  },
  wall: () => Date.now() * 1000,
};

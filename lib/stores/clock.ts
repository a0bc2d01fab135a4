// The only file that reads the machine's clocks, so that tests can put another clock in their place.

/** Two clocks in whole microseconds. */
export interface Clock {
  /** Never steps: for intervals (GCRA, leases). Its origin means nothing. */
  monotonic(): number;
  /** Time since the epoch: for windows aligned to it. May step. */
  wall(): number;
}

export const systemClock: Clock = {
  // Shifted by an hour so that a bucket charged right at the start still lies above 0, the fresh TAT.
  monotonic: () => Math.floor(performance.now() * 1000) + 3600e6,
  wall: () => Date.now() * 1000,
};

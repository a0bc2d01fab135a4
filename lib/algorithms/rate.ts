// A quota in integers: the form in which every algorithm and every store reads it.

/** `gcra` drains continuously, `fixed` empties at the end of each window of the wall clock. */
export type Algorithm = 'gcra' | 'fixed';

/** A limit per window, ready for arithmetic. */
export interface Rate {
  readonly algorithm: Algorithm;
  /** Cost units a window holds; also the burst. */
  readonly limit: number;
  /** Length of the window in microseconds. */
  readonly window: number;
  /**
   * What one cost unit occupies: of GCRA the emission interval in microseconds
   * (window / limit, rounded up), of a fixed window 1.
   */
  readonly unit: number;
  /** What a full bucket occupies: `unit × limit`. */
  readonly capacity: number;
}

/** How much slower than asked GCRA may be because its interval is a whole number of microseconds. */
const SLOWEST = 1.01;

/** The rate; `window` in microseconds. Check with `rateProblem` first. */
export function createRate(algorithm: Algorithm, limit: number, window: number): Rate {
  const unit = algorithm === 'gcra' ? Math.ceil(window / limit) : 1;
  return { algorithm, limit, window, unit, capacity: unit * limit };
}

/** Why no rate can be made of these numbers, and what to do; null when all is well. */
export function rateProblem(algorithm: Algorithm, limit: unknown, window: number): string | null {
  if (typeof limit !== 'number' || !Number.isSafeInteger(limit) || limit < 1) {
    return `limit is ${show(limit)}: give a whole number above 0 (null turns a limit off, 0 does not)`;
  }
  if (algorithm === 'gcra' && Math.ceil(window / limit) * limit > window * SLOWEST) {
    return `limit ${limit} in ${window} µs can't be spaced in whole microseconds within 1 %: give a lower limit, or algorithm: 'fixed'`;
  }
  return null;
}

/** A value as a message shows it: short, on one line, strings quoted. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  return String(value);
}

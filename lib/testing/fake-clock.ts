// A clock that moves only when told, so that tests of limits need no sleeping and no tolerance.

import { DURATION_RULE, parseDuration, type Duration } from '../algorithms/duration.js';
import { show } from '../algorithms/rate.js';
import type { Clock } from '../stores/clock.js';

/** Unlike any wall clock, so that code which mixes up the two clocks fails its tests. */
const MONOTONIC_START = 3600e6;

/**
 * Both clocks of a store, in the hands of a test: `new MemoryStore({ clock })`.
 *
 * Time stands still between the calls below.
 */
export class FakeClock implements Clock {
  private monotonicNow = MONOTONIC_START;
  private wallNow: number;

  /** `start` is the wall time; default 2026-01-01T00:00:00Z, where a minute, an hour and a day begin. */
  constructor(start: Date = new Date('2026-01-01T00:00:00Z')) {
    this.wallNow = microsecondsOf(start);
  }

  monotonic(): number {
    return this.monotonicNow;
  }

  wall(): number {
    return this.wallNow;
  }

  /** Lets time pass on both clocks: `advance('30s')`. @throws RangeError when it is no duration. */
  advance<const S extends string>(duration: Duration<S>): void {
    const microseconds = parseDuration(duration);
    if (microseconds === null) throw new RangeError(`duration is ${show(duration)}: give ${DURATION_RULE}`);
    this.advanceMicroseconds(microseconds);
  }

  /** Lets a computed time pass on both clocks; 0 does nothing. @throws RangeError unless whole and not below 0. */
  advanceMicroseconds(microseconds: number): void {
    if (!Number.isSafeInteger(microseconds) || microseconds < 0) {
      throw new RangeError(`microseconds is ${show(microseconds)}: give a whole number, 0 or above`);
    }
    this.monotonicNow += microseconds;
    this.wallNow += microseconds;
  }

  /** Steps the wall clock alone, forth or back, as time synchronisation does. @throws RangeError on an invalid date. */
  setWall(date: Date): void {
    this.wallNow = microsecondsOf(date);
  }
}

function microsecondsOf(date: Date): number {
  const milliseconds = date.getTime();
  if (Number.isNaN(milliseconds)) throw new RangeError('date is invalid: give a valid Date');
  return milliseconds * 1000;
}

// Fixed windows, aligned to the epoch (source A, SA-04): a count that empties when the wall clock enters a new window.
//
// Two full windows can meet at a boundary, so up to twice the limit passes within one window's length. That is what
// source A asks for. GCRA has no double burst: a full bucket drains at the quota's rate.

import type { Rate } from './rate.js';
import type { Bucket, Verdict } from './verdict.js';

/** Where the window that `now` falls into ends. Every time zone has the same windows. */
export function windowEnd(window: number, now: number): number {
  return now - (now % window) + window;
}

/**
 * The count that holds now: the stored one in its own window, 0 in any other. A clock that stepped back therefore
 * opens a new window instead of making anyone wait for the old one.
 */
export function fixedUsed(count: number, storedEnd: number, end: number): number {
  return storedEnd === end ? count : 0;
}

/** How long until `cost` passes: 0 when there is room, Infinity when there never will be. A cost of 0 always passes. */
export function fixedWait(used: number, cost: number, rate: Rate, end: number, now: number): number {
  if (cost > rate.limit) return Infinity;
  return cost === 0 || used + cost <= rate.limit ? 0 : end - now;
}

/** The count after `cost` more, room or not: a debt is kept until the window ends. */
export function fixedCharged(used: number, cost: number): number {
  return Math.min(used + cost, Number.MAX_SAFE_INTEGER);
}

/** What the window counts after a refund of a charge made in the window that ended at `until`. */
export function fixedRefunded(count: number, amount: number, until: number, end: number): number {
  if (until !== end) return count;
  return count > amount ? count - amount : 0;
}

/** The answer of a bucket that now counts `used`, `taken` of it just added. `wait` is that of the cost asked for. */
export function fixedVerdict(
  bucket: Bucket,
  used: number,
  taken: number,
  wait: number,
  end: number,
  now: number,
): Verdict {
  return {
    bucket,
    allowed: wait === 0,
    remaining: Math.max(0, bucket.rate.limit - used),
    resetAfter: end - now,
    retryAfter: wait,
    taken,
    until: end,
  };
}

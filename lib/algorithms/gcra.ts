// The generic cell rate algorithm (ITU-T I.371; source B, SB-08 to SB-10) on one integer per bucket.
//
// A bucket stores its theoretical arrival time (TAT). How far the TAT lies ahead of now is what the bucket holds,
// in microseconds: it drains by itself, each cost unit adds one emission interval, and it never exceeds capacity.

import type { Rate } from './rate.js';
import type { Bucket, Verdict } from './verdict.js';

/** The TAT of a bucket that was never charged: always in the past. */
export const FRESH_TAT = 0;

/**
 * What the bucket holds now, from 0 to `rate.capacity`. A TAT beyond that (a clock that stepped back, a window that
 * was shortened) counts as a full bucket, so nobody ever waits longer than one window.
 */
export function gcraUsed(tat: number, rate: Rate, now: number): number {
  const ahead = tat - now;
  if (ahead <= 0) return 0;
  return ahead < rate.capacity ? ahead : rate.capacity;
}

/** The TAT of a bucket that holds `used` now. */
export function gcraTat(used: number, now: number): number {
  return used === 0 ? FRESH_TAT : now + used;
}

/** How long until a bucket that holds `used` has room for `cost`: 0 when it has, Infinity when it never will. */
export function gcraWait(used: number, cost: number, rate: Rate): number {
  if (cost > rate.limit) return Infinity;
  const over = used + cost * rate.unit - rate.capacity;
  return over > 0 ? over : 0;
}

/** What the bucket holds after `cost` more, room or not: at most capacity, as no TAT lies further ahead. */
export function gcraCharged(used: number, cost: number, rate: Rate): number {
  const sum = used + cost * rate.unit;
  return sum < rate.capacity ? sum : rate.capacity;
}

/**
 * What a bucket that holds `used` holds after a refund of `amount`: at most what the charge still occupies. `until`
 * is the TAT right after the charge.
 */
export function gcraRefunded(used: number, amount: number, until: number, now: number): number {
  const occupied = until > now ? until - now : 0;
  const back = amount < occupied ? amount : occupied;
  return used > back ? used - back : 0;
}

/** The answer of a bucket that now holds `used`, `taken` of it just added. `wait` is that of the cost asked for. */
export function gcraVerdict(bucket: Bucket, used: number, taken: number, wait: number, now: number): Verdict {
  const { rate } = bucket;
  return {
    bucket,
    allowed: wait === 0,
    remaining: Math.floor((rate.capacity - used) / rate.unit),
    resetAfter: used,
    retryAfter: wait,
    taken,
    until: now + used,
  };
}

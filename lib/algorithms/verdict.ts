// What one bucket answers, and which of several answers a client is told.

import type { Rate } from './rate.js';

/**
 * What holds while a shared store is down: the same limit counted by each process, no limit, or nothing passes. Buckets
 * against guessing are counted by each process where others are open.
 */
export type OnStoreError = 'local' | 'open' | 'closed';

/** One counter and what is asked of it. */
export interface Bucket {
  /** The policy's name, as decisions and logs show it. */
  readonly policy: string;
  /** Policy and kind of identity: keys of different namespaces never meet. */
  readonly namespace: string;
  /** The partition key: whose counter it is. Printable, at most 64 bytes. */
  readonly key: string;
  readonly rate: Rate;
  /** Cost units; 0 only looks. */
  readonly cost: number;
  /** Clients are told how long to wait, never what is left: a bucket against guessing. Default false. */
  readonly hidden?: boolean;
  /** While the store is down; absent: as the module says. */
  readonly onStoreError?: OnStoreError;
}

/** A bucket's answer. Times are microseconds from now. */
export interface Verdict {
  readonly bucket: Bucket;
  /** Whether this bucket has room for the cost. */
  readonly allowed: boolean;
  /** Cost units left after this call, never below 0. */
  readonly remaining: number;
  /** Until the bucket is empty again. */
  readonly resetAfter: number;
  /** Until the same cost passes: 0 when it does now, Infinity when it exceeds the limit. */
  readonly retryAfter: number;
  /** What this call added to the bucket, in the units of `rate.capacity`: 0 unless it was charged. */
  readonly taken: number;
  /** The store's time at which what was taken stops counting: with `taken`, all that a refund needs. */
  readonly until: number;
}

/** Whether clients may be told what is left in the bucket. */
export function isShown({ bucket }: Verdict): boolean {
  return bucket.hidden !== true;
}

/** Whether all buckets of a step have room. */
export function allAllowed(verdicts: readonly Verdict[]): boolean {
  for (const verdict of verdicts) if (!verdict.allowed) return false;
  return true;
}

/**
 * The answer to report: of refusals the one with the longest wait, otherwise the bucket with the least room left
 * (source A, SA-45); among equals the one that takes longest to empty.
 */
export function tightest(verdicts: readonly Verdict[]): Verdict {
  let found = verdicts[0];
  for (let i = 1; i < verdicts.length; i++) if (tighter(verdicts[i], found)) found = verdicts[i];
  return found;
}

/** Whether `a` is to be reported rather than `b`. */
export function tighter(a: Verdict, b: Verdict): boolean {
  if (a.allowed !== b.allowed) return b.allowed;
  if (!a.allowed && a.retryAfter !== b.retryAfter) return a.retryAfter > b.retryAfter;
  if (a.remaining !== b.remaining) return a.remaining < b.remaining;
  return a.resetAfter > b.resetAfter;
}

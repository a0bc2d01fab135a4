// The port that every store implements: where buckets live and who reads the clock.

import type { LeaseReply, LeaseRequest } from '../algorithms/lease.js';
import type { Bucket, Verdict } from '../algorithms/verdict.js';
import type { Report } from '../events/event.js';
import { systemClock, type Clock } from './clock.js';

/** A value now, or a promise of it where the store needs I/O. */
export type MaybePromise<T> = T | Promise<T>;

/** A charge to give back: the very verdict that the store answered, and how many of its cost units. */
export interface Refund {
  readonly charge: Verdict;
  readonly cost: number;
}

/** Names a bucket without asking anything of it. */
export interface BucketName {
  readonly namespace: string;
  readonly key: string;
}

/** One call of a purse to the account it borrows from. */
export interface LeaseCall {
  readonly account: BucketName;
  readonly request: LeaseRequest;
}

/**
 * Where buckets live. Also the injection token.
 *
 * Every call takes a list of different buckets, whose order means nothing, and is one step: one round trip, one
 * reading of the store's own clock. A store whose buckets lie on several servers may need a round trip for each and
 * give back what it took too much: it may refuse too often for a moment, never admit too much.
 *
 * `timeout` is what is left of the request's time for stores, in milliseconds; a store that can't answer within it
 * rejects, must not carry the command out later, and is never asked again for what may have been done. A rejected
 * charge, refund or clear may have been done in part. Stores in process answer at once and ignore it.
 *
 * A store rejects with a `TollgateError`: `TOLLGATE_STORE_NOT_DONE` when nothing was done, for sure, and
 * `TOLLGATE_STORE_UNKNOWN` when that can't be known. It may answer a consume or a peek from memory when what it heard
 * within the last second says that the buckets refuse it; what this process gives back or clears is seen at once.
 */
export abstract class RateLimitStore {
  /** The time of this process, for logs and the audit. Stores in process count by it too. */
  readonly clock: Clock = systemClock;

  /** Where the store tells what an operator should know. The module sets it at boot: of apps that share a store the last. */
  report: Report = () => {};

  /**
   * Whether the store itself leaves servers that fail alone for a while, and reports `store-down` and `store-up`.
   * Default false: the module does, for the store as a whole.
   */
  readonly watchesServers: boolean = false;

  /** Charges every bucket, or none: a step that is refused costs nothing and creates nothing. */
  abstract consume(buckets: readonly Bucket[], timeout: number): MaybePromise<Verdict[]>;

  /** What `consume` would answer, charging nothing. */
  abstract peek(buckets: readonly Bucket[], timeout: number): MaybePromise<Verdict[]>;

  /** Charges every bucket whether it has room or not, for costs already incurred. GCRA fills up at one window. */
  abstract charge(buckets: readonly Bucket[], timeout: number): MaybePromise<Verdict[]>;

  /**
   * Gives charges back: only in the window they were made, never more than they still occupy. Two charges of one
   * bucket may be in one list.
   */
  abstract refund(refunds: readonly Refund[], timeout: number): MaybePromise<void>;

  /** Forgets buckets, as if they were never charged. Accounts are not touched: that would mint points. */
  abstract clear(names: readonly BucketName[], timeout: number): MaybePromise<void>;

  /**
   * Lets purses settle with their accounts (source C): independent calls, not all or nothing. After a rejection a
   * purse repeats its call with the same `seq`, which is safe whatever became of the first.
   */
  abstract lease(calls: readonly LeaseCall[], timeout: number): MaybePromise<LeaseReply[]>;

  /**
   * An app starts to use the store; each such call is answered by one of `close`. Waits for no connection. Rejects when
   * the store can never work as it is configured: the boot fails.
   */
  open(): MaybePromise<void> {}

  /** Releases what the store itself opened (timers, connections). Calling it twice is fine. */
  abstract close(): MaybePromise<void>;
}

// A shared store that may fail: every call is answered in time, by the store or by each bucket's own policy for when it
// is down, and nothing that may have been done is done again.

import type { LeaseReply } from '../algorithms/lease.js';
import type { Bucket, OnStoreError, Verdict } from '../algorithms/verdict.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { ONLY_SERVER, Outages } from '../stores/outages.js';
import {
  RateLimitStore,
  type BucketName,
  type LeaseCall,
  type MaybePromise,
  type Refund,
} from '../stores/store.js';

/** How the calls of a shared store go on when it fails. */
export interface FailoverOptions {
  /** For buckets without a word of their own. */
  readonly onStoreError: OnStoreError;
  /** What `'closed'` throws. */
  readonly unavailable: () => Error;
  /** All limits are on trial and refuse nothing: `'closed'` is `'local'`. Default false. */
  readonly dryRun?: boolean;
}

export class FailoverStore extends RateLimitStore {
  override readonly clock;
  /** Kept for good: a store that comes and goes gives nobody a fresh bucket each time. */
  private readonly local: MemoryStore;
  /** Verdicts of the local store: what was charged there is given back there. */
  private readonly ofLocal = new WeakSet<Verdict>();
  /** Null: the store looks after its servers itself. */
  private readonly outages: Outages | null;

  constructor(
    private readonly shared: RateLimitStore,
    private readonly options: FailoverOptions,
  ) {
    super();
    this.clock = shared.clock;
    this.local = new MemoryStore({ clock: shared.clock });
    this.outages = shared.watchesServers
      ? null
      : new Outages(
          (event) => this.report(event),
          () => shared.clock.monotonic(),
          () => true,
        );
  }

  override consume(buckets: readonly Bucket[], timeout: number): MaybePromise<Verdict[]> {
    return this.ask(
      timeout,
      () => this.shared.consume(buckets, timeout),
      () => this.instead(buckets, (own) => this.local.consume(own)),
    );
  }

  override peek(buckets: readonly Bucket[], timeout: number): MaybePromise<Verdict[]> {
    return this.ask(
      timeout,
      () => this.shared.peek(buckets, timeout),
      () => this.instead(buckets, (own) => this.local.peek(own)),
    );
  }

  override charge(buckets: readonly Bucket[], timeout: number): MaybePromise<Verdict[]> {
    return this.ask(
      timeout,
      () => this.shared.charge(buckets, timeout),
      () => this.instead(buckets, (own) => this.local.charge(own)),
    );
  }

  /** Rejects where the store can't be told: nobody knows whether it was, and it isn't told again. */
  override async refund(refunds: readonly Refund[], timeout: number): Promise<void> {
    this.local.refund(refunds.filter(({ charge }) => this.ofLocal.has(charge)));
    const others = refunds.filter(({ charge }) => charge.taken > 0 && !this.ofLocal.has(charge));
    if (others.length > 0) await this.call(() => this.shared.refund(others, timeout));
  }

  /** Where the store can't be told, what was counted here meanwhile is forgotten, and no more. */
  override async clear(names: readonly BucketName[], timeout: number): Promise<void> {
    this.local.clear(names);
    await this.ask(
      timeout,
      () => this.shared.clear(names, timeout),
      () => {},
    );
  }

  override async lease(calls: readonly LeaseCall[], timeout: number): Promise<LeaseReply[]> {
    return this.call(() => this.shared.lease(calls, timeout));
  }

  /** What the store was opened for is its own business. */
  override close(): MaybePromise<void> {
    return this.local.close();
  }

  private ask<T>(
    timeout: number,
    call: () => MaybePromise<T>,
    instead: () => MaybePromise<T>,
  ): MaybePromise<T> {
    // A request that has used its time up says nothing about the store.
    if (timeout <= 0) return instead();
    try {
      const answer = this.call(call);
      return answer instanceof Promise ? answer.catch(instead) : answer;
    } catch {
      return instead();
    }
  }

  private call<T>(call: () => MaybePromise<T>): MaybePromise<T> {
    return this.outages === null ? call() : this.outages.ask(ONLY_SERVER, call);
  }

  private instead(buckets: readonly Bucket[], step: (own: readonly Bucket[]) => Verdict[]): Verdict[] {
    if (buckets.some((bucket) => this.policyOf(bucket) === 'closed')) throw this.options.unavailable();
    const own = buckets.filter((bucket) => this.policyOf(bucket) === 'local');
    const verdicts = own.length === 0 ? [] : step(own);
    for (const verdict of verdicts) this.ofLocal.add(verdict);
    return buckets.map(
      (bucket) => verdicts.find((verdict) => verdict.bucket === bucket) ?? unlimited(bucket),
    );
  }

  /** Buckets against guessing are never without a limit. */
  private policyOf({ onStoreError, hidden }: Bucket): OnStoreError {
    const policy = onStoreError ?? this.options.onStoreError;
    if (policy === 'closed' && this.options.dryRun === true) return 'local';
    return policy === 'open' && hidden === true ? 'local' : policy;
  }
}

/** The answer of no limit at all. */
export function unlimited(bucket: Bucket): Verdict {
  return {
    bucket,
    allowed: true,
    remaining: bucket.rate.limit,
    resetAfter: 0,
    retryAfter: 0,
    taken: 0,
    until: 0,
  };
}

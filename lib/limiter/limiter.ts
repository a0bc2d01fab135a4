// One decision over a store: the only way by which policies reach buckets.

import type { Bucket, Verdict } from '../algorithms/verdict.js';
import type { BucketName, MaybePromise, RateLimitStore, Refund } from '../stores/store.js';

export class Limiter {
  private enabled = true;

  /** `timeout`: most milliseconds that one call waits for the store. */
  constructor(
    readonly store: RateLimitStore,
    private readonly timeout: number,
  ) {}

  /** Charges all buckets or none. Synchronous where the store is. */
  consume(buckets: readonly Bucket[]): MaybePromise<Verdict[]> {
    if (!this.enabled) return this.ignore(buckets);
    return this.store.consume(buckets, this.timeout);
  }

  peek(buckets: readonly Bucket[]): MaybePromise<Verdict[]> {
    if (!this.enabled) return this.ignore(buckets);
    return this.store.peek(buckets, this.timeout);
  }

  charge(buckets: readonly Bucket[]): MaybePromise<Verdict[]> {
    if (!this.enabled) return this.ignore(buckets);
    return this.store.charge(buckets, this.timeout);
  }

  refund(refunds: readonly Refund[]): MaybePromise<void> {
    return this.store.refund(refunds, this.timeout);
  }

  clear(names: readonly BucketName[]): MaybePromise<void> {
    if (!this.enabled) return;
    return this.store.clear(names, this.timeout);
  }

  /** Switches limits off and on again: for tests. While off every call passes, nothing is counted or forgotten. */
  setEnabled(enabled: boolean): void {
    this.enabled = enabled;
  }

  private ignore(buckets: readonly Bucket[]): Verdict[] {
    return buckets.map((bucket) => ({
      bucket,
      allowed: true,
      remaining: bucket.rate.limit,
      resetAfter: 0,
      retryAfter: 0,
      taken: 0,
      until: 0,
    }));
  }
}

// One decision over a store: the only way by which policies reach buckets.

import type { Bucket, Verdict } from '../algorithms/verdict.js';
import { chain } from '../stores/chain.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import type { BucketName, MaybePromise, RateLimitStore, Refund } from '../stores/store.js';
import { unlimited } from './failover.store.js';
import type { StoreTime } from './store-time.js';

export class Limiter {
  private enabled = true;
  /** Answers at once: there is no time to share. */
  private readonly inProcess: boolean;

  /** `timeout`: most milliseconds that one request waits for the store, over all its steps. */
  constructor(
    readonly store: RateLimitStore,
    private readonly timeout: number,
  ) {
    this.inProcess = store instanceof MemoryStore;
  }

  /** Charges all buckets or none. Synchronous where the store is. `time`: of the request; absent: a step by itself. */
  consume(buckets: readonly Bucket[], time?: StoreTime): MaybePromise<Verdict[]> {
    if (!this.enabled) return buckets.map(unlimited);
    if (time === undefined || this.inProcess) return this.store.consume(buckets, this.timeout);
    return this.within(time, (left) => this.store.consume(buckets, left));
  }

  peek(buckets: readonly Bucket[], time?: StoreTime): MaybePromise<Verdict[]> {
    if (!this.enabled) return buckets.map(unlimited);
    if (time === undefined || this.inProcess) return this.store.peek(buckets, this.timeout);
    return this.within(time, (left) => this.store.peek(buckets, left));
  }

  charge(buckets: readonly Bucket[], time?: StoreTime): MaybePromise<Verdict[]> {
    if (!this.enabled) return buckets.map(unlimited);
    if (time === undefined || this.inProcess) return this.store.charge(buckets, this.timeout);
    return this.within(time, (left) => this.store.charge(buckets, left));
  }

  refund(refunds: readonly Refund[]): MaybePromise<void> {
    return this.store.refund(refunds, this.timeout);
  }

  clear(names: readonly BucketName[], time?: StoreTime): MaybePromise<void> {
    if (!this.enabled) return;
    if (time === undefined || this.inProcess) return this.store.clear(names, this.timeout);
    return this.within(time, (left) => this.store.clear(names, left));
  }

  /** Switches limits off and on again: for tests. While off every call passes and nothing is counted. */
  setEnabled(enabled: boolean): void {
    this.enabled = enabled;
  }

  /** Takes what the call waits off the request's time. */
  private within<T>(time: StoreTime, call: (left: number) => MaybePromise<T>): MaybePromise<T> {
    const { clock } = this.store;
    const asked = clock.monotonic();
    return chain(call(Math.max(0, this.timeout - time.waited)), (answer) => {
      time.waited += (clock.monotonic() - asked) / 1_000;
      return answer;
    });
  }
}

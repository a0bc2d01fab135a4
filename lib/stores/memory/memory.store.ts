// Buckets in this process: the default store. Answers at once, bounded per policy, swept in small steps.

import type { LeaseReply } from '../../algorithms/lease.js';
import type { Algorithm } from '../../algorithms/rate.js';
import { allAllowed, type Bucket, type Verdict } from '../../algorithms/verdict.js';
import { badConfiguration } from '../../errors.js';
import { systemClock, type Clock } from '../clock.js';
import { RateLimitStore, type BucketName, type LeaseCall, type Refund } from '../store.js';
import { FixedTable } from './fixed-table.js';
import { GcraTable } from './gcra-table.js';
import { LeaseAccounts } from './lease-accounts.js';
import { Sweeper, type Sweepable } from './sweeper.js';
import type { Table } from './table.js';

export interface MemoryStoreOptions {
  /** Most keys per policy and kind of identity; newcomers beyond share one bucket. Default 1,000,000. */
  readonly maxKeys?: number;
  /** Time. Default the machine's: monotonic for GCRA, wall clock for fixed windows. */
  readonly clock?: Clock;
}

/** One moment, by what each algorithm counts on. */
type Instant = Readonly<Record<Algorithm, number>>;

export class MemoryStore extends RateLimitStore {
  private readonly gcra = new Map<string, GcraTable>();
  private readonly fixed = new Map<string, FixedTable>();
  private readonly accounts = new LeaseAccounts();
  override readonly clock: Clock;
  private readonly maxKeys: number;
  private readonly sweeper: Sweeper;
  private users = 0;

  /** @throws TollgateError when `maxKeys` isn't a whole number above 0. */
  constructor(options: MemoryStoreOptions = {}) {
    super();
    const { maxKeys = 1_000_000, clock = systemClock } = options;
    if (!Number.isSafeInteger(maxKeys) || maxKeys < 1 || maxKeys > 16_000_000) {
      throw badConfiguration('MemoryStore', [
        `maxKeys is ${maxKeys}: give a whole number from 1 to 16,000,000 (what a Map can hold)`,
      ]);
    }
    this.maxKeys = maxKeys;
    this.clock = clock;
    this.sweeper = new Sweeper(() => this.sweepable());
  }

  /** How many buckets are held, over all namespaces. */
  get size(): number {
    let size = 0;
    for (const table of this.gcra.values()) size += table.size;
    for (const table of this.fixed.values()) size += table.size;
    return size;
  }

  override consume(buckets: readonly Bucket[]): Verdict[] {
    if (buckets.length === 1) {
      const bucket = buckets[0];
      return [this.table(bucket).consume(bucket, this.now(bucket))];
    }
    const now = this.instant();
    const verdicts = this.peekAt(buckets, now);
    if (!allAllowed(verdicts)) return verdicts;
    const charges = buckets.map((bucket) => this.table(bucket).consume(bucket, now[bucket.rate.algorithm]));
    return allAllowed(charges) ? charges : this.undone(buckets, charges, now);
  }

  override peek(buckets: readonly Bucket[]): Verdict[] {
    return this.peekAt(buckets, this.instant());
  }

  override charge(buckets: readonly Bucket[]): Verdict[] {
    const now = this.instant();
    return buckets.map((bucket) => this.table(bucket).charge(bucket, now[bucket.rate.algorithm]));
  }

  override refund(refunds: readonly Refund[]): void {
    for (const refund of refunds) {
      this.table(refund.charge.bucket).refund(refund, this.now(refund.charge.bucket));
    }
  }

  override clear(names: readonly BucketName[]): void {
    for (const { namespace, key } of names) {
      this.gcra.get(namespace)?.clear(key);
      this.fixed.get(namespace)?.clear(key);
    }
  }

  /** Forgets everything, shared overflow buckets included: for tests. */
  clearAll(): void {
    this.gcra.clear();
    this.fixed.clear();
    this.accounts.clear();
  }

  /** Looks at every bucket once and drops those that equal a fresh one, at once: the timer does the same in steps. */
  sweep(): void {
    this.sweeper.sweepAll();
  }

  override lease(calls: readonly LeaseCall[]): LeaseReply[] {
    const now = this.clock.monotonic();
    return calls.map((call) => this.accounts.lease(call, now));
  }

  override open(): void {
    this.users++;
    this.sweeper.start();
  }

  /** Stops sweeping once no app uses the store; counting goes on. */
  override close(): void {
    this.users = Math.max(0, this.users - 1);
    if (this.users === 0) this.sweeper.stop();
  }

  private peekAt(buckets: readonly Bucket[], now: Instant): Verdict[] {
    return buckets.map((bucket) => this.table(bucket).peek(bucket, now[bucket.rate.algorithm]));
  }

  /** Two newcomers met in the shared bucket of a full table: it had room for each, but not for both. */
  private undone(buckets: readonly Bucket[], charges: readonly Verdict[], now: Instant): Verdict[] {
    for (const charge of charges) {
      const { cost, rate } = charge.bucket;
      this.table(charge.bucket).refund({ charge, cost }, now[rate.algorithm]);
    }
    const states = this.peekAt(buckets, now);
    return states.map((state, index) => {
      const { allowed, retryAfter } = charges[index];
      return { ...state, allowed, retryAfter };
    });
  }

  /** One reading for a whole step. */
  private instant(): Instant {
    return { gcra: this.clock.monotonic(), fixed: this.clock.wall() };
  }

  private now(bucket: Bucket): number {
    return bucket.rate.algorithm === 'gcra' ? this.clock.monotonic() : this.clock.wall();
  }

  private table(bucket: Bucket): Table {
    const { namespace } = bucket;
    if (bucket.rate.algorithm === 'gcra') {
      return this.gcra.get(namespace) ?? this.create(this.gcra, namespace, GcraTable);
    }
    return this.fixed.get(namespace) ?? this.create(this.fixed, namespace, FixedTable);
  }

  private create<T extends Table>(
    tables: Map<string, T>,
    namespace: string,
    kind: new (maxKeys: number, onOverflow: () => void) => T,
  ): T {
    let reported = false;
    const table = new kind(this.maxKeys, () => {
      if (reported) return;
      reported = true;
      this.report({ type: 'overflow', namespace, maxKeys: this.maxKeys });
    });
    tables.set(namespace, table);
    return table;
  }

  private *sweepable(): Iterable<{ table: Sweepable; now: number }> {
    yield { table: this.accounts, now: this.clock.monotonic() };
    for (const table of this.gcra.values()) yield { table, now: this.clock.monotonic() };
    for (const table of this.fixed.values()) yield { table, now: this.clock.wall() };
  }
}

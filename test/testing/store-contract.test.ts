import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { LeaseReply } from '../../lib/algorithms/lease.js';
import { createRate } from '../../lib/algorithms/rate.js';
import type { Bucket, Verdict } from '../../lib/algorithms/verdict.js';
import type { Clock } from '../../lib/stores/clock.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { RateLimitStore, type BucketName, type LeaseCall, type Refund } from '../../lib/stores/store.js';
import type { FakeClock } from '../../lib/testing/fake-clock.js';
import { storeContract } from '../../lib/testing/store-contract.js';

/** As a shared store works: over I/O, and with one clock for everything, which may step. */
class RemoteStore extends RateLimitStore {
  protected readonly server: MemoryStore;
  closed = 0;

  constructor(clock: Clock) {
    super();
    this.server = new MemoryStore({ clock: { monotonic: () => clock.wall(), wall: () => clock.wall() } });
  }

  get size(): number {
    return this.server.size;
  }

  override async consume(buckets: readonly Bucket[], _timeout: number): Promise<Verdict[]> {
    await turn();
    return this.server.consume(buckets);
  }

  override async peek(buckets: readonly Bucket[], _timeout: number): Promise<Verdict[]> {
    await turn();
    return this.server.peek(buckets);
  }

  override async charge(buckets: readonly Bucket[], _timeout: number): Promise<Verdict[]> {
    await turn();
    return this.server.charge(buckets);
  }

  override async refund(refunds: readonly Refund[], _timeout: number): Promise<void> {
    await turn();
    this.server.refund(refunds);
  }

  override async clear(names: readonly BucketName[], _timeout: number): Promise<void> {
    await turn();
    this.server.clear(names);
  }

  override async lease(calls: readonly LeaseCall[], _timeout: number): Promise<LeaseReply[]> {
    await turn();
    return this.server.lease(calls);
  }

  override async close(): Promise<void> {
    await turn();
    this.closed++;
    this.server.close();
  }
}

/** Runs the contract without a test runner: the titles that fail, and how many there are. */
async function failures(
  create: (clock: FakeClock) => RemoteStore,
): Promise<{ failed: string[]; count: number }> {
  const tests: [string, () => Promise<void>][] = [];
  storeContract({ test: (title, run) => tests.push([title, run]), create, count: (store) => store.size });
  const failed: string[] = [];
  for (const [title, run] of tests) {
    try {
      await run();
    } catch {
      failed.push(title);
    }
  }
  return { failed, count: tests.length };
}

describe('the contract, kept by a store over I/O that has one clock', () => {
  storeContract({ test: it, create: (clock) => new RemoteStore(clock), count: (store) => store.size });
});

describe('the contract', () => {
  it('is made of different sentences, runs without a test runner and closes each store', async () => {
    const stores: RemoteStore[] = [];
    const titles: string[] = [];
    storeContract({
      test: (title) => titles.push(title),
      create: (clock) => new RemoteStore(clock),
    });
    expect(new Set(titles).size).toBe(titles.length);
    const { failed, count } = await failures((clock) => {
      const store = new RemoteStore(clock);
      stores.push(store);
      return store;
    });
    expect(failed).toEqual([]);
    expect(stores).toHaveLength(count);
    expect(stores.every((store) => store.closed > 0)).toBe(true);
  });

  it('passes where the store cannot count its buckets', async () => {
    const failed: string[] = [];
    const runs: Promise<void>[] = [];
    storeContract({
      test: (title, run) => runs.push(run().catch(() => void failed.push(title))),
      create: (clock) => new RemoteStore(clock),
    });
    await Promise.all(runs);
    expect(failed).toEqual([]);
  });
});

/** A store that is wrong in one way, and a word of the sentence that must find it. */
const BROKEN: readonly [string, RegExp, (clock: FakeClock) => RemoteStore][] = [
  [
    'admits one too many',
    /admits exactly/,
    (clock) =>
      new (class extends RemoteStore {
        override async consume(buckets: readonly Bucket[]) {
          return this.server.consume(
            buckets.map((bucket) => ({
              ...bucket,
              rate: createRate(bucket.rate.algorithm, bucket.rate.limit + 1, bucket.rate.window),
            })),
          );
        }
      })(clock),
  ],
  [
    'reads, waits and writes',
    /of 50 calls at once/,
    (clock) =>
      new (class extends RemoteStore {
        override async consume(buckets: readonly Bucket[]) {
          const verdicts = this.server.peek(buckets);
          if (!verdicts.every((verdict) => verdict.allowed)) return verdicts;
          await turn();
          return this.server.charge(buckets).map((verdict) => ({ ...verdict, allowed: true, retryAfter: 0 }));
        }
      })(clock),
  ],
  [
    'takes a repeated lease call for a new one',
    /repeated with its seq/,
    (clock) =>
      new (class extends RemoteStore {
        private calls = 0;

        override async lease(calls: readonly LeaseCall[]) {
          this.calls++;
          const { calls: seq } = this;
          return this.server.lease(
            calls.map(({ account, request }) => ({ account, request: { ...request, seq } })),
          );
        }
      })(clock),
  ],
  [
    'lets every purse have what it needs',
    /borrow from one balance/,
    (clock) =>
      new (class extends RemoteStore {
        override async lease(calls: readonly LeaseCall[]) {
          return this.server.lease(calls).map((reply, index) => ({
            ...reply,
            granted: Math.max(reply.granted, calls[index].request.need),
          }));
        }
      })(clock),
  ],
  [
    'consumes bucket by bucket',
    /one full bucket charges none/,
    (clock) =>
      new (class extends RemoteStore {
        override async consume(buckets: readonly Bucket[]) {
          return buckets.flatMap((bucket) => this.server.consume([bucket]));
        }
      })(clock),
  ],
  [
    'counts refusals',
    /refusals neither cost/,
    (clock) =>
      new (class extends RemoteStore {
        override async consume(buckets: readonly Bucket[]) {
          const verdicts = this.server.consume(buckets);
          if (!verdicts.every((verdict) => verdict.allowed)) this.server.charge(buckets);
          return verdicts;
        }
      })(clock),
  ],
  [
    'creates a counter for a refusal',
    /refused list creates no counter/,
    (clock) =>
      new (class extends RemoteStore {
        private readonly touched = new Set<string>();
        override get size() {
          return Math.max(super.size, this.touched.size);
        }
        override async consume(buckets: readonly Bucket[]) {
          for (const { namespace, key } of buckets) this.touched.add(`${namespace} ${key}`);
          return this.server.consume(buckets);
        }
      })(clock),
  ],
  [
    'peeks by consuming',
    /a peek changes nothing/,
    (clock) =>
      new (class extends RemoteStore {
        override async peek(buckets: readonly Bucket[]) {
          return this.server.consume(buckets);
        }
      })(clock),
  ],
  [
    'forgets debts',
    /fixed: a debt is kept/,
    (clock) =>
      new (class extends RemoteStore {
        override async charge(buckets: readonly Bucket[]) {
          return this.server.consume(buckets);
        }
      })(clock),
  ],
  [
    'refunds whatever it is told',
    /more than was charged|still occupies/,
    (clock) =>
      new (class extends RemoteStore {
        override async refund(refunds: readonly Refund[]) {
          for (const { charge, cost } of refunds) {
            const until = this.server.peek([{ ...charge.bucket, cost: 0 }])[0].until;
            this.server.refund([{ charge: { ...charge, taken: Infinity, until }, cost }]);
          }
        }
      })(clock),
  ],
  [
    'refunds into the next window',
    /does not reach into it/,
    (clock) =>
      new (class extends RemoteStore {
        override async refund(refunds: readonly Refund[]) {
          for (const { charge, cost } of refunds) {
            const until = this.server.peek([{ ...charge.bucket, cost: 0 }])[0].until;
            this.server.refund([{ charge: { ...charge, until }, cost }]);
          }
        }
      })(clock),
  ],
  [
    'creates a bucket by a refund',
    /creates none/,
    (clock) =>
      new (class extends RemoteStore {
        override async refund(refunds: readonly Refund[]) {
          for (const refund of refunds) this.server.charge([{ ...refund.charge.bucket, cost: 1 }]);
          this.server.refund(refunds);
        }
      })(clock),
  ],
  [
    'clears a namespace at once',
    /forgets that bucket alone/,
    (clock) =>
      new (class extends RemoteStore {
        override async clear() {
          this.server.clearAll();
        }
      })(clock),
  ],
  [
    'folds keys',
    /keys are told apart/,
    (clock) =>
      new (class extends RemoteStore {
        override async consume(buckets: readonly Bucket[]) {
          const folded = this.server.consume(
            buckets.map((bucket) => ({ ...bucket, key: bucket.key.trim().toLowerCase() })),
          );
          return folded.map((verdict, i) => ({ ...verdict, bucket: buckets[i] }));
        }
      })(clock),
  ],
  [
    'joins namespace and key with a colon',
    /namespaces are told apart/,
    (clock) =>
      new (class extends RemoteStore {
        private joined(buckets: readonly Bucket[]) {
          return buckets.map((bucket) => ({
            ...bucket,
            namespace: '',
            key: `${bucket.namespace}:${bucket.key}`,
          }));
        }
        override async consume(buckets: readonly Bucket[]) {
          return this.server
            .consume(this.joined(buckets))
            .map((verdict, i) => ({ ...verdict, bucket: buckets[i] }));
        }
        override async peek(buckets: readonly Bucket[]) {
          return this.server
            .peek(this.joined(buckets))
            .map((verdict, i) => ({ ...verdict, bucket: buckets[i] }));
        }
      })(clock),
  ],
  [
    'counts in milliseconds',
    /below a millisecond/,
    (clock) => new RemoteStore({ monotonic: () => 0, wall: () => Math.floor(clock.wall() / 1_000) * 1_000 }),
  ],
  [
    'starts windows when it was started',
    /aligned to the epoch/,
    (clock) => new RemoteStore({ monotonic: () => 0, wall: () => clock.wall() + 12_345 }),
  ],
  [
    'answers in another order',
    /each by its own cost/,
    (clock) =>
      new (class extends RemoteStore {
        override async consume(buckets: readonly Bucket[]) {
          return this.server.consume(buckets).toReversed();
        }
      })(clock),
  ],
  [
    'answers fractions',
    /admits exactly/,
    (clock) =>
      new (class extends RemoteStore {
        override async consume(buckets: readonly Bucket[]) {
          return this.server
            .consume(buckets)
            .map((verdict) => ({ ...verdict, resetAfter: verdict.resetAfter / 7 }));
        }
      })(clock),
  ],
  [
    'has a finite wait for what can never pass',
    /can never pass/,
    (clock) =>
      new (class extends RemoteStore {
        override async consume(buckets: readonly Bucket[]) {
          const verdicts = this.server.consume(buckets);
          return verdicts.map((verdict) =>
            verdict.retryAfter === Infinity
              ? { ...verdict, retryAfter: verdict.bucket.rate.window }
              : verdict,
          );
        }
      })(clock),
  ],
];

describe('the contract finds a store that', () => {
  it.each(BROKEN)('%s', async (_what, sentence, create) => {
    const { failed, count } = await failures(create);
    expect(failed.filter((title) => sentence.test(title))).not.toEqual([]);
    expect(failed.length).toBeLessThan(count);
  });
});

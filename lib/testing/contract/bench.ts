// What every test of the store contract works with: an empty store, its clock, and a check of every answer.

import { strict as assert } from 'node:assert';
import { parseDuration, type Duration } from '../../algorithms/duration.js';
import { createRate, type Algorithm } from '../../algorithms/rate.js';
import type { Bucket, Verdict } from '../../algorithms/verdict.js';
import type { BucketName, MaybePromise, RateLimitStore, Refund } from '../../stores/store.js';
import type { FakeClock } from '../fake-clock.js';

/** Time a store has per call, in milliseconds: enough for any. */
const TIMEOUT = 5_000;

/** Describes one behaviour: a sentence, and a run that fails where the store differs. */
export type Specify = (title: string, run: (bench: Bench) => Promise<void>) => void;

export const ALGORITHMS: readonly Algorithm[] = ['gcra', 'fixed'];

/** A bucket of `limit` per `per`; by default of the client 'client' of the policy 'policy', cost 1. */
export function bucketOf<const S extends string>(
  algorithm: Algorithm,
  limit: number,
  per: Duration<S>,
  about: Partial<Pick<Bucket, 'policy' | 'namespace' | 'key' | 'cost'>> = {},
): Bucket {
  const window = parseDuration(per);
  assert(window !== null, 'a duration');
  const { policy = 'policy', namespace = policy, key = 'client', cost = 1 } = about;
  return { policy, namespace, key, cost, rate: createRate(algorithm, limit, window) };
}

export class Bench {
  constructor(
    readonly store: RateLimitStore,
    readonly clock: FakeClock,
    private readonly counter: (() => MaybePromise<number>) | null,
  ) {}

  /** Consumes one bucket; `cost` instead of its own when given. */
  async consume(bucket: Bucket, cost = bucket.cost): Promise<Verdict> {
    const [verdict] = await this.consumeAll([{ ...bucket, cost }]);
    return verdict;
  }

  async peek(bucket: Bucket, cost = bucket.cost): Promise<Verdict> {
    const [verdict] = await this.peekAll([{ ...bucket, cost }]);
    return verdict;
  }

  async charge(bucket: Bucket, cost = bucket.cost): Promise<Verdict> {
    const [verdict] = await this.chargeAll([{ ...bucket, cost }]);
    return verdict;
  }

  async consumeAll(buckets: readonly Bucket[]): Promise<Verdict[]> {
    const verdicts = sound(buckets, await this.store.consume(buckets, TIMEOUT));
    const all = verdicts.every((verdict) => verdict.allowed);
    for (const { bucket, taken } of verdicts) {
      assert.equal(taken, all ? bucket.cost * bucket.rate.unit : 0, 'taken: all that was asked, or nothing');
    }
    return verdicts;
  }

  async peekAll(buckets: readonly Bucket[]): Promise<Verdict[]> {
    const verdicts = sound(buckets, await this.store.peek(buckets, TIMEOUT));
    for (const { taken } of verdicts) assert.equal(taken, 0, 'a peek takes nothing');
    return verdicts;
  }

  async chargeAll(buckets: readonly Bucket[]): Promise<Verdict[]> {
    return sound(buckets, await this.store.charge(buckets, TIMEOUT));
  }

  async refund(...refunds: readonly Refund[]): Promise<void> {
    await this.store.refund(refunds, TIMEOUT);
  }

  async clear(...names: readonly BucketName[]): Promise<void> {
    await this.store.clear(names, TIMEOUT);
  }

  /** What was admitted of `calls` consumes, all under way at once. */
  async race(calls: number, bucket: Bucket): Promise<Verdict[]> {
    const verdicts = await Promise.all(Array.from({ length: calls }, () => this.consume(bucket)));
    return verdicts.filter((verdict) => verdict.allowed);
  }

  /** Admissions until the first refusal; more than `most` are an error. */
  async admitted(bucket: Bucket, most: number): Promise<number> {
    for (let count = 0; count <= most; count++) {
      const { allowed } = await this.consume(bucket);
      if (!allowed) return count;
    }
    return assert.fail(`more than ${most} admitted`);
  }

  /** Checks how many buckets the store holds, where it can tell. */
  async holds(expected: number): Promise<void> {
    if (this.counter !== null) assert.equal(await this.counter(), expected, 'buckets held by the store');
  }
}

/** What is true of every answer, whatever was asked. */
function sound(buckets: readonly Bucket[], verdicts: Verdict[]): Verdict[] {
  assert.equal(verdicts.length, buckets.length, 'one verdict per bucket');
  for (const [index, verdict] of verdicts.entries()) {
    const asked = buckets[index];
    const { namespace, key, rate } = verdict.bucket;
    assert.deepEqual([namespace, key], [asked.namespace, asked.key], 'verdicts come in the order asked');
    for (const name of ['remaining', 'resetAfter', 'taken', 'until'] as const) {
      assert(Number.isSafeInteger(verdict[name]), `${name} is ${verdict[name]}: not a whole number`);
    }
    const { retryAfter, remaining, resetAfter, allowed, taken } = verdict;
    assert(retryAfter === Infinity || Number.isSafeInteger(retryAfter), `retryAfter is ${retryAfter}`);
    assert.equal(retryAfter === 0, allowed, 'retryAfter is 0 exactly when allowed');
    assert.equal(
      retryAfter === Infinity,
      asked.cost > rate.limit,
      'retryAfter is Infinity exactly when never',
    );
    assert(remaining >= 0 && remaining <= rate.limit, `remaining is ${remaining} of ${rate.limit}`);
    const longest = Math.max(rate.window, rate.algorithm === 'gcra' ? rate.capacity : 0);
    assert(resetAfter >= 0 && resetAfter <= longest, `resetAfter is ${resetAfter}: more than a window`);
    assert(
      retryAfter === Infinity || retryAfter <= longest,
      `retryAfter is ${retryAfter}: more than a window`,
    );
    assert(taken >= 0, `taken is ${taken}`);
  }
  return verdicts;
}

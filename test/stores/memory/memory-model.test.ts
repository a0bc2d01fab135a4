import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRate, type Algorithm } from '../../../lib/algorithms/rate.js';
import type { Bucket, Verdict } from '../../../lib/algorithms/verdict.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';
import { ReferenceModel, type Receipt } from './reference-model.js';

const MINUTE = 60_000_000;
/** Divisors of a minute, so that the fractions of the model are whole microseconds in the store. */
const LIMITS = [1, 2, 3, 5, 10, 12, 60, 100];

const buckets = fc.uniqueArray(
  fc.record({
    algorithm: fc.constantFrom<Algorithm>('gcra', 'fixed'),
    key: fc.constantFrom('a', 'b'),
    limit: fc.constantFrom(...LIMITS),
    cost: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 110 })),
  }),
  { minLength: 1, maxLength: 3, selector: ({ algorithm, key }) => `${algorithm} ${key}` },
);

const steps = fc.array(
  fc.record({
    after: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.integer({ min: 1, max: 2 * MINUTE }),
    ),
    call: fc.constantFrom(
      'consume',
      'consume',
      'consume',
      'consume',
      'charge',
      'peek',
      'refund',
      'clear',
      'sweep',
    ),
    on: buckets,
    refund: fc.integer({ min: 1, max: 5 }),
  }),
  { minLength: 5, maxLength: 40 },
);

function bucketOf(on: { algorithm: Algorithm; key: string; limit: number; cost: number }): Bucket {
  const rate = createRate(on.algorithm, on.limit, MINUTE);
  return { policy: 'p', namespace: on.algorithm, key: on.key, cost: on.cost, rate };
}

function answerOf({ allowed, remaining, resetAfter, retryAfter }: Verdict) {
  return { allowed, remaining, resetAfter, retryAfter };
}

describe('MemoryStore', () => {
  it('answers as a list of charges and exact fractions do, limits changed midway', () => {
    const seen = { admitted: 0, refused: 0, refunded: 0 };
    fc.assert(
      fc.property(steps, (run) => {
        const clock = new FakeClock();
        const store = new MemoryStore({ clock });
        const model = new ReferenceModel();
        // Given back last in, first out: what came before a charge is then still in front of it.
        let receipts: { charge: Verdict; receipt: Receipt }[] = [];
        const keep = (verdicts: Verdict[], made: Receipt[]) => {
          for (const [i, receipt] of made.entries()) receipts.push({ charge: verdicts[i], receipt });
        };
        for (const { after, call, on, refund } of run) {
          clock.advanceMicroseconds(after);
          const now = clock.wall();
          const list = on.map(bucketOf);
          if (call === 'consume') {
            const verdicts = store.consume(list);
            const { answers, receipts: made } = model.consume(list, now);
            expect(verdicts.map(answerOf)).toEqual(answers);
            keep(verdicts, made);
            seen[made.length > 0 ? 'admitted' : 'refused']++;
          } else if (call === 'charge') {
            const verdicts = store.charge(list);
            const { answers, receipts: made } = model.charge(list, now);
            expect(verdicts.map(answerOf)).toEqual(answers);
            keep(verdicts, made);
          } else if (call === 'peek') {
            expect(store.peek(list).map(answerOf)).toEqual(model.peek(list, now));
          } else if (call === 'refund') {
            const last = receipts.pop();
            if (last === undefined) continue;
            seen.refunded++;
            store.refund([{ charge: last.charge, cost: refund }]);
            model.refund(last.receipt, refund, now);
          } else if (call === 'clear') {
            store.clear(list);
            for (const bucket of list) {
              // A clear by name reaches both algorithms, but here each has a namespace of its own.
              model.clear(bucket);
              receipts = receipts.filter(
                ({ receipt }) =>
                  receipt.bucket.namespace !== bucket.namespace || receipt.bucket.key !== bucket.key,
              );
            }
          } else {
            store.sweep();
          }
        }
        store.close();
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(seen.admitted, seen.refused, seen.refunded)).toBeGreaterThan(500);
  });
});

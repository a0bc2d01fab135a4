import * as fc from 'fast-check';
import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import type { LeaseAccount } from '../../../lib/algorithms/lease-account.js';
import { lease, type LeaseRequest } from '../../../lib/algorithms/lease.js';
import { createRate } from '../../../lib/algorithms/rate.js';
import type { Bucket, Verdict } from '../../../lib/algorithms/verdict.js';
import type { Clock } from '../../../lib/stores/clock.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { ownRedis } from '../../tools/servers/own-redis.js';
import { TIMEOUT } from './buckets.js';

const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;

/** One time for both of memory's clocks, as a server has only one. */
class OneClock implements Clock {
  time = Date.UTC(2026, 2, 1, 12) * 1000;
  monotonic = (): number => this.time;
  wall = (): number => this.time;
}

let redis: Redis;
let runs = 0;

ownRedis((client) => {
  redis = client;
});

const bucket = fc
  .record({
    client: fc.integer({ min: 0, max: 2 }),
    algorithm: fc.constantFrom('gcra', 'fixed'),
    limit: fc.constantFrom(1, 3, 7, 10, 100),
    window: fc.constantFrom(SECOND, 7 * SECOND, MINUTE),
    cost: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constantFrom(11, 2 ** 40)),
  })
  .map(({ client, algorithm, limit, window, cost }): Bucket => {
    const rate = createRate(algorithm === 'gcra' ? 'gcra' : 'fixed', limit, window);
    return { policy: 'p', namespace: `n${client % 2}`, key: `k${client}`, rate, cost };
  });

const step = fc.record({
  after: fc.constantFrom(0, 0, 1, 999, 250_000, SECOND, 13 * SECOND, MINUTE),
  call: fc.constantFrom('consume', 'consume', 'consume', 'peek', 'charge', 'refund', 'clear'),
  buckets: fc.uniqueArray(bucket, { minLength: 1, maxLength: 3, selector: ({ key }) => key }),
  pick: fc.nat(),
  back: fc.integer({ min: 0, max: 6 }),
  /** Asked again at once, a refusal is answered from memory. */
  times: fc.integer({ min: 1, max: 3 }),
});

it('decides as memory does, over one run of calls with limits changed midway, on the server and from memory', async () => {
  let refused = 0;
  let remembered = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
    const clock = new OneClock();
    const memory = new MemoryStore({ clock });
    const store = new RedisStore(redis, { keyPrefix: `agree ${++runs}:`, clock });
    const charges: [Verdict, Verdict][] = [];
    for (const { after, call, buckets, pick, back, times } of steps) {
      clock.time += after;
      if (call === 'clear') {
        memory.clear(buckets);
        await store.clear(buckets, TIMEOUT);
      } else if (call === 'refund') {
        const [charge] = charges.splice(pick % Math.max(1, charges.length), 1);
        if (charge === undefined) continue;
        memory.refund([{ charge: charge[0], cost: back }]);
        await store.refund([{ charge: charge[1], cost: back }], TIMEOUT);
      } else {
        for (let turn = 0; turn < times; turn++) {
          const expected = memory[call](buckets);
          const answer = store[call](buckets, TIMEOUT);
          const found = await answer;
          expect(found.every(({ allowed }) => allowed)).toBe(expected.every(({ allowed }) => allowed));
          if (!(answer instanceof Promise)) remembered++;
          // Refused from memory, a list knows for certain only the bucket that refuses it.
          if (answer instanceof Promise || found.length === 1) {
            expect(found.map(shown)).toEqual(expected.map(shown));
          }
          for (const [index, verdict] of expected.entries()) {
            if (verdict.taken > 0) charges.push([verdict, found[index]]);
          }
          if (expected.some(({ allowed }) => !allowed)) refused++;
        }
      }
    }
    memory.close();
    await store.close();
  });
  await fc.assert(property, { numRuns: 60 });
  expect(refused).toBeGreaterThan(100);
  expect(remembered).toBeGreaterThan(0);
});

/** All that a client is told, and what a refund goes by. */
function shown({ allowed, remaining, resetAfter, retryAfter, taken }: Verdict): object {
  return { allowed, remaining, resetAfter, retryAfter, taken };
}

const leaseStep = fc.record({
  wait: fc.constantFrom(0, 1, 999, 400_000, SECOND, 6 * SECOND, 45 * SECOND, 130 * SECOND),
  purse: fc.integer({ min: 0, max: 3 }),
  spend: fc.integer({ min: 0, max: 130_000 }),
  need: fc.constantFrom(0, 0, 1_000, 7_001, 40_000, 121_000),
  want: fc.integer({ min: 0, max: 30_000 }),
  tier: fc.constantFrom(
    ...([
      [1_000, 120_000],
      [1_000, 120_000],
      [333, 40_001],
      [50_000, 6_000_000],
    ] as const),
  ),
  release: fc.constantFrom(false, false, false, true),
  repeat: fc.constantFrom(false, false, false, true),
});

it('settles leases as the pure functions do, over one run of purses that spend, borrow, crash and release', async () => {
  let granted = 0;
  const property = fc.asyncProperty(fc.array(leaseStep, { minLength: 20, maxLength: 60 }), async (steps) => {
    const clock = new OneClock();
    let kept: LeaseAccount | undefined;
    const store = new RedisStore(redis, { keyPrefix: `lease ${++runs}:`, clock });
    const purses = Array.from({ length: 4 }, () => ({ seq: 0, holds: 0 }));
    const account = { namespace: 'balance', key: 'user' };
    for (const { wait, purse: index, spend, need, want, tier, release, repeat } of steps) {
      clock.time += wait;
      const purse = purses[index];
      if (!repeat) purse.seq++;
      const remaining = purse.holds - Math.min(spend, purse.holds + 1_000);
      const [rate, cap] = tier;
      const request: LeaseRequest = {
        id: `p${index}`,
        seq: purse.seq,
        remaining,
        need,
        want,
        rate,
        cap,
        release,
      };
      const { account: after, reply: expected } = lease(kept, request, clock.time);
      kept = after;
      const [found] = await store.lease([{ account, request }], TIMEOUT);
      expect(found).toEqual(expected);
      purse.holds = expected.kept + expected.granted;
      granted += expected.granted;
    }
    await store.close();
  });
  await fc.assert(property, { numRuns: 60 });
  expect(granted).toBeGreaterThan(0);
});

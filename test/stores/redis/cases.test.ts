// Cases from the field on one real server: exact counts, keys that expire, real windows, eviction.
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRate, type Algorithm } from '../../../lib/algorithms/rate.js';
import type { Bucket } from '../../../lib/algorithms/verdict.js';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';
import { RedisServer } from '../../tools/servers/redis-server.js';
import { expiries, fixed, gcra, TIMEOUT } from './buckets.js';
import { countsDuring } from './server-stats.js';

/** For tests that wait on the real clock, on machines that are busy. */
const PATIENT = { timeout: 60_000 };

let server: RedisServer;
let redis: Redis;
let store: RedisStore;

beforeAll(async () => {
  server = await RedisServer.start();
  redis = new Redis(server.url);
  store = new RedisStore(redis);
});

afterAll(async () => {
  await store.close();
  redis.disconnect();
  await server.stop();
});

/** A bucket whose window is so many milliseconds. */
function short(algorithm: Algorithm, key: string, window: number): Bucket {
  const rate = createRate(algorithm, 1, window * 1_000);
  return { policy: 'short', namespace: 'user:short', key, cost: 1, rate };
}

/** Waits until a moment of the server's clock, in microseconds, to the millisecond: its clock is this machine's. */
async function untilWall(time: number): Promise<void> {
  await sleep(Math.max(0, time / 1_000 - Date.now() - 2));
  while (Date.now() * 1_000 < time);
}

describe('K01 every key has an expiry', () => {
  const far = { id: 'p', seq: 1, remaining: 0, need: 5, want: 0, rate: 1, cap: 100, release: false };
  const account = { namespace: 'balance', key: 'purse' };

  it('K01 after every operation', async () => {
    const list = [gcra('k01', 10, 4), fixed('k01', 10, 4)];
    const charges = await store.consume(list, TIMEOUT);
    const operations: Record<string, () => unknown> = {
      'an admitted consume': () => store.consume(list, TIMEOUT),
      'a refused consume': () => store.consume(list, TIMEOUT),
      'a refused consume of one': () => store.consume([gcra('k01', 10, 8)], TIMEOUT),
      'a peek': () => store.peek([...list, gcra('k01 new'), fixed('k01 new')], TIMEOUT),
      'a charge beyond the limit': () => store.charge([gcra('k01', 10, 50), fixed('k01', 10, 50)], TIMEOUT),
      'a refund': () => store.refund(refunds(2), TIMEOUT),
      'a refund of the rest': () => store.refund(refunds(4), TIMEOUT),
      'a lease': () => store.lease([{ account, request: far }], TIMEOUT),
      'a lease that gets nothing': () =>
        store.lease([{ account, request: { ...far, id: 'q', need: 100 } }], TIMEOUT),
      'a replayed lease': () => store.lease([{ account, request: far }], TIMEOUT),
      'a lease that ends': () =>
        store.lease([{ account, request: { ...far, seq: 2, release: true } }], TIMEOUT),
      'a clear': () => store.clear([gcra('k01')], TIMEOUT),
    };
    const refunds = (cost: number) => charges.map((charge) => ({ charge, cost }));
    for (const [name, operation] of Object.entries(operations)) {
      await operation();
      const found = Object.entries(await expiries(redis));
      expect(found.length, name).toBeGreaterThanOrEqual(1);
      for (const [key, left] of found) expect(left, `${key} after ${name}`).toBeGreaterThan(0);
    }
  });

  const WINDOW = 400;

  /** What is in a key of each kind, without expiry, and what asks for one unit of it. */
  const kinds: Record<string, { suffix: string; value: (now: number) => string; bucket: Bucket }> = {
    'a GCRA counter that says 999': {
      suffix: '{g}g:user:short',
      value: () => '999',
      bucket: short('gcra', 'g', WINDOW),
    },
    'a GCRA counter full for 999 windows': {
      suffix: '{g far}g:user:short',
      value: (now) => `${now + 999 * WINDOW * 1_000}`,
      bucket: short('gcra', 'g far', WINDOW),
    },
    'a fixed window that says 999': {
      suffix: '{f}f:user:short',
      value: () => '999',
      bucket: short('fixed', 'f', WINDOW),
    },
    'a fixed window with 999 used': {
      suffix: '{f full}f:user:short',
      value: (now) => `${now - (now % (WINDOW * 1_000)) + WINDOW * 1_000}:999`,
      bucket: short('fixed', 'f full', WINDOW),
    },
    'a fixed window of some later time with 999 used': {
      suffix: '{f far}f:user:short',
      value: (now) => `${now + 86_400_000_000}:999`,
      bucket: short('fixed', 'f far', WINDOW),
    },
  };

  it.each(Object.entries(kinds))(
    'K01 %s and no expiry lets its client pass after one window at most',
    PATIENT,
    async (_name, { suffix, value, bucket }) => {
      const key = `tollgate:1:${suffix}`;
      const now = Date.now() * 1_000;
      await redis.set(key, value(now));
      await store.consume([bucket], TIMEOUT);
      expect(await redis.pttl(key)).not.toBe(-1);
      const heard = Date.now() * 1_000;
      await untilWall(heard + WINDOW * 1_000);
      expect((await store.consume([bucket], TIMEOUT))[0].allowed).toBe(true);
      const left = await redis.pttl(key);
      expect(left).not.toBe(-1);
      expect(left).toBeLessThanOrEqual(WINDOW + 1_000);
    },
  );

  it('K01 a balance that says 999 and no expiry is a full one', async () => {
    const key = 'tollgate:1:{mine}l:balance';
    await redis.set(key, '999');
    const [{ granted, balance }] = await store.lease(
      [{ account: { namespace: 'balance', key: 'mine' }, request: far }],
      TIMEOUT,
    );
    expect(granted).toBeGreaterThanOrEqual(5);
    expect(granted + balance).toBe(100);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
  });
});

describe('real time', () => {
  it.concurrent.each(['fixed', 'gcra'] as const)(
    'K02 1 per 100 ms by %s refuses none of 40 requests that come as soon as the last one is over',
    PATIENT,
    async (algorithm) => {
      const bucket = short(algorithm, 'k02', 100);
      let [last] = await store.consume([bucket], TIMEOUT);
      for (let request = 0; request < 40; request++) {
        await untilWall(last.until);
        const late = Date.now() * 1_000 - last.until;
        [last] = await store.consume([bucket], TIMEOUT);
        expect(last.allowed, `request ${request}, ${late} µs after the window`).toBe(true);
        expect(last.remaining).toBe(0);
      }
    },
  );

  it.concurrent.each([
    ['one bucket', [fixed('flood', 5, 5)]],
    ['a list of which one refuses', [gcra('flood more', 1_000), fixed('flood', 5, 5)]],
  ])('K08 a flood of refusals costs about a call a second: %s', PATIENT, async (_name, full) => {
    const own = await RedisServer.start();
    const watcher = new Redis(own.url);
    const flooded = new RedisStore(own.url);
    try {
      const list = full.map((bucket) => ({ ...bucket, cost: 1 }));
      await flooded.consume(full, TIMEOUT);
      await flooded.consume(list, TIMEOUT);
      const started = performance.now();
      let refused = 0;
      const { evalsha } = await countsDuring([watcher], async () => {
        while (performance.now() - started < 3_000) {
          for (let burst = 0; burst < 100; burst++) {
            const answer = flooded.consume(list, TIMEOUT);
            const verdicts = answer instanceof Promise ? await answer : answer;
            if (verdicts.some(({ allowed }) => !allowed)) refused++;
          }
          await sleep(2);
        }
      });
      const seconds = (performance.now() - started) / 1_000;
      expect(refused).toBeGreaterThan(1_000);
      expect(refused % 100).toBe(0);
      expect(evalsha).toBeGreaterThanOrEqual(1);
      expect(evalsha).toBeLessThanOrEqual(Math.floor(seconds) + 1);
    } finally {
      await flooded.close();
      watcher.disconnect();
      await own.stop();
    }
  });
});

describe('counts', () => {
  const makes = { gcra, fixed };
  const exact = Object.entries(makes).flatMap(([name, make]) =>
    [1, 2, 10].map((n) => [n, name, make] as const),
  );

  it.each(exact)(
    'F02 exactly %i by %s, also once a refusal is remembered, and then from memory',
    async (limit, name, make) => {
      const own = new RedisStore(redis);
      const bucket = make(`f02 ${name} ${limit}`, limit);
      // From here on the rest of the bucket is known without asking.
      expect((await own.consume([{ ...bucket, cost: limit + 1 }], TIMEOUT))[0].allowed).toBe(false);
      for (let call = 1; call <= limit; call++) {
        const [{ allowed, remaining }] = await own.consume([bucket], TIMEOUT);
        expect([allowed, remaining], `call ${call}`).toEqual([true, limit - call]);
      }
      const [refused] = await own.consume([bucket], TIMEOUT);
      expect([refused.allowed, refused.remaining]).toEqual([false, 0]);
      for (let call = 0; call < 5; call++) {
        const answer = own.consume([bucket], TIMEOUT);
        expect(answer, 'from memory').not.toBeInstanceOf(Promise);
        expect(await answer).toMatchObject([{ allowed: false, taken: 0, remaining: 0 }]);
      }
      const [held] = await store.peek([{ ...bucket, cost: 0 }], TIMEOUT);
      expect(held.remaining).toBe(0);
      await own.close();
    },
  );

  it.each(Object.entries(makes))('K16 30 of 100 calls of one microsecond pass, by %s', async (name, make) => {
    const frozen = new RedisStore(redis, { keyPrefix: 'frozen:', clock: new FakeClock() });
    const bucket = make(`k16 ${name}`, 30);
    const calls = Array.from({ length: 100 }, async () => frozen.consume([bucket], TIMEOUT));
    const answers = await Promise.all(calls);
    await frozen.close();
    expect(answers.filter(([{ allowed }]) => allowed)).toHaveLength(30);
  });

  it('K13 a counter that the server really evicted is a fresh one, and no failure', PATIENT, async () => {
    const own = await RedisServer.start('redis-server', [
      ...['--maxmemory-policy', 'allkeys-lru', '--maxmemory-samples', '64'],
    ]);
    const watcher = new Redis(own.url);
    const small = new RedisStore(own.url);
    const events: RateLimitEvent[] = [];
    small.report = (event) => void events.push(event);
    try {
      await small.consume([fixed('old', 10, 7), gcra('old', 10, 7)], TIMEOUT);
      await watcher.config('SET', 'maxmemory', '3mb');
      const filler = 'x'.repeat(50_000);
      const isThere = () => watcher.exists('tollgate:1:{old}f:user:policy', 'tollgate:1:{old}g:user:policy');
      for (let i = 0; (await isThere()) > 0; i++) {
        if (i > 2_000) throw new Error('never evicted');
        await watcher.set(`filler ${i}`, filler);
      }
      expect(await watcher.info('stats')).toMatch(/^evicted_keys:[1-9]/m);
      for (const bucket of [fixed('old'), gcra('old')]) {
        expect((await small.consume([bucket], TIMEOUT))[0]).toMatchObject({ allowed: true, remaining: 9 });
      }
      expect(events).toEqual([]);
    } finally {
      await small.close();
      watcher.disconnect();
      await own.stop();
    }
  });
});

// Cases from the field on a real server: every key expires, and a window that is over bars nobody.
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRate, type Algorithm } from '../../../lib/algorithms/rate.js';
import type { Bucket } from '../../../lib/algorithms/verdict.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { ownRedis } from '../../tools/servers/own-redis.js';
import { expiries, fixed, gcra, TIMEOUT } from './buckets.js';

/** For tests that wait on the real clock, on machines that are busy. */
const PATIENT = { timeout: 60_000 };

let redis: Redis;
let store: RedisStore;

ownRedis((client) => {
  redis = client;
});

beforeAll(async () => {
  store = new RedisStore(redis);
});

afterAll(async () => {
  await store.close();
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
  const request = { id: 'p', seq: 1, remaining: 0, need: 5, want: 0, rate: 1, cap: 100, release: false };
  const account = { namespace: 'balance', key: 'purse' };

  it('K01 after every operation', async () => {
    const list = [gcra('k01', 10, 4), fixed('k01', 10, 4)];
    const charges = await store.consume(list, TIMEOUT);
    const refunds = (cost: number) => charges.map((charge) => ({ charge, cost }));
    const operations: Record<string, (by: RedisStore) => unknown> = {
      'an admitted consume': (by) => by.consume(list, TIMEOUT),
      'a refused consume': (by) => by.consume(list, TIMEOUT),
      'a refused consume of one': (by) => by.consume([gcra('k01', 10, 4)], TIMEOUT),
      'a peek': (by) => by.peek([...list, gcra('k01 new'), fixed('k01 new')], TIMEOUT),
      'a charge beyond the limit': (by) => by.charge([gcra('k01', 10, 50), fixed('k01', 10, 50)], TIMEOUT),
      'a refund': (by) => by.refund(refunds(2), TIMEOUT),
      'a refund of the rest': (by) => by.refund(refunds(4), TIMEOUT),
      'a lease': (by) => by.lease([{ account, request }], TIMEOUT),
      'a lease that gets nothing': (by) =>
        by.lease([{ account, request: { ...request, id: 'q', need: 100 } }], TIMEOUT),
      'a replayed lease': (by) => by.lease([{ account, request }], TIMEOUT),
      'a lease that ends': (by) =>
        by.lease([{ account, request: { ...request, seq: 2, release: true } }], TIMEOUT),
      'a clear': (by) => by.clear([gcra('k01')], TIMEOUT),
    };
    for (const [name, operation] of Object.entries(operations)) {
      // One that remembers no refusal.
      const fresh = new RedisStore(redis);
      await operation(fresh);
      await fresh.close();
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
      [{ account: { namespace: 'balance', key: 'mine' }, request }],
      TIMEOUT,
    );
    expect(granted).toBeGreaterThanOrEqual(5);
    expect(granted + balance).toBe(100);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
  });
});

it.concurrent.each(['fixed', 'gcra'] as const)(
  'K02 1 per 100 ms by %s refuses none of 40 requests that come as soon as the last one is over',
  PATIENT,
  async (algorithm) => {
    const bucket = short(algorithm, `k02 ${algorithm}`, 100);
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

// Cases from the field on one real server: exact counts, floods, eviction.
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';
import { ownRedis } from '../../tools/servers/own-redis.js';
import { RedisServer } from '../../tools/servers/redis-server.js';
import { fixed, gcra, TIMEOUT } from './buckets.js';
import { countsDuring } from './server-stats.js';

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
    '--maxmemory-policy',
    'allkeys-lru',
    '--maxmemory-samples',
    '64',
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

it.concurrent.each([
  ['one bucket', [fixed('flood', 5, 5)]],
  ['a list of which one refuses', [gcra('flood more', 1_000), fixed('flood', 5, 5)]],
])('a flood of refusals costs about a call a second: %s', PATIENT, async (_name, full) => {
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

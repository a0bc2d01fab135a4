// Cases from the field of a Redis that fails, forgets or holds what it should not: no app answers 500 or waits for it.

import type { Redis } from 'ioredis';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { RateLimitService, type OnStoreError, type RateLimitOptions } from '../../lib/index.js';
import { RedisStore } from '../../lib/stores/redis/redis.store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { Proxy } from '../tools/servers/proxy.js';
import { until } from '../tools/servers/redis-cluster.js';
import { ownRedis } from '../tools/servers/own-redis.js';
import { freePort, type RedisServer } from '../tools/servers/redis-server.js';
import type { AdapterName, RunningApp } from './support/app.js';
import { send, statuses, via } from './support/client.js';
import { EMAIL, post, startEveryLimit, withKey } from './support/every-limit.js';
import { checkNestVersion } from './support/nest-version.js';
import { countersOf } from './support/redis-apps.js';

/** What fails does not depend on the adapter: one on each version of Nest. */
const adapter: AdapterName = process.env.NEST_MAJOR === '12' ? 'express' : 'fastify';

let server: RedisServer;
let redis: Redis;

ownRedis((client, started) => {
  redis = client;
  server = started;
});

beforeEach(() => redis.flushall());

checkNestVersion();

const FEW = { policies: { few: { limit: 3, per: '24h', algorithm: 'fixed' } } } as const;
const THREE = [200, 200, 200, 429, 429];

/** An app whose time stands still: no window ends during a test. */
function start(options: RateLimitOptions = {}, client: Redis | string = redis): Promise<RunningApp> {
  const store = new RedisStore(client, { clock: new FakeClock() });
  return startEveryLimit(adapter, { store, ...FEW, ...options });
}

/** Asks until the store has said that it is back. */
async function recovered({ app }: RunningApp): Promise<void> {
  const service = app.get(RateLimitService);
  await until(async () => {
    await service.consume({ name: 'probe', limit: 1_000_000, per: '24h' }, 'probe').catch(() => {});
    return (await redis.keys('*probe*').catch(() => [])).length > 0;
  });
}

/** Runs a step while there is no server, and brings it back, empty. */
async function inOutage(step: () => Promise<void>): Promise<void> {
  await server.crash();
  try {
    await step();
  } finally {
    await server.resume();
  }
}

/** What the counter holds whose key has this name in it; 0 when there is none. */
async function counted(name: string): Promise<number> {
  return [...(await countersOf([redis]))].find(([key]) => key.includes(name))?.[1] ?? 0;
}

it('K03 after SCRIPT FLUSH, FLUSHALL and a restart the next call is answered and charged once', async () => {
  const app = await start({ policies: { few: { limit: 10, per: '24h', algorithm: 'fixed' } } });
  const left = async (): Promise<[number, string | undefined]> => {
    const { status, headers } = await send(app, '/guests');
    return [status, headers['ratelimit-remaining'] as string | undefined];
  };
  expect(await left()).toEqual([200, '9']);
  await redis.script('FLUSH');
  expect(await left()).toEqual([200, '8']);
  expect(await counted('/guests')).toBe(2);
  await redis.flushall();
  expect(await left()).toEqual([200, '9']);
  await redis.flushall();
  await redis.script('FLUSH');
  expect(await left()).toEqual([200, '9']);
  expect(await counted('/guests')).toBe(1);
  expect(app.log.own('warn')).toEqual([]);
  await inOutage(async () => {});
  expect((await left())[0]).toBe(200);
  await recovered(app);
  const before = await counted('/guests');
  expect(await left()).toEqual([200, `${9 - before}`]);
  expect(await counted('/guests')).toBe(before + 1);
});

/** A server that answers, but does not write. */
async function expectPolicyOf(
  problem: string,
  policy: OnStoreError,
  answers: readonly number[],
  fail: () => Promise<unknown>,
  mend: () => Promise<unknown>,
): Promise<void> {
  const app = await start({ onStoreError: policy });
  expect(await statuses(app, '/guests', 1)).toEqual([200]);
  await fail();
  try {
    expect(await statuses(app, '/guests', answers.length)).toEqual(answers);
  } finally {
    await mend();
  }
  await recovered(app);
  expect(await statuses(app, '/guests', 3)).toEqual([200, 200, 429]);
  expect(app.log.own('warn').filter((line) => line.startsWith('the store is'))).toEqual([
    expect.stringContaining(`the store is down (${problem}`),
    expect.stringContaining('the store is back'),
  ]);
}

const POLICIES: [OnStoreError, number[]][] = [
  ['local', THREE],
  ['closed', [503, 503, 503, 503, 503]],
];

it.each(POLICIES)(
  'K07 READONLY of a server that is well otherwise: %s, one warning, and limits again once it is a master',
  async (policy, answers) => {
    const master = await freePort();
    await expectPolicyOf(
      'TOLLGATE_STORE_NOT_DONE: READONLY',
      policy,
      answers,
      () => redis.replicaof('127.0.0.1', master),
      () => redis.replicaof('NO', 'ONE'),
    );
  },
);

it.each(POLICIES)('K13 OOM: %s, one warning that names it, and limits again', async (policy, answers) => {
  await expectPolicyOf(
    'TOLLGATE_STORE_NOT_DONE: OOM',
    policy,
    answers,
    () => redis.config('SET', 'maxmemory', '1mb'),
    () => redis.config('SET', 'maxmemory', '0'),
  );
});

it('K13 an evicted counter is a fresh one', async () => {
  const app = await start();
  expect(await statuses(app, '/guests', 2)).toEqual([200, 200]);
  const used = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1];
  // Of what has no expiry nothing is evicted: our counter goes first.
  await redis.config('SET', 'maxmemory-policy', 'volatile-lru');
  await redis.config('SET', 'maxmemory', `${Number(used) + 1_000_000}`);
  try {
    for (let i = 0; (await redis.keys('tollgate:*')).length > 0; i++) {
      await redis.set(`other:${i}`, 'x'.repeat(100_000)).catch(() => {});
    }
    expect(await redis.info('stats')).toMatch(/^evicted_keys:1\r$/m);
  } finally {
    await redis.config('SET', 'maxmemory', '0');
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
  }
  expect(await statuses(app, '/guests', 5)).toEqual(THREE);
  expect(app.log.own('warn')).toEqual([]);
});

it('K10 a connection that falls silent is replaced, and limits are shared again', async () => {
  const proxy = await Proxy.start(server.port);
  onTestFinished(() => proxy.stop());
  const app = await start({ storeTimeout: 100 }, proxy.url);
  await recovered(app);
  const { connections } = proxy;
  proxy.mute();
  expect(await statuses(app, '/guests', 5)).toEqual(THREE);
  await until(async () => {
    await statuses(app, '/guests', 1, via('192.0.2.1'));
    return proxy.connections > connections;
  });
  await redis.flushall();
  await recovered(app);
  expect(await statuses(app, '/guests', 5)).toEqual(THREE);
  expect(await counted('/guests')).toBe(3);
});

it.each(['local', 'open'] as const)(
  'K11 %s: wrong codes and wrong keys are counted without Redis, the sixth code is refused',
  async (onStoreError) => {
    const app = await start({ onStoreError, limits: { adminPreauthFailPerMin: 3 } });
    await recovered(app);
    await inOutage(async () => {
      const wrong = post({ email: EMAIL });
      expect(await statuses(app, '/code', 6, wrong)).toEqual([401, 401, 401, 401, 401, 429]);
      expect(await statuses(app, '/login', 6, wrong)).toEqual([401, 401, 401, 401, 401, 429]);
      expect(await statuses(app, '/api', 4, withKey('wrong'))).toEqual([401, 401, 401, 429]);
    });
  },
);

it('K11 closed: neither a code nor a wrong key is answered without Redis, but 503 and when to come back', async () => {
  const app = await start({ onStoreError: 'closed' });
  await recovered(app);
  await inOutage(async () => {
    for (const path of ['/code', '/login']) {
      const { status, headers } = await send(app, path, post({ email: EMAIL }));
      expect([path, status, headers['retry-after']]).toEqual([path, 503, '1']);
    }
    const { status, headers } = await send(app, '/api', withKey('wrong'));
    expect([status, headers['retry-after']]).toEqual([503, '1']);
  });
});

it('K12 what was charged in an outage is not given back to Redis, nor the other way round', async () => {
  const app = await start();
  const service = app.app.get(RateLimitService);
  const consume = async (key: string, cost: number) => {
    const { receipt, remaining } = await service.consume(
      { name: 'units', limit: 10, per: '24h', algorithm: 'fixed' },
      key,
      cost,
    );
    if (receipt === null) throw new Error('nothing was charged');
    return { receipt, remaining };
  };
  const inRedis = await consume('both', 3);
  expect(await counted('both')).toBe(3);
  let local = inRedis;
  await inOutage(async () => {
    local = await consume('both', 4);
    expect(local.remaining).toBe(6);
    expect(await service.refund(inRedis.receipt)).toBe(false);
    expect((await consume('both', 1)).remaining).toBe(5);
  });
  await recovered(app);
  const [both, unrelated] = [await consume('both', 2), await consume('unrelated', 5)];
  expect([both.remaining, unrelated.remaining]).toEqual([8, 5]);
  expect(await service.refund(local.receipt)).toBe(true);
  expect(await counted('both')).toBe(2);
  expect(await service.refund(unrelated.receipt)).toBe(true);
  expect((await consume('unrelated', 1)).remaining).toBe(9);
  expect(await counted('both')).toBe(2);
});

const FOREIGN: [string, (key: string) => Promise<unknown>][] = [
  ['list', (key) => redis.lpush(key, 'abc')],
  ['hash', (key) => redis.hset(key, 'abc', '1')],
  ['set', (key) => redis.sadd(key, 'abc')],
  ["string 'abc'", (key) => redis.set(key, 'abc')],
];

it.each(FOREIGN)('K14 keys of ours that hold a %s are healed, and have a version', async (_what, foreign) => {
  const options = { perIp: { limit: 100, per: '24h' }, login: { failures: { limit: 2, per: '24h' } } };
  const first = await start(options);
  await statuses(first, '/guests', 1);
  await statuses(first, '/login', 1, post({ email: EMAIL }));
  const keys = await redis.keys('*');
  expect(keys.length).toBeGreaterThanOrEqual(3);
  for (const key of keys) expect(key).toMatch(/^tollgate:1:\{/);
  await redis.flushall();
  for (const key of keys) await foreign(key);
  const app = await start({ ...options, onStoreError: 'closed' });
  expect(await statuses(app, '/guests', 5)).toEqual(THREE);
  expect(await statuses(app, '/login', 3, post({ email: EMAIL }))).toEqual([401, 401, 429]);
  for (const key of keys) {
    expect(await redis.type(key)).toBe('string');
    expect(await redis.pttl(key)).toBeGreaterThan(0);
  }
});

import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestKey } from '../../../lib/limiter/partition-key.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';
import { ownRedis } from '../../tools/servers/own-redis.js';
import type { RedisServer } from '../../tools/servers/redis-server.js';
import { expiries, fixed, gcra, TIMEOUT, YEAR } from './buckets.js';

let server: RedisServer;
let redis: Redis;
let store: RedisStore;

ownRedis((client, started) => {
  redis = client;
  server = started;
});

beforeEach(async () => {
  await redis.flushall();
  store = new RedisStore(redis);
});

afterEach(async () => {
  await store.close();
});

/** How many scripts the server has run since the last look. */
async function scriptsRun(): Promise<number> {
  const stats = await redis.info('commandstats');
  await redis.config('RESETSTAT');
  const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function admitted(buckets: ReturnType<typeof gcra>[], calls: number): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: calls }, async () => store.consume(buckets, TIMEOUT)),
  );
  return answers.filter((verdicts) => verdicts.every(({ allowed }) => allowed)).length;
}

describe('a step', () => {
  it('is one call, whatever its subjects, once the server knows the scripts and we know its clock', async () => {
    const [warm] = await store.consume([gcra('warm')], TIMEOUT);
    await store.refund([{ charge: warm, cost: 1 }], TIMEOUT);
    await store.clear([gcra('warm')], TIMEOUT);
    await scriptsRun();
    await store.consume([gcra('a'), fixed('b'), { ...gcra('c'), namespace: 'network:policy' }], TIMEOUT);
    expect(await scriptsRun()).toBe(1);
    await store.peek([gcra('a'), gcra('b'), gcra('c')], TIMEOUT);
    expect(await scriptsRun()).toBe(1);
    const charges = await store.charge([gcra('a'), gcra('b')], TIMEOUT);
    expect(await scriptsRun()).toBe(1);
    await store.refund(
      charges.map((charge) => ({ charge, cost: 1 })),
      TIMEOUT,
    );
    expect(await scriptsRun()).toBe(1);
    await store.clear([gcra('a'), gcra('b')], TIMEOUT);
    expect(await scriptsRun()).toBe(1);
  });

  it('of nothing asks nobody', async () => {
    expect(await store.consume([], TIMEOUT)).toEqual([]);
    await store.refund([], TIMEOUT);
    await store.clear([], TIMEOUT);
    expect(await store.lease([], TIMEOUT)).toEqual([]);
  });

  it.each([1, 2, 10])(
    'F02 admits exactly %i of that limit, from the server and from memory',
    async (limit) => {
      for (const bucket of [gcra('exact', limit), fixed('exact', limit)]) {
        expect(await admitted([bucket], limit)).toBe(limit);
        expect(await admitted([bucket], 5)).toBe(0);
      }
    },
  );

  it('I02 lets a refused expensive call leave the budget alone', async () => {
    for (const make of [gcra, fixed]) {
      await store.consume([make('budget', 10, 8)], TIMEOUT);
      const [refused] = await store.consume([make('budget', 10, 5)], TIMEOUT);
      expect([refused.allowed, refused.remaining]).toEqual([false, 2]);
      const [passed] = await store.consume([make('budget', 10, 2)], TIMEOUT);
      expect([passed.allowed, passed.remaining]).toEqual([true, 0]);
    }
  });

  it('I03 charges no bucket when one refuses', async () => {
    const network = { ...fixed('network', 100), namespace: 'network:api' };
    const token = { ...fixed('token', 6), namespace: 'token:api' };
    let passed = 0;
    for (let call = 0; call < 10; call++) {
      await store.consume([{ ...network, cost: 1 }], TIMEOUT);
      const rest = [
        { ...network, cost: 2 },
        { ...token, cost: 3 },
      ];
      if ((await store.consume(rest, TIMEOUT)).every(({ allowed }) => allowed)) passed++;
    }
    expect(passed).toBe(2);
    const [left] = await store.peek([{ ...network, cost: 0 }], TIMEOUT);
    expect(left.remaining).toBe(86);
  });

  it('J13 admits exactly the limit of 50 calls at once, of two stores too', async () => {
    const other = new RedisStore(redis);
    const calls = Array.from({ length: 50 }, async (_, i) =>
      [store, other][i % 2].consume([fixed('guess', 5)], TIMEOUT),
    );
    const answers = await Promise.all(calls);
    await other.close();
    expect(answers.filter(([{ allowed }]) => allowed)).toHaveLength(5);
  });

  it('K16 counts calls of one microsecond one by one', async () => {
    const frozen = new RedisStore(redis, { keyPrefix: 'frozen:', clock: new FakeClock() });
    const calls = Array.from({ length: 100 }, async () =>
      frozen.consume([gcra('same instant', 30)], TIMEOUT),
    );
    const answers = await Promise.all(calls);
    await frozen.close();
    expect(answers.filter(([{ allowed }]) => allowed)).toHaveLength(30);
  });

  it('K02 opens a new window with a new count at the very instant the old one ends', async () => {
    const clock = new FakeClock();
    const timed = new RedisStore(redis, { keyPrefix: 'timed:', clock });
    const bucket = { ...fixed('edge', 1), rate: { ...fixed('edge', 1).rate, window: 1_000_000 } };
    for (let second = 0; second < 60; second++) {
      const [{ allowed }] = await timed.consume([bucket], TIMEOUT);
      expect(allowed, `second ${second}`).toBe(true);
      clock.advance('1s');
    }
    await timed.close();
  });
});

describe('keys', () => {
  it('K01 all expire, a second after what they hold', async () => {
    const charges = await store.consume([gcra('a', 10, 5), fixed('b')], TIMEOUT);
    await store.refund([{ charge: charges[0], cost: 2 }], TIMEOUT);
    const request = { id: 'p', seq: 1, remaining: 0, need: 5, want: 0, rate: 1, cap: 100, release: false };
    await store.lease([{ account: { namespace: 'balance', key: 'a' }, request }], TIMEOUT);
    const found = await expiries(redis);
    expect(Object.keys(found).toSorted()).toEqual([
      'tollgate:1:{a}g:user:policy',
      'tollgate:1:{a}l:balance',
      'tollgate:1:{b}f:user:policy',
    ]);
    expect(found['tollgate:1:{a}g:user:policy']).toBeGreaterThan(18_000);
    expect(found['tollgate:1:{a}g:user:policy']).toBeLessThanOrEqual(19_000);
    const rest = (YEAR - ((Date.now() * 1000) % YEAR)) / 1000;
    expect(Math.abs(found['tollgate:1:{b}f:user:policy'] - rest - 1_000)).toBeLessThan(1_000);
    expect(found['tollgate:1:{a}l:balance']).toBeGreaterThan(100_000);
  });

  it('K01 without expiry, written by whomever, get one and bar nobody longer than a window', async () => {
    const windowEnd = (Math.floor((Date.now() * 1000) / YEAR) + 1) * YEAR;
    await redis.set('tollgate:1:{far}g:user:policy', `${Date.now() * 1000 + 86_400e6}`);
    await redis.set('tollgate:1:{full}f:user:policy', `${windowEnd}:999`);
    await redis.set('tollgate:1:{half}g:user:policy', `${Date.now() * 1000 + 59e6}`);
    for (const bucket of [gcra('far'), fixed('full'), gcra('half')]) {
      const [{ allowed, retryAfter }] = await store.consume([bucket], TIMEOUT);
      expect(allowed).toBe(false);
      expect(retryAfter).toBeLessThanOrEqual(bucket.rate.window);
    }
    for (const [key, left] of Object.entries(await expiries(redis))) {
      expect(left, key).toBeGreaterThan(0);
      expect(left, key).toBeLessThanOrEqual(key.includes('}f') ? YEAR / 1000 + 1_000 : 61_000);
    }
  });

  it('K14 of another type or with another content count as fresh, and are written over', async () => {
    const foreign = ['abc', '', '-5', '1e300', 'nan', '0x10', '5:', ':5', '1:2:3', '9'.repeat(400)];
    for (const [i, value] of foreign.entries()) {
      await redis.set(`tollgate:1:{v${i}}f:user:policy`, value);
      await redis.set(`tollgate:1:{v${i}}l:balance`, value);
      const [{ remaining }] = await store.consume([fixed(`v${i}`)], TIMEOUT);
      expect(remaining, value).toBe(9);
      if (value.length < 100) await redis.set(`tollgate:1:{v${i}}g:user:policy`, value);
      const [verdict] = await store.consume([gcra(`v${i}`)], TIMEOUT);
      expect(verdict.remaining, value).toBe(9);
      expect(await balanceOf(`v${i}`), value).toBe(100);
    }
    for (const kind of ['f:user:policy', 'g:user:policy', 'l:balance']) {
      await redis.lpush(`tollgate:1:{list}${kind}`, 'x');
      await redis.hset(`tollgate:1:{hash}${kind}`, 'x', 'y');
    }
    for (const key of ['list', 'hash']) {
      expect((await store.consume([gcra(key)], TIMEOUT))[0].remaining).toBe(9);
      expect((await store.consume([fixed(key)], TIMEOUT))[0].remaining).toBe(9);
      const [charge] = await store.charge([{ ...gcra(key), namespace: 'other' }], TIMEOUT);
      await redis.del(`tollgate:1:{${key}}g:other`);
      await redis.lpush(`tollgate:1:{${key}}g:other`, 'x');
      await store.refund([{ charge, cost: 1 }], TIMEOUT);
      expect(await balanceOf(key)).toBe(100);
    }
  });

  async function balanceOf(key: string): Promise<number> {
    const request = { id: 'p', seq: 1, remaining: 0, need: 0, want: 0, rate: 1, cap: 100, release: false };
    const [{ balance, granted }] = await store.lease(
      [{ account: { namespace: 'balance', key }, request }],
      TIMEOUT,
    );
    return balance + granted;
  }

  it('K05 hold the text of users where it can not move the slot', async () => {
    const keys = ['a}{b', '{}', '{x', 'ab', '}', '%7D', '', '%'];
    for (const [i, key] of keys.entries()) await store.consume([gcra(key, 20, i + 1)], TIMEOUT);
    for (const [i, key] of keys.entries()) {
      expect((await store.peek([gcra(key, 20, 0)], TIMEOUT))[0].remaining, key).toBe(19 - i);
    }
    for (const name of await redis.keys('*')) expect(name.match(/[{}]/g)).toEqual(['{', '}']);
    await store.clear(
      keys.map((key) => gcra(key)),
      TIMEOUT,
    );
    expect(await redis.keys('*')).toEqual([]);
  });

  it('C05 show no secret where the policies digest them, C06 nor grow with what clients send', async () => {
    const secrets = ['sk_test_SECRET', 'user-a@x.example', 'x'.repeat(1_000_000), `${'x'.repeat(999_999)}y`];
    for (const secret of secrets) await store.consume([gcra(digestKey(secret))], TIMEOUT);
    const names = await redis.keys('*');
    expect(names).toHaveLength(4);
    for (const name of names) {
      expect(name).not.toMatch(/SECRET|user-a|xxx/);
      expect(name.length).toBeLessThanOrEqual(200);
    }
  });

  it('of another prefix or schema version are never met', async () => {
    const other = new RedisStore(redis, { keyPrefix: 'other:' });
    await redis.set('tollgate:0:{a}g:user:policy', `${Date.now() * 1000 + 60e6}`);
    await other.consume([gcra('a', 10, 10)], TIMEOUT);
    expect((await store.consume([gcra('a')], TIMEOUT))[0].remaining).toBe(9);
    await other.close();
  });
});

describe('refusals', () => {
  it('cost about a call per second, however many requests are refused', async () => {
    const bucket = fixed('flood', 5);
    await store.consume([{ ...bucket, cost: 5 }], TIMEOUT);
    await store.consume([bucket], TIMEOUT);
    await scriptsRun();
    for (let call = 0; call < 1_000; call++) {
      const answer = store.consume([bucket], TIMEOUT);
      expect(answer).not.toBeInstanceOf(Promise);
    }
    expect(await scriptsRun()).toBe(0);
  });

  it('are forgotten when something is given back', async () => {
    const [charge] = await store.consume([gcra('user', 5, 5)], TIMEOUT);
    expect((await store.consume([gcra('user', 5)], TIMEOUT))[0].allowed).toBe(false);
    await store.refund([{ charge, cost: 1 }], TIMEOUT);
    expect((await store.consume([gcra('user', 5)], TIMEOUT))[0].allowed).toBe(true);
    expect((await store.consume([gcra('user', 5)], TIMEOUT))[0].allowed).toBe(false);
    await store.clear([gcra('user', 5)], TIMEOUT);
    expect((await store.consume([gcra('user', 5)], TIMEOUT))[0].allowed).toBe(true);
  });
});

describe('opening and closing', () => {
  it('never uses or closes a borrowed client', async () => {
    const borrowed = new Redis(server.url, { lazyConnect: true });
    const own = new RedisStore(borrowed);
    await own.consume([gcra('a')], TIMEOUT);
    expect(borrowed.status).toBe('wait');
    await own.close();
    expect(borrowed.status).toBe('wait');
    expect(await borrowed.ping()).toBe('PONG');
    borrowed.disconnect();
  });

  it('closes what it opened within a second, once the last app is done', async () => {
    const names = async (): Promise<number> =>
      String(await redis.client('LIST'))
        .trim()
        .split('\n').length;
    const before = await names();
    const shared = new RedisStore(redis);
    await shared.open();
    await shared.open();
    await shared.consume([gcra('a')], TIMEOUT);
    expect(await names()).toBe(before + 1);
    await shared.close();
    expect((await shared.consume([gcra('a')], TIMEOUT))[0].allowed).toBe(true);
    const started = performance.now();
    await shared.close();
    expect(performance.now() - started).toBeLessThan(1_000);
    expect(await names()).toBe(before);
    await expect(shared.consume([gcra('a')], TIMEOUT)).rejects.toMatchObject({
      code: 'TOLLGATE_STORE_NOT_DONE',
    });
    await shared.open();
    expect((await shared.consume([gcra('a')], TIMEOUT))[0].allowed).toBe(true);
    await shared.close();
  });

  it.each([
    'http://localhost',
    'localhost:6379',
    'redis:localhost:6379',
    'redis:6379',
    'redis:///var/run/redis.sock',
    'rediss:localhost',
    'redis://',
    '',
  ])('refuses %j, which is no URL of a server', (url) => {
    expect(() => new RedisStore(url)).toThrow(/redis:\/\/localhost:6379/);
  });

  it('refuses what is no client and no option', () => {
    expect(() => new RedisStore('redis//user:secret@x')).not.toThrow(/secret/);
    expect(() => new RedisStore({ duplicate: () => ({}) })).toThrow(/ioredis, iovalkey or redis/);
    expect(() => new RedisStore(redis, { keyPrefix: '{app}:' })).toThrow(/braces/);
    const misspelled: object = { keyprefix: 'app:' };
    expect(() => new RedisStore(redis, misspelled)).toThrow('"keyprefix" is no option: there is keyPrefix');
  });
});

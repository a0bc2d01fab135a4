// Cases from the field over a real Redis: how often whom each kind of limit lets pass.

import type { Redis } from 'ioredis';
import { beforeEach, expect, it } from 'vitest';
import { RateLimitService, type RateLimitOptions } from '../../lib/index.js';
import { RedisStore } from '../../lib/stores/redis/redis.store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ownRedis } from '../tools/servers/own-redis.js';
import type { AdapterName, RunningApp } from './support/app.js';
import { send, statuses, type Answer, type Sent } from './support/client.js';
import { EMAIL, NETWORK, post, startEveryLimit, withKey } from './support/every-limit.js';
import { checkNestVersion } from './support/nest-version.js';
import { countersOf } from './support/redis-apps.js';

/** What Redis holds does not depend on the adapter: one on each version of Nest. */
const adapter: AdapterName = process.env.NEST_MAJOR === '12' ? 'express' : 'fastify';

let redis: Redis;

ownRedis((client) => {
  redis = client;
});

beforeEach(() => redis.flushall());

checkNestVersion();

/** An app whose time stands still: no window ends during a test. What the store could not do is answered 503. */
async function start(options: RateLimitOptions = {}): Promise<RunningApp> {
  const store = new RedisStore(redis, { clock: new FakeClock() });
  return startEveryLimit(adapter, { store, onStoreError: 'closed', ...options });
}

/** A kind of limit. */
interface Rule {
  /** What sets it to `n`. */
  options(n: number): RateLimitOptions;
  readonly path: string;
  call(from: string): Sent;
  /** Its status while there is room. */
  readonly passes: number;
  /** Of how many script calls a refused request that is remembered still costs. Default 0. */
  readonly paid?: number;
}

const PER_NETWORK: Record<string, Rule> = {
  'the per-IP limit': {
    options: (limit) => ({ perIp: { limit, per: '24h' } }),
    path: '/nowhere',
    call: (from) => withKey('', from),
    passes: 404,
  },
  'a throttle of guests': {
    options: (limit) => ({ policies: { few: { limit, per: '24h' } } }),
    path: '/guests',
    call: (from) => withKey('', from),
    passes: 200,
  },
  'failed sign-ins': {
    options: (limit) => ({ login: { failures: { limit, per: '24h' } } }),
    path: '/login',
    call: (from) => post({ email: EMAIL }, from),
    passes: 401,
  },
  'wrong keys': {
    options: (limit) => ({ limits: { adminPreauthFailPerMin: limit } }),
    path: '/api',
    call: (from) => withKey('wrong', from),
    passes: 401,
  },
  'new rows': {
    options: (limit) => ({ limits: { publicNewRowsPerIpHour: limit } }),
    path: '/rows',
    call: (from) => post({}, from),
    passes: 201,
  },
  'public calls of a network': {
    options: (limit) => ({ limits: { publicIpRatePerMin: limit } }),
    path: '/tool',
    call: (from) => post({}, from),
    passes: 201,
  },
};

const RULES: Record<string, Rule> = {
  ...PER_NETWORK,
  'public calls of a client': {
    options: (limit) => ({ limits: { publicTokenRatePerMin: limit } }),
    path: '/tool',
    call: (from) => post({ session: 't' }, from),
    passes: 201,
    // The unit that the network pays before the lookup.
    paid: 1,
  },
  'calls of a key': {
    options: (limit) => ({ limits: { adminRatePerMin: limit } }),
    path: '/api',
    call: (from) => withKey('right', from),
    passes: 200,
  },
  'calls of a user': {
    options: (limit) => ({ limits: { adminRatePerMin: limit } }),
    path: '/api',
    call: (from) => withKey('of-user', from),
    passes: 200,
  },
  'everybody’s new rows': {
    options: (limit) => ({ limits: { publicNewRowsGlobalHour: limit } }),
    path: '/rows',
    call: (from) => post({}, from),
    passes: 201,
  },
  'wrong codes': {
    options: (limit) => ({ login: { codes: { limit, per: '24h' } } }),
    path: '/code',
    call: (from) => post({ email: EMAIL }, from),
    passes: 401,
  },
  mails: {
    options: (limit) => ({ login: { mails: { limit, per: '24h' } } }),
    path: '/mail',
    call: (from) => post({ email: EMAIL }, from),
    passes: 201,
  },
};

/** How many script calls the server has run. */
async function scriptCalls(): Promise<number> {
  const stats = await redis.info('commandstats');
  return [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
}

it.each(Object.entries(PER_NETWORK))(
  'A03 one IPv6 network is one client: %s',
  async (_name, { options, path, call, passes }) => {
    const app = await start(options(3));
    const found: number[] = [];
    for (const address of ['5:6::1', '5:6::2', '5:6::3', '5:6::4', '5:7::1']) {
      found.push((await send(app, path, call(`2001:db8:${address}`))).status);
    }
    expect(found).toEqual([passes, passes, passes, 429, passes]);
  },
);

it.each(Object.entries(RULES))(
  'F02 of N, for 1, 2 and 10, exactly N pass; the next is refused, asked for or remembered: %s',
  async (_name, { options, path, call, passes, paid = 0 }) => {
    for (const n of [1, 2, 10]) {
      await redis.flushall();
      const [one, other] = [await start(options(n)), await start(options(n))];
      const last = call(NETWORK);
      expect(await statuses(one, path, n + 1, last)).toEqual([...Array<number>(n).fill(passes), 429]);
      const before = await scriptCalls();
      expect(await statuses(other, path, 1, last), 'asked for').toEqual([429]);
      const asked = await scriptCalls();
      expect(asked).toBeGreaterThan(before);
      for (const app of [one, other]) expect(await statuses(app, path, 1, last), 'remembered').toEqual([429]);
      expect(await scriptCalls()).toBe(asked + 2 * paid);
    }
  },
);

it('I02 a call that is refused takes nothing: of 10 units 8 are used, 5 more refused, 2 more pass', async () => {
  const app = await start({ limits: { adminRatePerMin: 10 } });
  const answers: Answer[] = [];
  for (const cost of [8, 5, 2]) answers.push(await send(app, `/api/costs-${cost}`, withKey('key')));
  expect(answers.map(({ status, headers }) => [status, headers['ratelimit-remaining']])).toEqual([
    [200, '2'],
    [429, '2'],
    [200, '0'],
  ]);
  expect([...(await countersOf([redis])).values()]).toEqual([10]);
});

it('I03 of a refused call the network has paid the unit before the lookup, its token nothing', async () => {
  const app = await start({ limits: { publicIpRatePerMin: 100, publicTokenRatePerMin: 6 } });
  const service = app.app.get(RateLimitService);
  const allowed: boolean[] = [];
  for (let call = 0; call < 10; call++) {
    expect((await service.checkPublic(NETWORK, null, 1)).allowed).toBe(true);
    allowed.push((await service.checkPublic(NETWORK, 'token', 3, 2)).allowed);
  }
  expect(allowed).toEqual([true, true, ...Array<boolean>(8).fill(false)]);
  const used = Object.fromEntries(
    [...(await countersOf([redis]))].map(([key, count]) => [key.slice(key.lastIndexOf(':') + 1), count]),
  );
  expect(used).toEqual({ 'public-token': 6, 'public-network': 14 });
  expect((await service.checkPublic(NETWORK, null, 1, 0)).remaining).toBe(86);
});

it('J13 of 50 wrong keys at once, of two apps, three are answered and the rest refused', async () => {
  const limits = { adminPreauthFailPerMin: 3 };
  const apps = [await start({ limits }), await start({ limits })];
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => send(apps[index % 2], '/api', withKey('wrong'))),
  );
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(3);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(47);
});

// Cases from the field over a real Redis: what names a counter, and what can be read of it.

import { Agent } from 'node:http';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { constantFrom, record, sample, string } from 'fast-check';
import type { Redis } from 'ioredis';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { AuditSink, type AuditEntry, type RateLimitOptions } from '../../lib/index.js';
import { RedisStore } from '../../lib/stores/redis/redis.store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ownRedis } from '../tools/servers/own-redis.js';
import type { AdapterName, AppSetup, RunningApp } from './support/app.js';
import { send, statuses, type Sent } from './support/client.js';
import { EMAIL, post, startEveryLimit, withKey } from './support/every-limit.js';
import { checkNestVersion } from './support/nest-version.js';

/** What Redis holds does not depend on the adapter: one on each version of Nest. */
const adapter: AdapterName = process.env.NEST_MAJOR === '12' ? 'express' : 'fastify';

let redis: Redis;

ownRedis((client) => {
  redis = client;
});

beforeEach(() => redis.flushall());

checkNestVersion();

/** An app whose time stands still: no window ends during a test. What the store could not do is answered 503. */
async function start(options: RateLimitOptions = {}, setup: AppSetup = {}): Promise<RunningApp> {
  const store = new RedisStore(redis, { clock: new FakeClock() });
  return startEveryLimit(adapter, { store, onStoreError: 'closed', ...options }, setup);
}

it(
  'C01 no two of 1,000 pairs of e-mail and address share a counter of sign-ins',
  { timeout: 60_000 },
  async () => {
    // The app's lookup tells all texts apart.
    const app = await start({ login: { failures: { limit: 1, per: '24h' }, fold: (text) => text } });
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    onTestFinished(() => agent.destroy());
    const separators = [':', '|', '/', '{', '}', ',', '\0'];
    // Few pieces, so that many pairs are one text once they are joined: 'x@y:1' of '2001:db8::', 'x@y' of '1:2001:db8::'.
    const pieces = ['1', '2', 'db8', '::', ' ', '%', ...separators];
    const generated = sample(
      record({
        email: string({ unit: constantFrom(...pieces), maxLength: 3 }).map((rest) => `x@y${rest}`),
        address: constantFrom(
          '2001:db8::',
          '1:2001:db8::',
          '2:2001:db8::',
          'db8:1::',
          '1:2::',
          '2.3.4.5',
          '1.2.3.4',
        ),
      }),
      { numRuns: 5_000, seed: 1 },
    );
    const joined = separators.flatMap((separator) => [
      { email: `x@y${separator}1`, address: '2001:db8::' },
      { email: `x@y${separator}1`, address: '2.3.4.5' },
    ]);
    const known = [
      ...joined,
      { email: 'x@y', address: '1:2001:db8::' },
      { email: 'x@y', address: '2.3.4.5' },
    ];
    const pairs = [...new Map([...known, ...generated].map((pair) => [JSON.stringify(pair), pair])).values()];
    expect(pairs.length).toBeGreaterThanOrEqual(1_000);
    const tries = pairs
      .slice(0, 1_000)
      .map(({ email, address }) => send(app, '/login', { ...post({ email }, address), agent }));
    const shared = (await Promise.all(tries)).filter(({ status }) => status !== 401);
    expect(shared).toEqual([]);
    expect(await redis.dbsize()).toBe(1_000);
  },
);

it('C05 an API key and an e-mail are nowhere to be read: in Redis, in the log, in audit details', async () => {
  const SECRET = 'sk_test_SECRET';
  const rows: AuditEntry[] = [];
  class Rows extends AuditSink {
    override write(entry: AuditEntry): void {
      rows.push(entry);
    }
  }
  const app = await start({
    audit: new Rows(),
    limits: { adminRatePerMin: 1, adminPreauthFailPerMin: 1, publicTokenRatePerMin: 1 },
    login: { failures: { limit: 1, per: '24h' }, perIdentifier: { limit: 9, per: '24h' } },
  });
  const sent: [string, Sent][] = [
    ['/api', withKey(SECRET, '203.0.113.1')],
    ['/api', withKey(`wrong ${SECRET}`, '203.0.113.2')],
    ['/tool', post({ session: SECRET }, '203.0.113.3')],
    ['/login', post({ email: EMAIL }, '203.0.113.4')],
    ['/code', post({ email: EMAIL }, '203.0.113.5')],
    ['/mail', post({ email: EMAIL }, '203.0.113.6')],
  ];
  for (const [path, call] of sent) await statuses(app, path, 3, call);
  const keys = await redis.keys('*');
  expect(keys.length).toBeGreaterThanOrEqual(sent.length);
  const values = await redis.mget(keys);
  expect(values).not.toContain(null);
  await expect.poll(() => rows.length).toBeGreaterThanOrEqual(4);
  const lines = app.log.all.map(({ message }) => message);
  expect(lines.filter((line) => line.includes('exceeded')).length).toBeGreaterThanOrEqual(4);
  const all = [...keys, ...values, ...lines, ...rows.map(({ details }) => JSON.stringify(details))].join(
    '\n',
  );
  for (const secret of ['SECRET', 'sk_test', 'user-a', 'x.example']) expect(all).not.toContain(secret);
});

it('C06 an e-mail of a megabyte is a key of at most 200 bytes, and one that differs at its end another', async () => {
  const limit = 2 * 1024 * 1024;
  const app = await start(
    {},
    adapter === 'express'
      ? {
          bodyParser: false,
          main: (running) => void (running as NestExpressApplication).useBodyParser('json', { limit }),
        }
      : { makeAdapter: () => new FastifyAdapter({ bodyLimit: limit }) },
  );
  const email = 'a'.repeat(1024 * 1024 - 1);
  expect(await statuses(app, '/login', 6, post({ email: `${email}a` }))).toEqual([
    401, 401, 401, 401, 401, 429,
  ]);
  expect(await statuses(app, '/login', 1, post({ email: `${email}b` }))).toEqual([401]);
  const keys = await redis.keys('*');
  expect(keys).toHaveLength(2);
  for (const key of keys) expect(Buffer.byteLength(key)).toBeLessThanOrEqual(200);
});

/** An app that takes doubled slashes for one. */
const MERGING: AppSetup =
  adapter === 'express'
    ? {
        main: (app) =>
          void app.use((request: { url: string }, _response: unknown, next: () => void) => {
            request.url = request.url.replaceAll(/\/+/g, '/');
            next();
          }),
      }
    : { makeAdapter: () => new FastifyAdapter({ routerOptions: { ignoreDuplicateSlashes: true } }) };

it.each([
  ['/auth/login', 5, 401],
  ['/auth/throttled', 3, 201],
])('E01 %s however it is spelled spends one counter of %i', async (path, n, passes) => {
  const spellings = [path, `/${path}`, path.replace('/auth/', '/auth//'), `//${path}`];
  for (const [setup, found] of [
    [MERGING, new Set(spellings)],
    [{}, new Set([path])],
  ] as const) {
    await redis.flushall();
    const app = await start({ perIp: { limit: 6 * spellings.length, per: '8760h' } }, setup);
    let room = n;
    for (let round = 0; round < 6; round++) {
      for (const spelling of spellings) {
        const expected = !found.has(spelling) ? 404 : room-- > 0 ? passes : 429;
        expect([spelling, ...(await statuses(app, spelling, 1, post({ email: EMAIL })))]).toEqual([
          spelling,
          expected,
        ]);
      }
    }
    // Each of them, found or not, has cost the client's address one.
    expect(await statuses(app, '/nowhere', 1, post({}))).toEqual([429]);
  }
});

// Whole apps over a real Redis: several of them share one limit, and a server that fails never fails a request.
import { Body, Controller, Get, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  MailThrottle,
  StoreUnavailableException,
  Throttle,
  ThrottleLogin,
  type OnStoreError,
  type RateLimitOptions,
} from '../../lib/index.js';
import { RedisStore } from '../../lib/stores/redis/redis.store.js';
import { ownRedis } from '../tools/servers/own-redis.js';
import type { RedisServer } from '../tools/servers/redis-server.js';
import { ADAPTERS, startApp, type AdapterName } from './support/app.js';
import { checkNestVersion } from './support/nest-version.js';

@Controller()
class Routes {
  @Get('reports')
  @Throttle({ limit: 3, per: '24h' })
  reports(): string {
    return 'ok';
  }

  @Post('login')
  @HttpCode(200)
  @ThrottleLogin('email')
  login(@Body() { password }: { password?: string }): string {
    if (password !== 'right') throw new UnauthorizedException();
    return 'welcome';
  }
}

let server: RedisServer;
let redis: Redis;

ownRedis((client, started) => {
  redis = client;
  server = started;
});

beforeEach(() => redis.flushall());

checkNestVersion();

/** Time enough on any machine: what counts by itself for a moment would not be shared. */
const PATIENT: RateLimitOptions = { storeTimeout: 10_000 };

/** No test meets the end of a window. */
const DAY = { perIp: { limit: 1_000, per: '24h' }, failures: { limit: 5, per: '24h' } } as const;

async function start(adapter: AdapterName, { login: signIn, ...options }: RateLimitOptions = {}) {
  const login = { failures: DAY.failures, ...signIn };
  const { app, port, log } = await startApp(adapter, {
    controllers: [Routes],
    rateLimit: { perIp: DAY.perIp, store: new RedisStore(redis), ...options, login },
  });
  const base = `http://127.0.0.1:${port}`;
  const tryLogin = (password: string) =>
    fetch(`${base}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'user-a@x.example', password }),
    });
  const get = (path = '/reports', headers: Record<string, string> = {}) => fetch(base + path, { headers });
  return { app, log, get, login: tryLogin };
}

async function statuses(count: number, call: () => Promise<Response>): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < count; i++) found.push((await call()).status);
  return found;
}

/** The longest of `count` calls in milliseconds. */
async function slowest(count: number, call: () => Promise<Response>): Promise<number> {
  let longest = 0;
  for (let i = 0; i < count; i++) {
    const before = performance.now();
    await call();
    longest = Math.max(longest, performance.now() - before);
  }
  return longest;
}

/** Runs a step while the server is gone, and brings it back, empty. */
async function inOutage(step: () => Promise<void>): Promise<void> {
  await server.crash();
  try {
    await step();
  } finally {
    await server.resume();
  }
}

describe.each(ADAPTERS)('apps over Redis on %s', (adapter) => {
  it('M09 two of them have one limit', async () => {
    const [one, two] = [await start(adapter, PATIENT), await start(adapter, PATIENT)];
    expect([...(await statuses(2, () => one.get())), ...(await statuses(2, () => two.get()))]).toEqual([
      200, 200, 200, 429,
    ]);
  });

  it('A03 counts the addresses of one IPv6 network together', async () => {
    const { get } = await start(adapter, {
      ...PATIENT,
      perIp: { limit: 3, per: '24h' },
      trustedProxies: ['127.0.0.1'],
    });
    const from = (address: string) => get('/reports', { 'x-forwarded-for': address });
    const found: number[] = [];
    for (const host of ['5:6::1', '5:6::2', '5:6::3', '5:6::4', '5:7::1']) {
      found.push((await from(`2001:db8:${host}`)).status);
    }
    expect(found).toEqual([200, 200, 200, 429, 200]);
  });

  it('E01 counts by the handler, however its path is spelled', async () => {
    const { get } = await start(adapter, PATIENT);
    const spellings = ['/reports', '//reports', '/reports/', '/REPORTS', '/reports?x=1', '/%72eports'];
    const found: number[] = [];
    for (const path of [...spellings, ...spellings]) found.push((await get(path)).status);
    expect(found.filter((status) => status === 200)).toHaveLength(3);
    expect(found.slice(6)).not.toContain(200);
  });

  it('P08 connections of its own end with the app, and the client that it was given goes on', async () => {
    const connections = async (): Promise<number> =>
      String(await redis.client('LIST'))
        .trim()
        .split('\n').length;
    const before = await connections();
    const { app, get } = await start(adapter, PATIENT);
    await get();
    expect(await connections()).toBeGreaterThan(before);
    const closing = performance.now();
    await app.close();
    await expect.poll(connections, { timeout: 10_000 }).toBe(before);
    console.log(`connections gone after ${(performance.now() - closing).toFixed(0)} ms`);
    expect(await redis.ping()).toBe('PONG');
  });

  it('J13 C05 sign-ins share their failures, and no key in the server shows whose they are', async () => {
    const [one, two] = [await start(adapter, PATIENT), await start(adapter, PATIENT)];
    const wrong = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? one : two).login('wrong')),
    );
    const failures = wrong.filter(({ status }) => status === 401).length;
    expect(failures).toBeLessThanOrEqual(5);
    expect(failures).toBeGreaterThan(0);
    expect(wrong.filter(({ status }) => status === 429)).toHaveLength(50 - failures);
    const keys = await redis.keys('*');
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      expect(key).not.toContain('x.example');
      expect(await redis.pttl(key)).toBeGreaterThan(0);
    }
  });

  const expected: [OnStoreError, number[]][] = [
    ['local', [200, 200, 200, 429, 429]],
    ['open', [200, 200, 200, 200, 200]],
    ['closed', [503, 503, 503, 503, 503]],
  ];
  it.each(expected)(
    'K08 K11 %s: answered in time and by the policy while the server is gone',
    async (onStoreError, answers) => {
      const app = await start(adapter, { ...PATIENT, onStoreError });
      expect((await app.get()).status).toBe(200);
      await inOutage(async () => {
        const found = await statuses(5, () => app.get());
        expect(found).toEqual(answers);
        const longest = await slowest(20, () => app.get());
        console.log(`longest answer without a server: ${longest.toFixed(0)} ms`);
        expect(longest).toBeLessThan(1_000);
        if (onStoreError === 'closed') {
          const refused = await app.get();
          expect([refused.headers.get('retry-after'), await refused.json()]).toEqual([
            '1',
            { statusCode: 503, message: 'Service Unavailable', error: 'Service Unavailable' },
          ]);
        } else {
          expect(await statuses(6, () => app.login('wrong'))).toEqual([401, 401, 401, 401, 401, 429]);
        }
      });
    },
  );

  it('K11 sign-ins and mails that are closed while the server is gone verify and send nothing', async () => {
    const { app, get, login } = await start(adapter, { ...PATIENT, login: { onStoreError: 'closed' } });
    let sent = 0;
    const mail = () => app.get(MailThrottle).attempt('user-a@x.example', null, () => sent++);
    expect(await mail()).toBe(true);
    await inOutage(async () => {
      await expect(mail()).rejects.toBeInstanceOf(StoreUnavailableException);
      expect([sent, (await login('right')).status, (await get()).status]).toEqual([1, 503, 200]);
    });
  });

  it('K07 is normal again within a second of a restart, with one warning when it fell and one when it is back', async () => {
    const app = await start(adapter);
    await inOutage(async () => void (await statuses(30, () => app.get())));
    const back = performance.now();
    while ((await redis.keys('*').catch(() => [])).length === 0) {
      await app.get();
      if (performance.now() - back > 10_000) throw new Error('the store is not asked again');
    }
    const took = performance.now() - back;
    console.log(`shared again ${took.toFixed(0)} ms after the restart`);
    expect(took).toBeLessThan(10_000);
    expect(app.log.own('warn').filter((line) => /the store is (down|back)/.test(line))).toEqual([
      expect.stringContaining('the store is down (TOLLGATE_STORE_'),
      expect.stringContaining('the store is back after'),
    ]);
  });

  it('K10 a server that hangs delays no request beyond the deadline', async () => {
    const app = await start(adapter);
    await app.get();
    server.freeze();
    try {
      const longest = await slowest(10, () => app.get());
      console.log(`longest answer over a server that hangs: ${longest.toFixed(0)} ms`);
      expect(longest).toBeLessThan(1_500);
    } finally {
      server.thaw();
    }
  });
});

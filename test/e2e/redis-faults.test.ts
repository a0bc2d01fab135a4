// Whole apps under load whose Redis is killed, hangs, or answers late or not at all.

import { Redis } from 'ioredis';
import { Redis as Valkey } from 'iovalkey';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { RateLimitOptions } from '../../lib/index.js';
import { Proxy } from '../tools/servers/proxy.js';
import { ownRedis } from '../tools/servers/own-redis.js';
import type { RedisServer } from '../tools/servers/redis-server.js';
import type { AdapterName } from './support/app.js';
import { statuses } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';
import {
  expectAnswers,
  expectCountedOnce,
  expectLimit,
  expectOneOutage,
  expectPolicies,
  expectWarnings,
  report,
  runThrough,
  startSharing,
} from './support/redis-apps.js';

/** What fails does not depend on who asks: one adapter and two of the clients on each version of Nest. */
const [adapter, names]: [AdapterName, [string, string]] =
  process.env.NEST_MAJOR === '12'
    ? ['express', ['ioredis', 'node-redis']]
    : ['fastify', ['iovalkey', 'node-redis']];

/** Milliseconds until limits are shared again: ten times what is promised, for busy machines. */
const WITHIN = 10_000;

let server: RedisServer;
let redis: Redis;
let proxy: Proxy;

ownRedis((client, started) => {
  redis = client;
  server = started;
});

beforeAll(async () => {
  proxy = await Proxy.start(server.port);
});

beforeEach(async () => {
  await redis.flushall();
  Object.assign(proxy, { delay: 0, dropEvery: 0, cutNextReply: false });
});

afterAll(async () => {
  await proxy.stop();
});

checkNestVersion();

/** A machine that is short of time for seconds may spoil a run, hardly two. */
const AGAIN = { retry: 1, timeout: 30_000 };

async function start(port: number, options: RateLimitOptions = {}) {
  const clients = {
    ioredis: () => new Redis(port, { lazyConnect: true }),
    iovalkey: () => new Valkey(port, { lazyConnect: true }),
    'node-redis': () => createClient({ url: `redis://127.0.0.1:${port}` }),
  };
  return startSharing(adapter, clients, names, options);
}

it('K08 K09 K11 killed under load and started again, empty', AGAIN, async () => {
  const apps = await start(server.port);
  const course = await runThrough(apps, {
    fail: () => server.crash(),
    lasts: 1_200,
    within: WITHIN,
    mend: () => server.resume(),
  });
  report('killed', course);
  expectAnswers(course);
  expectPolicies(course);
  expectLimit(course, 'lost');
  expectOneOutage(course);
  await expectCountedOnce(course, [redis], { since: course.failed });
});

it('K09 K10 K11 hanging under load, and going on', AGAIN, async () => {
  const apps = await start(server.port);
  const course = await runThrough(apps, {
    fail: () => server.freeze(),
    lasts: 400,
    within: WITHIN,
    mend: () => server.thaw(),
  });
  report('frozen', course);
  expectAnswers(course);
  expectPolicies(course);
  expectLimit(course, 'kept');
  expectOneOutage(course);
  // What reached it while it hung was too old when it went on, but for the last.
  const maybe = ({ at }: { at: number }) => at < course.failed || at > course.mended - 100;
  await expectCountedOnce(course, [redis], { maybe });
});

it('K09 K10 replies dropped under load, and the connections kept', AGAIN, async () => {
  const apps = await start(proxy.port);
  const course = await runThrough(apps, {
    outage: false,
    fail: () => void (proxy.dropEvery = 20),
    lasts: 600,
    within: WITHIN,
    mend: () => void (proxy.dropEvery = 0),
  });
  report('dropping replies', course);
  expectAnswers(course);
  expectLimit(course, 'kept');
  expectWarnings(course);
  await expectCountedOnce(course, [redis]);
});

it('K09 replies lost with their connections under load', AGAIN, async () => {
  const apps = await start(proxy.port);
  let cutting: NodeJS.Timeout | undefined;
  const course = await runThrough(apps, {
    outage: false,
    fail: () => void (cutting = setInterval(() => (proxy.cutNextReply = true), 150)),
    lasts: 600,
    within: WITHIN,
    mend: () => {
      clearInterval(cutting);
      proxy.cutNextReply = false;
    },
  });
  report('cutting connections', course);
  expectAnswers(course);
  expectLimit(course, 'kept');
  expectWarnings(course);
  await expectCountedOnce(course, [redis]);
});

it(
  'K09 K10 replies delayed under load: no matter within the deadline; beyond it an outage',
  AGAIN,
  async () => {
    const apps = await start(proxy.port);
    const course = await runThrough(apps, {
      fail: async () => {
        const told = () => apps.flatMap(({ events }) => events).length;
        const before = told();
        proxy.delay = 10;
        await sleep(300);
        expect(told()).toBe(before);
        proxy.delay = 300;
      },
      lasts: 600,
      within: WITHIN,
      mend: () => void (proxy.delay = 0),
    });
    report('delaying replies', course);
    expectAnswers(course);
    expectPolicies(course);
    expectLimit(course, 'kept');
    expectOneOutage(course);
    await expectCountedOnce(course, [redis]);
  },
);

it('K07 a refusal from memory is no sign of life: the outage lasts until the server answers', async () => {
  const [app] = await start(server.port, { perIp: null });
  await expect.poll(() => statuses(app, '/limited', 1), { interval: 0 }).toEqual([429]);
  await server.crash();
  try {
    await expect.poll(() => statuses(app, '/counted', 1).then(() => app.events)).toHaveLength(1);
    // When the next call tries whether the server is back, the refusal is still remembered.
    await sleep(320);
    await statuses(app, '/limited', 1);
    expect(app.events.map(({ type }) => type)).toEqual(['store-down']);
  } finally {
    await server.resume();
  }
});

it('K10 who comes while another call tries whether the store is back waits for that one at most', async () => {
  const [app] = await start(proxy.port, { perIp: null, storeTimeout: 200 });
  const call = async (): Promise<number> => {
    await statuses(app, '/counted', 1);
    return performance.now();
  };
  await call();
  proxy.delay = 250;
  await expect.poll(async () => (await call()) && app.events, { interval: 0 }).toHaveLength(1);
  // In time, but not for a call that begins when the first has ended.
  proxy.delay = 150;
  await sleep(310);
  const first = call();
  await sleep(10);
  const second = await call();
  expect(second - (await first)).toBeLessThan(75);
});

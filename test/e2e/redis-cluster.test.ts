// Whole apps over a Redis Cluster: limits of one call whose counters lie on different servers.

import { Body, Controller, Get, HttpCode, Post, type ExecutionContext } from '@nestjs/common';
import { Redis } from 'ioredis';
import { Cluster as ValkeyCluster } from 'iovalkey';
import { createCluster } from 'redis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  Cost,
  PublicTool,
  RateLimitEvents,
  RateLimitService,
  Throttle,
  type RateLimitOptions,
} from '../../lib/index.js';
import type { RedisClient } from '../../lib/stores/redis/clients/client-source.js';
import { RedisStore } from '../../lib/stores/redis/redis.store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { RedisCluster } from '../tools/servers/redis-cluster.js';
import { startApp, type AdapterName, type RunningApp } from './support/app.js';
import { send, type Sent } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';
import { countersOf } from './support/redis-apps.js';

/** Networks whose counters lie on the first server and on the third. */
const NETWORK = '203.0.113.5';
const OTHER_NETWORK = '198.51.100.1';

const clients: Record<string, () => RedisClient> = {
  iovalkey: () => new ValkeyCluster(cluster.nodes, { lazyConnect: true }),
  'node-redis': () => createCluster({ rootNodes: cluster.nodes.map((socket) => ({ socket })) }),
};

/** What a cluster does does not depend on who asks: one adapter and one client per version of Nest. */
const [adapter, client]: [AdapterName, string] =
  process.env.NEST_MAJOR === '12' ? ['express', 'node-redis'] : ['fastify', 'iovalkey'];

@Controller()
class Routes {
  @Post('search')
  @HttpCode(200)
  @PublicTool('session')
  @Cost(3)
  search(@Body() body: unknown): unknown {
    return body;
  }

  @Get('reports')
  @Throttle([
    { name: 'of-user', limit: 3, per: '1h', by: 'user', algorithm: 'fixed' },
    { name: 'of-ip', limit: 12, per: '1h', by: 'ip', algorithm: 'fixed' },
    { name: 'of-ip-smooth', limit: 12, per: '1h', by: 'ip' },
  ])
  reports(): void {}
}

let cluster: RedisCluster;
let servers: Redis[];

beforeAll(async () => {
  cluster = await RedisCluster.start();
  servers = cluster.masters.map(({ port }) => new Redis(port, '127.0.0.1'));
  for (const server of servers) server.on('error', () => {});
});

beforeEach(async () => {
  for (const server of servers) await server.flushall();
});

afterAll(async () => {
  for (const server of servers) server.disconnect();
  await cluster.stop();
});

checkNestVersion();

/** Two apps that share the cluster. A store that fails shows, by CROSSSLOT or otherwise: its answer is 503. */
async function start(limits: RateLimitOptions['limits'] = {}) {
  const clock = new FakeClock();
  const failures: string[] = [];
  const apps: RunningApp[] = [];
  for (let count = 0; count < 2; count++) {
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: {
        perIp: null,
        trustedProxies: ['127.0.0.1'],
        identify: (context: ExecutionContext) => context.switchToHttp().getRequest().headers['x-user'],
        limits: { publicIpRatePerMin: 100, publicTokenRatePerMin: 6, ...limits },
        store: new RedisStore(clients[client](), { clock }),
        storeTimeout: 10_000,
        onStoreError: 'closed',
      },
    });
    running.app.get(RateLimitEvents).all$.subscribe(({ type }) => {
      if (type.startsWith('store-')) failures.push(type);
    });
    apps.push(running);
  }
  const services = apps.map(({ app }) => app.get(RateLimitService));
  return { apps, services, failures };
}

/** What all counters hold, by the kind of their key, and on how many servers they lie. */
async function counted(): Promise<{ counters: Record<string, number[]>; servers: number }> {
  const counters: Record<string, number[]> = {};
  let used = 0;
  for (const server of servers) {
    const here = await countersOf([server]);
    if (here.size > 0) used++;
    for (const [key, count] of here) (counters[key.slice(key.indexOf('}') + 3)] ??= []).push(count);
  }
  for (const counts of Object.values(counters)) counts.sort((a, b) => a - b);
  return { counters, servers: used };
}

/** Statuses of so many calls, one after the other, each to the other app. */
async function alternate(
  apps: readonly RunningApp[],
  path: string,
  count: number,
  callOf: (index: number) => Sent,
): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index++) {
    found.push((await send(apps[index % 2], path, callOf(index))).status);
  }
  return found;
}

const PASSED_TWICE = [true, true, ...Array<boolean>(8).fill(false)];

it('K04 I03 public checks: of a refused call its network has paid the unit before the lookup, its token nothing', async () => {
  const { services, failures } = await start();
  for (const [turn, token] of ['one', 'two', 'four'].entries()) {
    const allowed: boolean[] = [];
    for (let call = 0; call < 10; call++) {
      const service = services[call % 2];
      expect((await service.checkPublic(NETWORK, null, 1)).allowed).toBe(true);
      allowed.push((await service.checkPublic(NETWORK, token, 3, 2)).allowed);
    }
    expect(allowed).toEqual(PASSED_TWICE);
    expect((await services[0].checkPublic(NETWORK, null, 1, 0)).remaining).toBe(100 - 14 * (turn + 1));
  }
  expect(await counted()).toEqual({
    counters: { 'network:public-network': [42], 'token:public-token': [6, 6, 6] },
    servers: 3,
  });
  // Refused by its network, a token has paid nothing.
  expect((await services[0].checkPublic(NETWORK, 'six', 3, 59)).allowed).toBe(false);
  expect((await services[1].checkPublic(OTHER_NETWORK, 'six', 6)).allowed).toBe(true);
  expect((await services[0].checkPublic(NETWORK, null, 1, 0)).remaining).toBe(58);
  expect(failures).toEqual([]);
});

it('K04 I03 a public tool: of ten calls with one token two pass, and their network has paid 14', async () => {
  const { apps, services, failures } = await start();
  for (const [turn, session] of ['one', 'two', 'four'].entries()) {
    const call: Sent = {
      method: 'POST',
      headers: { 'x-forwarded-for': NETWORK, 'content-type': 'application/json' },
      body: JSON.stringify({ session }),
    };
    const found = await alternate(apps, '/search', 10, () => call);
    expect(found).toEqual(PASSED_TWICE.map((passed) => (passed ? 200 : 429)));
    expect((await services[0].checkPublic(NETWORK, null, 1, 0)).remaining).toBe(100 - 14 * (turn + 1));
  }
  expect((await counted()).counters).toEqual({
    'network:public-network': [42],
    'token:public-token': [6, 6, 6],
  });
  expect(failures).toEqual([]);
});

it('K04 new rows: what the quota of all refuses, its network has not paid', async () => {
  const { services, failures } = await start({ publicNewRowsPerIpHour: 3, publicNewRowsGlobalHour: 8 });
  const found: Record<string, boolean[]> = {};
  for (const network of ['192.0.2.2', '192.0.2.3', '192.0.2.4']) {
    found[network] = [];
    for (let row = 0; row < 4; row++) {
      found[network].push((await services[row % 2].checkNewRows(network)).allowed);
    }
  }
  expect(found).toEqual({
    '192.0.2.2': [true, true, true, false],
    '192.0.2.3': [true, true, true, false],
    '192.0.2.4': [true, true, false, false],
  });
  expect(await counted()).toEqual({
    counters: { 'network:new-rows-network': [2, 3, 3], 'all:new-rows': [8] },
    servers: 3,
  });
  expect(failures).toEqual([]);
});

const as = (user: string): Sent => ({ headers: { 'x-forwarded-for': NETWORK, 'x-user': user } });

it('K04 throttles of a route by user and by address: each call is charged to all or to none', async () => {
  const { apps, failures } = await start();
  const users = ['a', 'b', 'c', 'd', 'e'];
  const found: Record<string, number[]> = {};
  for (const user of users) found[user] = await alternate(apps, '/reports', 4, () => as(user));
  const full = [200, 200, 200, 429];
  expect(found).toEqual({ a: full, b: full, c: full, d: full, e: [429, 429, 429, 429] });
  const { counters, servers: used } = await counted();
  expect(Object.entries(counters).map(([kind, counts]) => [kind.split(' ')[0], counts])).toEqual(
    expect.arrayContaining([
      ['user:route', [3, 3, 3, 3]],
      ['network:route', [12]],
    ]),
  );
  expect(used).toBeGreaterThan(1);
  expect(failures).toEqual([]);
});

it('K04 throttles of a route, all at once: never more than the limits, and in the end no less', async () => {
  const { apps, failures } = await start();
  const users = ['a', 'b', 'c', 'd', 'e'];
  const calls = Array.from({ length: 40 }, (_, index) =>
    send(apps[index % 2], '/reports', as(users[index % 5])),
  );
  const found = (await Promise.all(calls)).map(({ status }) => status);
  const admitted = found.filter((status) => status === 200).length;
  expect(found.filter((status) => status === 429)).toHaveLength(40 - admitted);
  expect(admitted).toBeLessThanOrEqual(12);
  const rest = await alternate(apps, '/reports', 15, (index) => as(users[index % 5]));
  expect(admitted + rest.filter((status) => status === 200).length).toBe(12);
  expect(failures).toEqual([]);
});

// Cases from the field of a Redis that can't be reached: whole apps answer in time all the same.

import { Agent } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { expect, it, onTestFinished } from 'vitest';
import type { RateLimitOptions } from '../../lib/index.js';
import type { RedisClient } from '../../lib/stores/redis/clients/client-source.js';
import { RedisStore } from '../../lib/stores/redis/redis.store.js';
import { freePort } from '../tools/servers/redis-server.js';
import type { AdapterName, RunningApp } from './support/app.js';
import { send } from './support/client.js';
import { startEveryLimit, withKey } from './support/every-limit.js';
import { checkNestVersion } from './support/nest-version.js';

/** What fails does not depend on the adapter: one on each version of Nest. */
const adapter: AdapterName = process.env.NEST_MAJOR === '12' ? 'express' : 'fastify';

checkNestVersion();

/** A machine that is short of time for a moment may spoil a run, hardly three. */
const TIMED = { retry: 2, timeout: 30_000 };

/** An app whose one route is limited per IP, by a throttle and in cost units: none of them is ever full. */
function start(client: RedisClient | string, options: RateLimitOptions = {}): Promise<RunningApp> {
  return startEveryLimit(adapter, {
    store: new RedisStore(client),
    perIp: { limit: 100_000, per: '24h' },
    policies: { few: { limit: 100_000, per: '24h' } },
    limits: { adminRatePerMin: 100_000 },
    storeTimeout: undefined,
    ...options,
  });
}

/** The longest of some requests, in milliseconds. */
async function longest(app: RunningApp, count: number): Promise<number> {
  let most = 0;
  for (let i = 0; i < count; i++) {
    const before = performance.now();
    expect((await send(app, '/api/every', withKey('right'))).status).toBe(200);
    most = Math.max(most, performance.now() - before);
  }
  return most;
}

it(
  'K08 a closed port: per IP, throttle and cost units within 300 ms in all, from the first request on',
  TIMED,
  async () => {
    // What is run for the first time in this process takes long by itself.
    await longest(await startEveryLimit(adapter, {}), 1);
    const app = await start(`redis://127.0.0.1:${await freePort()}`);
    const took = await longest(app, 10);
    console.log(`longest answer over a closed port: ${took.toFixed(0)} ms`);
    expect(took).toBeLessThan(300);
  },
);

it('K08 a closed port: 1,000 requests leave no commands behind', TIMED, async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const app = await start(`redis://127.0.0.1:${await freePort()}`);
  const agent = new Agent({ keepAlive: true, maxSockets: 10 });
  onTestFinished(() => agent.destroy());
  const heapAfter = async (requests: number): Promise<number> => {
    for (let sent = 0; sent < requests; sent += 50) {
      const batch = Array.from({ length: 50 }, () => send(app, '/api/every', { ...withKey('right'), agent }));
      for (const { status } of await Promise.all(batch)) expect(status).toBe(200);
    }
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await heapAfter(300);
  const grown = (await heapAfter(1_000)) - before;
  console.log(`heap of 1,000 requests over a closed port: ${(grown / 1_000).toFixed(0)} kB`);
  expect(grown).toBeLessThan(2_000_000);
});

const CLIENTS: Record<string, (port: number) => RedisClient> = {
  ioredis: (port) => new Redis(port, { lazyConnect: true }),
  'a cluster of ioredis': (port) => new Cluster([{ host: '127.0.0.1', port }], { lazyConnect: true }),
  'node-redis': (port) => createClient({ url: `redis://127.0.0.1:${port}` }),
};
// The run on Nest 11 has a node-redis whose clusters the store does not take.
if (process.env.NEST_MAJOR === '12') {
  CLIENTS['a cluster of node-redis'] = (port) =>
    createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
}

it.each(Object.entries(CLIENTS))(
  'K10 a server that accepts and says nothing costs a request one deadline, however many limits it has: %s',
  TIMED,
  async (_name, client) => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket.on('error', () => {})));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const address = silent.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const app = await start(client(port), { storeTimeout: 400 });
    const took = await longest(app, 1);
    console.log(`longest answer over a silent server: ${took.toFixed(0)} ms`);
    expect(took).toBeLessThan(800);
    expect(sockets.size).toBeGreaterThan(0);
  },
);

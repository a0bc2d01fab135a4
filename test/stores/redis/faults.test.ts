import { Redis } from 'ioredis';
import { Redis as Valkey } from 'iovalkey';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Verdict } from '../../../lib/algorithms/verdict.js';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import type { RedisClient } from '../../../lib/stores/redis/clients/client-source.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { Proxy } from '../../tools/servers/proxy.js';
import { ownRedis } from '../../tools/servers/own-redis.js';
import { freePort, RedisServer } from '../../tools/servers/redis-server.js';
import { fixed, gcra, TIMEOUT } from './buckets.js';

const NOT_DONE = { code: 'TOLLGATE_STORE_NOT_DONE' };
const UNKNOWN = { code: 'TOLLGATE_STORE_UNKNOWN' };

/** Clients with the settings that make each of them queue and send again, as their users have them. */
const clients: Record<string, (port: number) => RedisClient> = {
  ioredis: (port) => new Redis(port, { lazyConnect: true }),
  iovalkey: (port) => new Valkey(port, { lazyConnect: true }),
  'node-redis': (port) => createClient({ url: `redis://127.0.0.1:${port}` }),
};

let server: RedisServer;
let redis: Redis;
let proxy: Proxy;

ownRedis((client, started) => {
  redis = client;
  server = started;
});

beforeEach(async () => {
  await redis.flushall();
  proxy = await Proxy.start(server.port);
});

afterEach(() => proxy.stop());

/** How many units of a limit of 1,000 are used, as the server has it. */
async function used(key: string): Promise<number> {
  const watcher = new RedisStore(redis);
  const [{ remaining }] = await watcher.peek([fixed(key, 1_000, 0)], TIMEOUT);
  await watcher.close();
  return 1_000 - remaining;
}

/** Calls until one is answered. */
async function recovered(store: RedisStore, within = 5_000): Promise<Verdict[]> {
  const end = performance.now() + within;
  for (;;) {
    try {
      return await store.consume([fixed('recovered', 1_000)], 200);
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(25);
    }
  }
}

describe.each(Object.keys(clients))('with %s', (name) => {
  let store: RedisStore;

  beforeEach(async () => {
    store = new RedisStore(clients[name](proxy.port));
    await store.consume([fixed('warm', 1_000)], TIMEOUT);
  });

  afterEach(() => store.close());

  it('K03 an unknown script is loaded and run once: after SCRIPT FLUSH and FLUSHALL', async () => {
    await redis.script('FLUSH');
    const answers = await Promise.all([1, 2, 3].map(async () => store.consume([fixed('user')], TIMEOUT)));
    expect(new Set(answers.map(([{ remaining }]) => remaining))).toEqual(new Set([7, 8, 9]));
    await redis.flushall();
    await redis.script('FLUSH');
    expect((await store.consume([fixed('user')], TIMEOUT))[0].remaining).toBe(9);
  });

  it('K09 a lost reply is an unknown outcome, counted once and never sent again', async () => {
    proxy.cutNextReply = true;
    await expect(store.consume([fixed('lost', 1_000)], TIMEOUT)).rejects.toMatchObject(UNKNOWN);
    await recovered(store);
    await sleep(100);
    expect(await used('lost')).toBe(1);
  });

  it('K09 what is asked during an outage is never counted later', async () => {
    server.freeze();
    const asked = Array.from({ length: 100 }, async () => store.consume([fixed('outage', 1_000)], 50));
    const results = await Promise.allSettled(asked);
    server.thaw();
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    await recovered(store);
    await sleep(100);
    expect(await used('outage')).toBe(0);
  });

  it('K10 a silent server costs each call its time and no more, and its connection is replaced', async () => {
    proxy.mute();
    const started = performance.now();
    await expect(store.consume([fixed('silent', 1_000)], 100)).rejects.toMatchObject(UNKNOWN);
    expect(performance.now() - started).toBeLessThan(250);
    await recovered(store, 2_500);
    expect(proxy.connections).toBeGreaterThan(1);
  });

  it('K08 fails at once while there is no connection, and keeps nothing for later', async () => {
    await proxy.stop();
    await sleep(50);
    const started = performance.now();
    const calls = Array.from({ length: 200 }, async () => store.consume([fixed('closed', 1_000)], 100));
    const results = await Promise.allSettled(calls);
    expect(performance.now() - started).toBeLessThan(300);
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: NOT_DONE });
  });
});

describe('K08 a port that nobody listens on', () => {
  it.each(Object.keys(clients))('fails within the time of the call, by %s', async (name) => {
    const store = new RedisStore(clients[name](await freePort()));
    const started = performance.now();
    await expect(store.consume([gcra('a')], 100)).rejects.toMatchObject(NOT_DONE);
    await expect(store.consume([gcra('a')], 100)).rejects.toMatchObject(NOT_DONE);
    expect(performance.now() - started).toBeLessThan(300);
    await store.close();
  });
});

describe('deadlines', () => {
  it('hold on the server: what it comes to late does nothing', async () => {
    const store = new RedisStore(redis);
    await store.consume([gcra('warm')], TIMEOUT);
    await redis.client('PAUSE', 200, 'ALL');
    const calls = Array.from({ length: 100 }, async () => store.consume([fixed('late', 1_000)], 50));
    for (const { status } of await Promise.allSettled(calls)) expect(status).toBe('rejected');
    await sleep(300);
    expect(await used('late')).toBe(0);
    await store.close();
  });

  it('let pass what a pause holds up within them', async () => {
    const store = new RedisStore(redis);
    await store.consume([gcra('warm')], TIMEOUT);
    await redis.client('PAUSE', 60, 'ALL');
    expect((await store.consume([gcra('in time')], 1_000))[0].allowed).toBe(true);
    await store.close();
  });

  it('let pass what was answered while the process was busy', async () => {
    const store = new RedisStore(redis);
    await store.consume([gcra('warm')], TIMEOUT);
    const calls = Array.from({ length: 5 }, async () => store.consume([fixed('busy', 1_000)], 50));
    await new Promise((resolve) => setImmediate(resolve));
    const end = performance.now() + 150;
    while (performance.now() < end);
    for (const [{ allowed }] of await Promise.all(calls)) expect(allowed).toBe(true);
    expect(await used('busy')).toBe(5);
    await store.close();
  });

  it('reject at once what has no time left', async () => {
    const store = new RedisStore(redis);
    await store.consume([gcra('warm')], TIMEOUT);
    for (const timeout of [0, -1]) {
      await expect(store.consume([fixed('none', 1_000)], timeout)).rejects.toMatchObject(NOT_DONE);
    }
    expect(await used('none')).toBe(0);
    await store.close();
  });
});

describe('a server that can not write', () => {
  it('K13 out of memory: charges are not done, refusals and looks are answered, and it recovers', async () => {
    const store = new RedisStore(redis);
    await store.consume([fixed('full', 5, 5)], TIMEOUT);
    await redis.config('SET', 'maxmemory', '1mb');
    try {
      await expect(store.consume([fixed('user'), gcra('user')], TIMEOUT)).rejects.toMatchObject(NOT_DONE);
      expect((await store.consume([fixed('full', 5)], TIMEOUT))[0].allowed).toBe(false);
      expect((await store.peek([fixed('user')], TIMEOUT))[0].remaining).toBe(10);
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
    expect((await store.consume([fixed('user')], TIMEOUT))[0].remaining).toBe(9);
    await store.close();
  });

  it.each(Object.keys(clients))('K07 a replica is left: the connection is made anew, by %s', async (name) => {
    const store = new RedisStore(clients[name](proxy.port));
    await store.consume([fixed('warm', 1_000)], TIMEOUT);
    const before = proxy.connections;
    await redis.replicaof('127.0.0.1', await freePort());
    try {
      await expect(store.consume([fixed('a')], TIMEOUT)).rejects.toMatchObject(NOT_DONE);
      await expect.poll(() => proxy.connections, { timeout: 1_500 }).toBeGreaterThan(before);
    } finally {
      await redis.replicaof('NO', 'ONE');
    }
    await recovered(store);
    await store.close();
  });

  it('K13 a counter that was evicted is a fresh one', async () => {
    const store = new RedisStore(redis);
    await store.consume([fixed('evicted', 10, 7)], TIMEOUT);
    await redis.flushall();
    expect((await store.consume([fixed('evicted')], TIMEOUT))[0].remaining).toBe(9);
    await store.close();
  });
});

describe('a server that restarts', () => {
  it('K07 is no outage when only a connection was lost: calls wait for the next one', async () => {
    const store = new RedisStore(new Redis(proxy.port, { lazyConnect: true }));
    const events: RateLimitEvent[] = [];
    store.report = (event) => void events.push(event);
    await store.consume([fixed('cut', 1_000)], TIMEOUT);
    await sleep(600);
    const calls = Array.from({ length: 20 }, async () => store.consume([fixed('cut', 1_000)], TIMEOUT));
    proxy.cut();
    await Promise.allSettled(calls);
    for (let i = 0; i < 20; i++)
      expect((await store.consume([fixed('cut', 1_000)], TIMEOUT))[0].allowed).toBe(true);
    expect(events).toEqual([]);
    await store.close();
  });

  it('K03 is found again and taught the scripts', async () => {
    const own = await RedisServer.start();
    const store = new RedisStore(own.url);
    await store.consume([fixed('a')], TIMEOUT);
    await own.crash();
    await expect(store.consume([fixed('a')], 100)).rejects.toMatchObject({ name: 'TollgateError' });
    await own.resume();
    await recovered(store);
    expect((await store.consume([fixed('a')], TIMEOUT))[0].remaining).toBe(9);
    await store.close();
    await own.stop();
  });
});

describe('K10 a server that accepts and says nothing', () => {
  let mute: Server;
  const sockets = new Set<Socket>();
  let accepted = 0;

  beforeAll(async () => {
    mute = createServer((socket) => {
      accepted++;
      sockets.add(socket);
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  });

  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    mute.close();
  });

  it('costs a call its time, and is tried again', async () => {
    const address = mute.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const stores = Object.values(clients).map((make) => new RedisStore(make(port)));
    const started = performance.now();
    for (const store of stores) await expect(store.consume([gcra('a')], 100)).rejects.toMatchObject(NOT_DONE);
    expect(performance.now() - started).toBeLessThan(600);
    await sleep(3_600);
    expect(accepted).toBeGreaterThanOrEqual(2 * stores.length);
    for (const store of stores) await store.close();
    expect(performance.now() - started).toBeLessThan(6_500);
  });
});

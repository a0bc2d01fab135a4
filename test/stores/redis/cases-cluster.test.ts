// Cases from the field on a real cluster: exact counts, one call each at the right node, a node that says nothing.
import { Cluster, Redis } from 'ioredis';
import { Cluster as ValkeyCluster } from 'iovalkey';
import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCluster } from 'redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RedisClient } from '../../../lib/stores/redis/clients/client-source.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { RedisCluster, until } from '../../tools/servers/redis-cluster.js';
import { expiries, fixed, gcra, TIMEOUT } from './buckets.js';
import { countsDuring, keysOnEach } from './server-stats.js';

/** For tests that wait on the real clock, on machines that are busy. */
const PATIENT = { timeout: 60_000 };

interface Node {
  readonly host: string;
  readonly port: number;
}

const clients: Record<string, (nodes: Node[]) => RedisClient> = {
  ioredis: (nodes) => new Cluster(nodes, { lazyConnect: true }),
  iovalkey: (nodes) => new ValkeyCluster(nodes, { lazyConnect: true }),
  'node-redis': (nodes) => createCluster({ rootNodes: nodes.map((socket) => ({ socket })) }),
};

let cluster: RedisCluster;
let servers: Redis[];

beforeAll(async () => {
  cluster = await RedisCluster.start();
  servers = cluster.masters.map(({ port }) => new Redis(port, '127.0.0.1'));
  for (const server of servers) server.on('error', () => {});
});

afterAll(async () => {
  for (const server of servers) server.disconnect();
  await cluster.stop();
});

/** A server that accepts connections and says nothing, on a free port by default; `sockets` has all that came. */
async function muteServer(at = 0) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return { port: address.port, sockets, stop };
}

it.each(Object.entries(clients))(
  'K04 100 calls by %s are 100 scripts run, and none is sent to another node than its own',
  async (name, client) => {
    const store = new RedisStore(client(cluster.nodes), { keyPrefix: `${name}:` });
    // Connections are made, clocks learned, scripts known.
    for (const key of keysOnEach('warm')) await store.consume([fixed(key)], TIMEOUT);
    const counts = await countsDuring(servers, async () => {
      for (let call = 0; call < 100; call++) await store.consume([gcra(`user ${call}`)], TIMEOUT);
    });
    await store.close();
    expect(counts).toEqual({ evalsha: 100, eval: 0, moved: 0 });
    const users = await Promise.all(servers.map((server) => server.keys(`${name}:*user *`)));
    for (const keys of users) expect(keys.length).toBeGreaterThan(0);
  },
);

it('K01 every key of a step that was given back, a refund, a clear and a lease has an expiry', async () => {
  const store = new RedisStore(clients.ioredis(cluster.nodes), { keyPrefix: 'k01:' });
  const [a, b, c] = keysOnEach('k01');
  const list = [gcra(a, 10, 4), fixed(b, 10, 4), fixed(c, 5, 4)];
  const charges = await store.consume(list, TIMEOUT);
  expect((await store.consume(list, TIMEOUT)).map(({ allowed }) => allowed)).toEqual([true, true, false]);
  await store.charge(list, TIMEOUT);
  await store.refund(
    charges.map((charge) => ({ charge, cost: 1 })),
    TIMEOUT,
  );
  const request = { id: 'p', seq: 1, remaining: 0, need: 5, want: 0, rate: 1, cap: 100, release: false };
  await store.lease(
    [a, b, c].map((key) => ({ account: { namespace: 'balance', key }, request })),
    TIMEOUT,
  );
  await store.clear([gcra(a)], TIMEOUT);
  await store.close();
  const found = (await Promise.all(servers.map(expiries))).flatMap((keys) => Object.entries(keys));
  expect(found.filter(([key]) => key.startsWith('k01:'))).toHaveLength(5);
  for (const [key, left] of found) expect(left, key).toBeGreaterThan(0);
});

const makes = { gcra, fixed };
const exact = Object.entries(makes).flatMap(([name, make]) =>
  [1, 2, 10].map((n) => [n, name, make] as const),
);

it.each(exact)(
  'F02 exactly %i by %s of a list whose buckets lie on two servers, and refused from memory after that',
  async (limit, name, make) => {
    const store = new RedisStore(clients.iovalkey(cluster.nodes), { keyPrefix: 'f02:' });
    const [a, , c] = keysOnEach(`${name} ${limit}`);
    const [tight, wide] = [make(c, limit), fixed(a, 1_000)];
    expect((await store.consume([{ ...tight, cost: limit + 1 }], TIMEOUT))[0].allowed).toBe(false);
    for (let call = 1; call <= limit; call++) {
      const [{ allowed, remaining }] = await store.consume([tight, wide], TIMEOUT);
      expect([allowed, remaining], `call ${call}`).toEqual([true, limit - call]);
    }
    const [refused] = await store.consume([tight, wide], TIMEOUT);
    expect([refused.allowed, refused.remaining]).toEqual([false, 0]);
    for (let call = 0; call < 5; call++) {
      const answer = store.consume([tight, wide], TIMEOUT);
      expect(answer, 'from memory').not.toBeInstanceOf(Promise);
      expect((await answer)[0]).toMatchObject({ allowed: false, taken: 0, remaining: 0 });
    }
    await store.close();
    const fresh = new RedisStore(clients.ioredis(cluster.nodes), { keyPrefix: 'f02:' });
    const left = await fresh.peek([make(c, limit, 0), fixed(a, 1_000, 0)], TIMEOUT);
    expect(left.map(({ remaining }) => remaining)).toEqual([0, 1_000 - limit]);
    await fresh.close();
  },
);

it(
  'a flood of refusals of a list whose second key refuses costs two steps and a refund a second',
  PATIENT,
  async () => {
    const store = new RedisStore(clients.ioredis(cluster.nodes), { keyPrefix: 'flood:' });
    const [a, b] = keysOnEach('flood');
    const list = [fixed(a, 1_000_000), fixed(b, 5)];
    await store.consume([fixed(a, 1_000_000), fixed(b, 5, 5)], TIMEOUT);
    await store.consume(list, TIMEOUT);
    const started = performance.now();
    let refused = 0;
    let asked = 0;
    const { evalsha } = await countsDuring(servers, async () => {
      while (performance.now() - started < 3_000) {
        for (let burst = 0; burst < 100; burst++) {
          const answer = store.consume(list, TIMEOUT);
          if (answer instanceof Promise) asked++;
          const [, { allowed }] = await answer;
          if (!allowed) refused++;
        }
        await sleep(2);
      }
    });
    const seconds = (performance.now() - started) / 1_000;
    expect(refused).toBeGreaterThan(1_000);
    expect(refused % 100).toBe(0);
    expect(asked).toBeGreaterThanOrEqual(1);
    expect(asked).toBeLessThanOrEqual(Math.floor(seconds) + 1);
    expect(evalsha).toBeLessThanOrEqual(3 * asked);
    await store.close();
    const fresh = new RedisStore(clients.ioredis(cluster.nodes), { keyPrefix: 'flood:' });
    const [left] = await fresh.peek([fixed(a, 1_000_000, 0)], TIMEOUT);
    expect(left.remaining).toBe(999_999);
    await fresh.close();
  },
);

it(
  'K10 a node that accepts and says nothing costs its own calls their time, the others nothing',
  PATIENT,
  async () => {
    for (const server of servers) await server.config('SET', 'cluster-require-full-coverage', 'no');
    const [a, b] = keysOnEach('mute');
    const stores = Object.entries(clients).map(([name, client]) => {
      return new RedisStore(client(cluster.nodes), { keyPrefix: `mute ${name}:` });
    });
    for (const store of stores) await store.consume([fixed(a, 1_000), fixed(b, 1_000)], TIMEOUT);
    await cluster.masters[1].crash();
    const { sockets, stop } = await muteServer(cluster.masters[1].port);

    const outage = async (store: RedisStore): Promise<void> => {
      const end = performance.now() + 2_000;
      const times: number[] = [];
      while (performance.now() < end) {
        const started = performance.now();
        await expect(store.consume([fixed(b, 1_000)], 100)).rejects.toMatchObject({ name: 'TollgateError' });
        times.push(performance.now() - started);
        const [{ remaining }] = await store.consume([fixed(a, 1_000)], TIMEOUT);
        expect(remaining).toBe(999 - times.length);
        await sleep(20);
      }
      expect(times.length).toBeGreaterThan(10);
      times.sort((x, y) => x - y);
      expect(times[Math.floor(times.length / 2)], 'usually').toBeLessThan(250);
      expect(Math.max(...times), 'on a busy machine').toBeLessThan(1_500);
    };
    await Promise.all(stores.map(outage));
    // Each client has connected, and again after a second of silence.
    expect(sockets.size).toBeGreaterThanOrEqual(2 * stores.length);

    await stop();
    await cluster.masters[1].resume();
    for (const store of stores) {
      await expect
        .poll(() => store.consume([fixed(b, 1_000)], 500), { timeout: 20_000, interval: 50 })
        .toMatchObject([{ remaining: 999 }]);
      await store.close();
    }
  },
);

it(
  'K10 a node that accepts and says nothing, the only one that is known, is left and tried again',
  PATIENT,
  async () => {
    const ways = await Promise.all(
      Object.values(clients).map(async (client) => {
        const server = await muteServer();
        return { server, store: new RedisStore(client([{ host: '127.0.0.1', port: server.port }])) };
      }),
    );
    for (const { store } of ways) {
      const started = performance.now();
      await expect(store.consume([gcra('a')], 100)).rejects.toMatchObject({
        code: 'TOLLGATE_STORE_NOT_DONE',
      });
      expect(performance.now() - started).toBeLessThan(1_500);
    }
    for (const { server, store } of ways) {
      await until(async () => server.sockets.size >= 2);
      await store.close();
      await server.stop();
    }
  },
);

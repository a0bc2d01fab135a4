import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keySlot } from '../../../lib/stores/redis/key-slot.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { RedisCluster } from '../../tools/servers/redis-cluster.js';
import { fixed, gcra, TIMEOUT } from './buckets.js';
import { countsOf, keysOnEach } from './server-stats.js';

let cluster: RedisCluster;
let servers: Redis[];

const clients = {
  ioredis: () => new Cluster(cluster.nodes, { lazyConnect: true }),
  'node-redis': () => createCluster({ rootNodes: cluster.nodes.map((socket) => ({ socket })) }),
};

beforeAll(async () => {
  cluster = await RedisCluster.start(1);
  servers = cluster.masters.map(({ port }) => new Redis(port, '127.0.0.1'));
  for (const server of servers) server.on('error', () => {});
});

afterAll(async () => {
  for (const server of servers) server.disconnect();
  await cluster.stop();
});

it('K04 computes the slot of a key as the cluster does', async () => {
  const keys = ['', 'foo', '{user}g:x', '{}x', 'a{b}c{d}', 'a{b', 'ключ{鍵}', '\u{1F511}', '}{a}', '{{a}}'];
  for (const key of keys) {
    expect(keySlot(key), key).toBe(Number(await servers[0].call('CLUSTER', 'KEYSLOT', key)));
  }
});

describe.each(Object.entries(clients))('on a cluster by %s', (name, client) => {
  it('K04 I03 charges buckets of several servers all or none', async () => {
    const store = new RedisStore(client(), { keyPrefix: `${name}:` });
    const [a, b, c] = keysOnEach('all');
    const step = [gcra(a, 10), fixed(b, 5), fixed(c, 100, 30)];
    expect((await store.consume(step, TIMEOUT)).map(({ remaining }) => remaining)).toEqual([9, 4, 70]);
    await store.consume([fixed(b, 5, 4)], TIMEOUT);
    const refused = await store.consume(step, TIMEOUT);
    expect(refused.map(({ allowed, taken }) => [allowed, taken])).toEqual([
      [true, 0],
      [false, 0],
      [true, 0],
    ]);
    const left = await store.peek([gcra(a, 10, 0), fixed(b, 5, 0), fixed(c, 100, 0)], TIMEOUT);
    expect(left.map(({ remaining }) => remaining)).toEqual([9, 0, 70]);
    await store.close();
  });

  it('K04 K05 meets no CROSSSLOT, whatever the text of users', async () => {
    const store = new RedisStore(client(), { keyPrefix: `${name}:` });
    for (const key of ['a}{b', '{}', '{x', '', '%', '鍵']) {
      const step = [gcra(key), fixed(key), { ...gcra(key), namespace: '{other}' }];
      for (const { remaining } of await store.consume(step, TIMEOUT)) expect(remaining, key).toBe(9);
      await store.clear(step, TIMEOUT);
    }
    await store.close();
  });

  it.each([
    [12, 20],
    [20, 12],
  ])(
    'J13 admits exactly the tighter of %i and %i, however many stores and steps at once',
    async (limitA, limitB) => {
      const stores = [0, 1, 2].map(() => new RedisStore(client(), { keyPrefix: `${name}:` }));
      const [a, b] = keysOnEach(`race ${limitA} `);
      const calls = Array.from({ length: 60 }, async (_, i) => {
        const step =
          i % 2 === 0 ? [fixed(a, limitA), fixed(b, limitB)] : [fixed(b, limitB), fixed(a, limitA)];
        return stores[i % 3].consume(step, TIMEOUT);
      });
      const answers = await Promise.all(calls);
      const admitted = answers.filter((verdicts) => verdicts.every(({ allowed }) => allowed)).length;
      expect(admitted).toBe(12);
      const fresh = new RedisStore(client(), { keyPrefix: `${name}:` });
      const left = await fresh.peek([fixed(a, limitA, 0), fixed(b, limitB, 0)], TIMEOUT);
      expect(left.map(({ remaining }) => remaining)).toEqual([limitA - 12, limitB - 12]);
      for (const store of [...stores, fresh]) await store.close();
    },
  );

  it('K10 gives back what was charged when one of the servers does not answer, and leaves the others alone', async () => {
    const store = new RedisStore(client(), { keyPrefix: `${name}:` });
    const [a, b, c] = keysOnEach('frozen');
    await store.consume([fixed(a), fixed(b), fixed(c)], TIMEOUT);
    cluster.masters[1].freeze();
    try {
      const started = performance.now();
      await expect(store.consume([fixed(a), fixed(b)], 150)).rejects.toMatchObject({ name: 'TollgateError' });
      expect(performance.now() - started).toBeLessThan(300);
      expect((await store.peek([fixed(a, 10, 0)], TIMEOUT))[0].remaining).toBe(9);
      expect((await store.consume([fixed(c)], TIMEOUT))[0].remaining).toBe(8);
    } finally {
      cluster.masters[1].thaw();
    }
    await expect
      .poll(() => store.peek([fixed(b, 10, 0)], 200), { timeout: 5_000, interval: 50 })
      .toMatchObject([{ remaining: 9 }]);
    await store.close();
  });
});

describe.each(Object.entries(clients))('a list of keys on several servers, by %s', (name, client) => {
  it('that is refused keeps asking once a second, not more', async () => {
    const store = new RedisStore(client(), { keyPrefix: `${name} flood:` });
    const [a, , c] = keysOnEach('flood');
    const step = [fixed(a, 100), fixed(c, 1)];
    await store.consume(step, TIMEOUT);
    await store.consume(step, TIMEOUT);
    const before = await countsOf(servers);
    const end = performance.now() + 500;
    while (performance.now() < end) {
      const verdicts = await store.consume(step, TIMEOUT);
      expect(verdicts.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        [true, 99],
        [false, 0],
      ]);
    }
    expect((await countsOf(servers)).evalsha - before.evalsha).toBeLessThanOrEqual(3);
    await store.close();
  });

  it('K07 charges nothing while one of them is out, and is refused by the others though it is', async () => {
    const store = new RedisStore(client(), { keyPrefix: `${name} out:` });
    const [a, , c] = keysOnEach('out');
    await store.consume([fixed(a), fixed(c)], TIMEOUT);
    const full = keysOnEach('a full')[0];
    await store.consume([fixed(full, 1)], TIMEOUT);
    cluster.masters[2].freeze();
    try {
      // Asked first: `a full…` comes before `out…`.
      const verdicts = await store.consume([fixed(c), fixed(full, 1)], 200);
      expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, false]);
      for (let i = 0; i < 3; i++) await expect(store.consume([fixed(c)], 60)).rejects.toThrow();
      const before = await countsOf([servers[0]]);
      for (let i = 0; i < 20; i++) await expect(store.consume([fixed(a), fixed(c)], 60)).rejects.toThrow();
      expect((await countsOf([servers[0]])).evalsha - before.evalsha).toBeLessThanOrEqual(2);
      expect((await store.peek([fixed(a, 10, 0)], TIMEOUT))[0].remaining).toBe(9);
    } finally {
      cluster.masters[2].thaw();
    }
    await store.close();
  });
});

it('K07 K03 follows a failover, by either client at once', { timeout: 60_000 }, async () => {
  const stores = Object.entries(clients).map(([name, client]) => {
    return new RedisStore(client(), { keyPrefix: `failover ${name}:` });
  });
  const [key, elsewhere] = keysOnEach('failover');
  for (const store of stores) await store.consume([fixed(key), fixed(elsewhere)], TIMEOUT);
  await cluster.masters[0].crash();
  const started = performance.now();
  for (const store of stores) {
    await expect
      .poll(() => store.consume([fixed(key, 1_000)], 200), { timeout: 30_000, interval: 50 })
      .toMatchObject([{ allowed: true }]);
    expect((await store.peek([fixed(elsewhere, 10, 0)], TIMEOUT))[0].remaining).toBe(9);
    await store.close();
  }
  expect(performance.now() - started).toBeLessThan(30_000);
});

it(
  'K07 one server that is gone takes nothing from the others, by either client, also one that starts meanwhile',
  { timeout: 60_000 },
  async () => {
    await servers[2].config('SET', 'cluster-require-full-coverage', 'no');
    const running = Object.entries(clients).map(([name, client]) => {
      return new RedisStore(client(), { keyPrefix: `gone ${name}:` });
    });
    const [, gone, there] = keysOnEach('gone');
    for (const store of running) await store.consume([fixed(gone), fixed(there, 1_000)], TIMEOUT);
    await cluster.masters[1].crash();
    const state = new RegExp(`:${cluster.masters[1].port}@.* master,fail `);
    const isFailing = async () => state.test(String(await servers[2].call('CLUSTER', 'NODES')));
    await expect.poll(isFailing, { timeout: 10_000 }).toBe(true);
    const starting = Object.entries(clients).map(([name, client]) => {
      return new RedisStore(client(), { keyPrefix: `starts ${name}:` });
    });
    for (const store of [...running, ...starting]) {
      const types: string[] = [];
      store.report = ({ type }) => void types.push(type);
      await expect
        .poll(() => store.consume([fixed(there, 1_000)], 500), { timeout: 30_000 })
        .toMatchObject([{ allowed: true }]);
      types.length = 0;
      const started = performance.now();
      for (let i = 0; i < 100; i++) {
        await expect(store.consume([fixed(gone)], 100)).rejects.toMatchObject({ name: 'TollgateError' });
        expect((await store.consume([fixed(there, 1_000)], TIMEOUT))[0].allowed).toBe(true);
      }
      expect(types).toEqual(['store-down']);
      console.log(`100 calls of each: ${(performance.now() - started).toFixed(0)} ms`);
      await store.close();
    }
  },
);

// Every kind of client, of the newest packages and, beside the older Nest, of the oldest that are supported.
import { Cluster, Redis } from 'ioredis';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import { createClient, createCluster, createSentinel } from 'redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RedisClient } from '../../../../lib/stores/redis/clients/client-source.js';
import { RedisStore } from '../../../../lib/stores/redis/redis.store.js';
import { RedisCluster } from '../../../tools/servers/redis-cluster.js';
import { RedisSentinel } from '../../../tools/servers/redis-sentinel.js';
import { RedisServer } from '../../../tools/servers/redis-server.js';
import { fixed, gcra, TIMEOUT } from '../buckets.js';

let server: RedisServer;
let cluster: RedisCluster;
let sentinel: RedisSentinel;

beforeAll(async () => {
  [server, cluster, sentinel] = await Promise.all([
    RedisServer.start(),
    RedisCluster.start(),
    RedisSentinel.start(),
  ]);
});

afterAll(() => Promise.all([server.stop(), cluster.stop(), sentinel.stop()]));

const lazyConnect = true;
const sentinelOfNodeRedis = () => createSentinel({ name: sentinel.name, sentinelRootNodes: sentinel.nodes });
const watched = () => ({ sentinels: sentinel.nodes, name: sentinel.name, lazyConnect });

const clients: Record<string, () => RedisClient | string> = {
  ioredis: () => new Redis(server.url, { lazyConnect }),
  'ioredis, cluster': () => new Cluster(cluster.nodes, { lazyConnect }),
  'ioredis, Sentinel': () => new Redis(watched()),
  iovalkey: () => new Valkey(server.url, { lazyConnect }),
  'iovalkey, cluster': () => new ValkeyCluster(cluster.nodes, { lazyConnect }),
  'iovalkey, Sentinel': () => new Valkey(watched()),
  'node-redis': () => createClient({ url: server.url }),
  'a URL': () => server.url,
};

async function counts(client: RedisClient | string, keyPrefix: string): Promise<void> {
  const store = new RedisStore(client, { keyPrefix });
  const step = [gcra('a'), fixed('b')];
  const looks = [gcra('a', 10, 0), fixed('b', 10, 0)];
  const charges = await store.consume(step, TIMEOUT);
  expect(charges.map(({ remaining }) => remaining)).toEqual([9, 9]);
  await store.refund([{ charge: charges[1], cost: 1 }], TIMEOUT);
  await store.clear([step[0]], TIMEOUT);
  expect((await store.peek(looks, TIMEOUT)).map(({ remaining }) => remaining)).toEqual([10, 10]);
  await store.close();
}

it.each(Object.keys(clients))('a store by %s counts', async (name) => counts(clients[name](), `${name}:`));

it('a store by Sentinel of node-redis counts, or says that its version is too old', async () => {
  const client = sentinelOfNodeRedis();
  if ('duplicate' in client) await counts(client, 'node-redis, Sentinel:');
  else expect(() => new RedisStore(client)).toThrow(/its Sentinel from version 6/);
});

it('a store by a cluster of node-redis counts, or says that its version is too old', async () => {
  const client = createCluster({ rootNodes: cluster.nodes.map((socket) => ({ socket })) });
  if ('isReady' in client) await counts(client, 'node-redis, cluster:');
  else expect(() => new RedisStore(client)).toThrow(/its clusters from 6.2 on/);
});

import { createClient, createCluster } from 'redis';
import { Cluster, Redis } from 'ioredis';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { RedisClient } from '../../../lib/stores/redis/clients/client-source.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { storeContract } from '../../../lib/testing/store-contract.js';
import { RedisCluster } from '../../tools/servers/redis-cluster.js';
import { RedisServer } from '../../tools/servers/redis-server.js';

/** A way to servers that are started once for all tests. */
interface Way {
  readonly servers: () => readonly RedisServer[];
  readonly client: () => RedisClient | string;
}

let redis: RedisServer;
let valkey: RedisServer;
let cluster: RedisCluster;

beforeAll(async () => {
  [redis, valkey, cluster] = await Promise.all([
    RedisServer.start(),
    RedisServer.start('valkey-server'),
    RedisCluster.start(),
  ]);
});

afterAll(() => Promise.all([redis.stop(), valkey.stop(), cluster.stop()]));

const lazyConnect = true;
const ways: Record<string, Way> = {
  'ioredis on Redis': { servers: () => [redis], client: () => new Redis(redis.url, { lazyConnect }) },
  'node-redis on Redis': { servers: () => [redis], client: () => createClient({ url: redis.url }) },
  'iovalkey on Valkey': { servers: () => [valkey], client: () => new Valkey(valkey.url, { lazyConnect }) },
  'a URL of Valkey': { servers: () => [valkey], client: () => valkey.url.replace('redis', 'valkey') },
  'ioredis on a cluster': {
    servers: () => cluster.masters,
    client: () => new Cluster(cluster.nodes, { lazyConnect }),
  },
  'iovalkey on a cluster': {
    servers: () => cluster.masters,
    client: () => new ValkeyCluster(cluster.nodes, { lazyConnect }),
  },
  'node-redis on a cluster': {
    servers: () => cluster.masters,
    client: () => createCluster({ rootNodes: cluster.nodes.map((socket) => ({ socket })) }),
  },
};

describe.each(Object.keys(ways))('RedisStore with %s keeps the contract of stores', (name) => {
  const prefixes = new WeakMap<RedisStore, string>();
  let client: RedisClient | string;
  let servers: Redis[];
  let stores = 0;

  beforeAll(() => {
    client = ways[name].client();
    servers = ways[name].servers().map(({ port }) => new Redis(port, '127.0.0.1'));
  });

  afterAll(() => {
    for (const server of servers) server.disconnect();
  });

  storeContract({
    test: it,
    create: (clock) => {
      const keyPrefix = `${name} ${++stores}:`;
      const store = new RedisStore(client, { keyPrefix, clock });
      prefixes.set(store, keyPrefix);
      return store;
    },
    count: async (store) => {
      const found = await Promise.all(servers.map((server) => server.keys(`${prefixes.get(store)}*`)));
      return found.flat().length;
    },
  });

  it('K01 leaves no key without expiry', async () => {
    let keys = 0;
    for (const server of servers) {
      for (const key of await server.keys(`${name}*`)) {
        if ((await server.pttl(key)) === -1) throw new Error(`${key} has no expiry`);
        keys++;
      }
    }
    if (keys < 100) throw new Error(`only ${keys} keys were looked at`);
  });
});

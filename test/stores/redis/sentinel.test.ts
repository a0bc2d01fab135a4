import { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { RedisSentinel } from '../../tools/servers/redis-sentinel.js';
import { fixed, TIMEOUT } from './buckets.js';

/** Sentinels that were held up for two seconds do nothing for the next thirty. */
const PATIENCE = 45_000;

let sentinel: RedisSentinel;

beforeAll(async () => {
  sentinel = await RedisSentinel.start();
});

afterAll(() => sentinel.stop());

it(
  'K07 a store through Sentinel counts on, on the new master, within seconds of a failover',
  { timeout: 90_000 },
  async () => {
    const { name, nodes } = sentinel;
    const stores = [
      new RedisStore(new Redis({ sentinels: nodes, name, lazyConnect: true }), { keyPrefix: 'ioredis:' }),
      new RedisStore(createSentinel({ name, sentinelRootNodes: nodes }), { keyPrefix: 'node-redis:' }),
    ];
    for (const store of stores) {
      expect((await store.consume([fixed('user', 1_000, 7)], TIMEOUT))[0].remaining).toBe(993);
    }
    await sentinel.master.crash();
    const asked = stores.map(async (store) => store.consume([fixed('user', 1_000)], 100));
    for (const { status } of await Promise.allSettled(asked)) expect(status).toBe('rejected');
    for (const store of stores) {
      await expect
        .poll(() => store.consume([fixed('recovered', 1_000)], 200), { timeout: PATIENCE, interval: 50 })
        .toMatchObject([{ allowed: true }]);
      const [{ remaining }] = await store.peek([fixed('user', 1_000, 0)], TIMEOUT);
      expect([992, 993, 1_000]).toContain(remaining);
      await store.close();
    }
  },
);

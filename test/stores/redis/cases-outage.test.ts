// Cases from the field while a real server hangs: nothing counts late, and what was charged elsewhere stays there.
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRate, type Algorithm } from '../../../lib/algorithms/rate.js';
import type { Bucket } from '../../../lib/algorithms/verdict.js';
import { FailoverStore } from '../../../lib/limiter/failover.store.js';
import type { RedisClient } from '../../../lib/stores/redis/clients/client-source.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { Proxy } from '../../tools/servers/proxy.js';
import { ownRedis } from '../../tools/servers/own-redis.js';
import type { RedisServer } from '../../tools/servers/redis-server.js';
import { fixed, TIMEOUT, YEAR } from './buckets.js';

/** For tests that wait until a server is found again, on machines that are busy. */
const PATIENT = { timeout: 60_000 };

let server: RedisServer;
let redis: Redis;

ownRedis((client, started) => {
  redis = client;
  server = started;
});

beforeEach(() => redis.flushall());

/** A limit of 1,000, of which nothing drains during a test. */
function wide(algorithm: Algorithm, key: string, cost = 1): Bucket {
  return { ...fixed(key, 1_000, cost), rate: createRate(algorithm, 1_000, YEAR) };
}

/** How many units are used, as the server has it. */
async function used(key: string, algorithm: Algorithm = 'fixed'): Promise<number> {
  const watcher = new RedisStore(redis);
  const [{ remaining }] = await watcher.peek([wide(algorithm, key, 0)], TIMEOUT);
  await watcher.close();
  return 1_000 - remaining;
}

/** Waits until a store's calls are answered again. */
async function recovered(store: RedisStore): Promise<void> {
  await expect
    .poll(() => store.consume([fixed('recovered', 1_000)], 500), { timeout: 30_000, interval: 25 })
    .toMatchObject([{ allowed: true }]);
}

describe('a server that hangs for longer than a connection may be silent', () => {
  const clients: Record<string, (port: number) => RedisClient> = {
    ioredis: (port) => new Redis(port, { lazyConnect: true }),
    'node-redis': (port) => createClient({ url: `redis://127.0.0.1:${port}` }),
  };

  it.each(Object.entries(clients))(
    'K09 counts only what was asked after its recovery, by %s',
    PATIENT,
    async (_name, make) => {
      const proxy = await Proxy.start(server.port);
      const store = new RedisStore(make(proxy.port));
      await store.consume([fixed('warm')], TIMEOUT);
      const before = proxy.connections;
      const ask = async () => store.consume([fixed('hung', 1_000)], 50);
      server.freeze();
      try {
        const burst = await Promise.allSettled(Array.from({ length: 100 }, ask));
        expect(burst.every(({ status }) => status === 'rejected')).toBe(true);
        const end = performance.now() + 1_200;
        for (let asked = 100; performance.now() < end || proxy.connections === before; asked++) {
          await expect(ask(), `request ${asked}`).rejects.toMatchObject({ name: 'TollgateError' });
          await sleep(10);
        }
      } finally {
        server.thaw();
      }
      await recovered(store);
      for (let call = 1; call <= 7; call++) {
        const [{ remaining }] = await store.consume([fixed('hung', 1_000)], TIMEOUT);
        expect(remaining).toBe(1_000 - call);
      }
      // Whatever still comes from before the recovery has come by now.
      await sleep(100);
      expect(await used('hung')).toBe(7);
      await store.close();
      await proxy.stop();
    },
  );
});

describe('charges and refunds on either side of an outage', () => {
  it.each(['fixed', 'gcra'] as const)(
    'K12 what was charged in process during the outage is not given back by the server, by %s',
    PATIENT,
    async (algorithm) => {
      const store = new RedisStore(redis);
      const failover = new FailoverStore(store, {
        onStoreError: 'local',
        unavailable: () => new Error('closed'),
      });
      const charge = async (key: string, cost: number, timeout = TIMEOUT) => {
        const [verdict] = await failover.consume([wide(algorithm, key, cost)], timeout);
        expect(verdict).toMatchObject({ allowed: true });
        return verdict;
      };
      const held = async () => [await used('user', algorithm), await used('other', algorithm)];
      const earlier = await charge('user', 50);
      const elsewhere = await charge('other', 70);

      server.freeze();
      let inOutage;
      try {
        inOutage = await charge('user', 30, 50);
        expect(inOutage.remaining).toBe(970);
        await expect(failover.refund([{ charge: elsewhere, cost: 5 }], 50)).rejects.toThrow();
        expect((await charge('user', 1, 50)).remaining).toBe(969);
      } finally {
        server.thaw();
      }
      await recovered(store);
      expect(await held()).toEqual([50, 70]);

      await failover.refund([{ charge: inOutage, cost: 30 }], TIMEOUT);
      expect(await held()).toEqual([50, 70]);
      await failover.refund([{ charge: elsewhere, cost: 20 }], TIMEOUT);
      expect(await held()).toEqual([50, 50]);
      // In one list, each goes back where it was charged.
      const later = await charge('user', 8);
      await failover.refund(
        [inOutage, later, earlier].map((each) => ({ charge: each, cost: 8 })),
        TIMEOUT,
      );
      expect(await held()).toEqual([42, 50]);
      await failover.close();
      await store.close();
    },
  );
});

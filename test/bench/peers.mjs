// The memory stores of other limiters, each called as its own middleware or guard calls it: awaited where it is async,
// and with what is left of the limit worked out, which tollgate's verdicts say too.
import { createRequire } from 'node:module';
import { MemoryStore } from 'express-rate-limit';
import { memoryStore } from '@joint-ops/hitlimit/stores/memory';
import { ThrottlerStorageService } from '@nestjs/throttler';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { proof } from './harness.mjs';

// Not exported: found by its path.
const LocalStore = createRequire(import.meta.url)('@fastify/rate-limit/store/LocalStore.js');

const TTL = 60_000;
const PROOF = '192.0.2.1';

export function hitlimit(keys, { limit }) {
  const store = memoryStore();
  proof('hitlimit', store.hit(PROOF, TTL, limit).count === 1, 'the first hit is not 1');
  proof('hitlimit', store.hit(PROOF, TTL, limit).count === 2, 'hits do not go up');
  let at = 0;
  return {
    name: 'hitlimit',
    run(count) {
      let allowed = 0;
      for (let i = 0; i < count; i++) {
        const { count: hits, resetAt } = store.hit(keys[at], TTL, limit);
        const remaining = Math.max(0, limit - hits);
        const resetIn = Math.ceil((resetAt - Date.now()) / 1000);
        if (hits <= limit && remaining >= 0 && resetIn > 0) allowed++;
        if (++at === keys.length) at = 0;
      }
      return allowed;
    },
    close: () => store.shutdown(),
  };
}

export function expressRateLimit(keys, { limit }) {
  const store = new MemoryStore();
  store.init({ windowMs: TTL });
  let at = 0;
  return {
    name: 'express-rate-limit',
    async run(count) {
      let allowed = 0;
      for (let i = 0; i < count; i++) {
        const { totalHits } = await store.increment(keys[at]);
        const remaining = Math.max(limit - totalHits, 0);
        if (totalHits <= limit && remaining >= 0) allowed++;
        if (++at === keys.length) at = 0;
      }
      return allowed;
    },
    close: () => store.shutdown(),
  };
}

export function fastifyRateLimit(keys, { limit }) {
  const store = new LocalStore(false, false, keys.length);
  let at = 0;
  return {
    name: '@fastify/rate-limit',
    async run(count) {
      let allowed = 0;
      for (let i = 0; i < count; i++) {
        // As the plugin does: a promise around the store's callback.
        const { current } = await new Promise((resolve, reject) => {
          store.incr(keys[at], (error, result) => (error ? reject(error) : resolve(result)), TTL, limit);
        });
        const remaining = Math.max(0, limit - current);
        if (current <= limit && remaining >= 0) allowed++;
        if (++at === keys.length) at = 0;
      }
      return allowed;
    },
  };
}

export function rateLimiterFlexible(keys, { limit }) {
  const limiter = new RateLimiterMemory({ points: limit, duration: TTL / 1000 });
  let at = 0;
  return {
    name: 'rate-limiter-flexible',
    async run(count) {
      let allowed = 0;
      for (let i = 0; i < count; i++) {
        const { remainingPoints } = await limiter.consume(keys[at]);
        if (remainingPoints >= 0) allowed++;
        if (++at === keys.length) at = 0;
      }
      return allowed;
    },
  };
}

export function nestThrottler(keys, { limit }) {
  const storage = new ThrottlerStorageService();
  let at = 0;
  return {
    name: '@nestjs/throttler',
    async run(count) {
      let allowed = 0;
      for (let i = 0; i < count; i++) {
        const { isBlocked } = await storage.increment(keys[at], TTL, limit, TTL, 'default');
        if (!isBlocked) allowed++;
        if (++at === keys.length) at = 0;
      }
      return allowed;
    },
    close: () => storage.onApplicationShutdown(),
  };
}

export const PEERS = { hitlimit, expressRateLimit, fastifyRateLimit, rateLimiterFlexible, nestThrottler };

/** The same stores, for filling them once: what they hold is measured. */
export const STORES = [
  {
    name: 'hitlimit',
    create() {
      const store = memoryStore();
      return { store, hit: (key) => store.hit(key, 3_600_000, 100) };
    },
  },
  {
    name: 'express-rate-limit',
    create() {
      const store = new MemoryStore();
      store.init({ windowMs: 3_600_000 });
      return { store, hit: (key) => store.increment(key) };
    },
  },
  {
    name: '@fastify/rate-limit',
    create(count) {
      const store = new LocalStore(false, false, count);
      return { store, hit: (key) => store.incr(key, () => {}, 3_600_000, 100) };
    },
  },
  {
    name: 'rate-limiter-flexible',
    create() {
      const store = new RateLimiterMemory({ points: 100, duration: 3_600 });
      return { store, hit: (key) => store.consume(key) };
    },
  },
  {
    name: '@nestjs/throttler',
    create() {
      const store = new ThrottlerStorageService();
      return { store, hit: (key) => store.increment(key, 3_600_000, 100, 3_600_000, 'default') };
    },
  },
];

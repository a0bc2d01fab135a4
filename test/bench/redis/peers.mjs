// Other limiters over Redis through the same client, with several limits as their documentation has it.
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';

const DAY = 86_400;

/** Several limits: its RateLimiterUnion, which asks for all of them at once. */
export async function rateLimiterFlexible(port, limits, options = {}) {
  const storeClient = new Redis(port, '127.0.0.1');
  const limiters = limits.map(
    ({ name, limit }) =>
      new RateLimiterRedis({ storeClient, keyPrefix: name, points: limit, duration: DAY, ...options }),
  );
  const limiter = limiters.length === 1 ? limiters[0] : new RateLimiterUnion(...limiters);
  return {
    name: 'rate-limiter-flexible',
    async decide(key) {
      try {
        await limiter.consume(key);
        return true;
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal;
        return false;
      }
    },
    close: () => storeClient.disconnect(),
  };
}

/** With the option against floods, which is off by default: refused without asking until the window ends. */
export async function rateLimiterFlexibleBlocking(port, limits) {
  const limiter = await rateLimiterFlexible(port, limits, { inMemoryBlockOnConsumed: limits[0].limit + 1 });
  return { ...limiter, name: 'rate-limiter-flexible, inMemoryBlockOnConsumed' };
}

/** The Redis storage of @nestjs/throttler, asked as its guard does: for one limit after the other. */
export async function nestThrottler(port, limits) {
  const redis = new Redis(port, '127.0.0.1');
  const storage = new ThrottlerStorageRedisService(redis);
  return {
    name: '@nestjs/throttler',
    async decide(key) {
      for (const { name, limit } of limits) {
        const { isBlocked } = await storage.increment(key, DAY * 1000, limit, DAY * 1000, name);
        if (isBlocked) return false;
      }
      return true;
    },
    close: () => redis.disconnect(),
  };
}

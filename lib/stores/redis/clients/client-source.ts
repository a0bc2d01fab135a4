// From what the user gave, a client or a URL, to the way of making clients of our own.

import { badConfiguration } from '../../../errors.js';
import type { ClientSource } from './client.js';
import { ioredisSource, isIoredis } from './ioredis.client.js';
import { duplicateNodeRedisCluster, isNodeRedisCluster } from './node-redis-cluster.client.js';
import { duplicateNodeRedis, isNodeRedis } from './node-redis.client.js';
import { urlSource } from './url.js';

/**
 * A Redis client: `Redis` or `Cluster` of ioredis or iovalkey, or what `createClient`, `createCluster` or
 * `createSentinel` of redis (node-redis) return. Only its `duplicate()` is ever called.
 */
export interface RedisClient {
  duplicate(): object;
}

/** @throws TollgateError when it is neither a known client nor a URL. */
export function clientSource(given: RedisClient | string): ClientSource {
  if (typeof given === 'string') return urlSource(given);
  if (isIoredis(given)) return ioredisSource(given);
  if (isNodeRedisCluster(given)) {
    return { clustered: true, load() {}, make: () => duplicateNodeRedisCluster(given) };
  }
  if (isNodeRedis(given)) return { clustered: false, load() {}, make: () => duplicateNodeRedis(given) };
  throw badConfiguration('RedisStore', [
    'the first argument is no client that it knows: give one of ioredis, iovalkey or redis (node-redis; its Sentinel from version 6, its clusters from 6.2 on), or a URL',
  ]);
}

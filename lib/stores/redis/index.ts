// Every public name of `nestjs-tollgate/redis`. The main entry loads no Redis client, nor this.

export { RedisStore } from './redis.store.js';
export type { RedisStoreOptions } from './redis-store-options.js';
export type { RedisClient } from './clients/client-source.js';

// A Redis of a test file's own and a client of it: there before its first test, gone after its last.
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { RedisServer } from './redis-server.js';

/** Call it at the top of a file; `take` is given both once the server answers. */
export function ownRedis(take: (redis: Redis, server: RedisServer) => void): void {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await RedisServer.start();
    redis = new Redis(server.url);
    // While a test has the server down it reports that it can't connect.
    redis.on('error', () => {});
    take(redis, server);
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
}

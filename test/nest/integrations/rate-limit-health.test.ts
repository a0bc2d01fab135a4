import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RateLimitHealth, RateLimitModule, type RateLimitStore } from '../../../lib/index.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { ownRedis } from '../../tools/servers/own-redis.js';
import type { RedisServer } from '../../tools/servers/redis-server.js';

/** Milliseconds: a busy machine may take longer than the default for a first connection. */
const PATIENT = 10_000;

let server: RedisServer;
let redis: Redis;

ownRedis((client, started) => {
  redis = client;
  server = started;
});

async function healthOf(store: RateLimitStore) {
  class AppModule {}
  Module({
    imports: [
      RateLimitModule.forRoot({ store, storeTimeout: PATIENT }),
      TerminusModule.forRoot({ logger: false }),
    ],
  })(AppModule);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  onTestFinished(() => app.close());
  const limits = app.get(RateLimitHealth);
  const health = app.get(HealthCheckService);
  return () => health.check([() => limits.check()]);
}

describe('the indicator, as terminus reads it', () => {
  it('is up in process, and keeps nothing', async () => {
    const store = new MemoryStore();
    const check = await healthOf(store);
    expect(await check()).toMatchObject({ status: 'ok', info: { rateLimit: { status: 'up' } } });
    expect(store.size).toBe(0);
  });

  it('is up while Redis answers, down while it is gone, and up again', async () => {
    const check = await healthOf(new RedisStore(redis));
    expect(await check()).toMatchObject({ status: 'ok', details: { rateLimit: { status: 'up' } } });
    expect(await redis.dbsize()).toBe(0);
    await server.crash();
    const down: unknown = await check().catch((error: { response: unknown }) => error.response);
    expect(down).toMatchObject({
      status: 'error',
      error: { rateLimit: { status: 'down', problem: expect.stringMatching(/^TOLLGATE_STORE_/) } },
    });
    await server.resume();
    await expect
      .poll(
        () =>
          check().then(
            ({ status }) => status,
            () => 'error',
          ),
        { timeout: 10_000 },
      )
      .toBe('ok');
  });
});

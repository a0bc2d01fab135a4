// Decisions of an app over Redis: its service, which counts in a RedisStore behind what holds when the store fails.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { RateLimitModule, RateLimitService } from '../../../dist/index.js';
import { RedisStore } from '../../../dist/stores/redis/index.js';

/** Contenders decide about a key by all their limits: true admits. `limits`: `{ name, limit }`, each per day. */
export async function tollgate(port, limits) {
  class App {}
  const policies = Object.fromEntries(limits.map(({ name, limit }) => [name, { limit, per: '24h' }]));
  const options = {
    store: new RedisStore(new Redis(port, '127.0.0.1', { lazyConnect: true })),
    policies,
    // So that no answer is made up here: it would be a fast one.
    onStoreError: 'closed',
    storeTimeout: 2_000,
  };
  Module({ imports: [RateLimitModule.forRoot(options)] })(App);
  const app = await NestFactory.create(App, { logger: ['error', 'warn'] });
  await app.init();
  const service = app.get(RateLimitService);
  const [{ name }] = limits;
  const one = (key) => service.consume(name, key);
  const all = (key) => service.consume(limits.map((limit) => ({ policy: limit.name, key })));
  const consume = limits.length === 1 ? one : all;
  return {
    name: 'tollgate',
    async decide(key) {
      const { allowed } = await consume(key);
      return allowed;
    },
    close: () => app.close(),
  };
}

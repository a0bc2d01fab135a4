// Decisions through the promise API of an app: what a user's own code calls.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule, RateLimitService } from '../../dist/index.js';
import { proof } from './harness.mjs';

class App {}

export async function tollgateService(keys, { limit, per }) {
  const policies = { api: { limit, per }, proof: { limit: 2, per: '1h' } };
  Module({ imports: [RateLimitModule.forRoot({ policies })] })(App);
  const app = await NestFactory.create(App, { logger: ['error', 'warn'] });
  await app.init();
  const service = app.get(RateLimitService);
  const [first, second, third] = [
    await service.consume('proof', '192.0.2.1'),
    await service.consume('proof', '192.0.2.1'),
    await service.consume('proof', '192.0.2.1'),
  ];
  proof('service', first.remaining === 1 && second.remaining === 0, 'remaining does not go down');
  proof('service', second.allowed && !third.allowed, 'the third of two was not refused');
  let at = 0;
  return {
    name: 'tollgate, RateLimitService',
    async run(count) {
      let allowed = 0;
      for (let i = 0; i < count; i++) {
        const decision = await service.consume('api', keys[at]);
        if (decision.allowed) allowed++;
        if (++at === keys.length) at = 0;
      }
      return allowed;
    },
    close: () => app.close(),
  };
}

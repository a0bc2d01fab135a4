// One server of the HTTP rows, in a process of its own: `fork(…, [adapter, variant])`. Sends its URL, and what it has
// spent of the processor when asked.
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule, Throttle } from '../../dist/index.js';
import { BareMap } from './bare-map.mjs';

const [adapterName, variant] = process.argv.slice(2);
const LIMITS = { perIp: 50_000_000, throttle: 40_000_000 };

class Reports {
  list() {
    return { reports: [] };
  }
}
Controller('reports')(Reports);
const list = Object.getOwnPropertyDescriptor(Reports.prototype, 'list');
Get()(Reports.prototype, 'list', list);

const imports = [];
if (variant === 'tollgate') {
  Throttle({ limit: LIMITS.throttle, per: '24h' })(Reports.prototype, 'list', list);
  imports.push(RateLimitModule.forRoot({ perIp: { limit: LIMITS.perIp, per: '24h' } }));
}
if (variant === '@nestjs/throttler') {
  const { ThrottlerGuard, ThrottlerModule } = await import('@nestjs/throttler');
  const { UseGuards } = await import('@nestjs/common');
  // A short window: its cost grows with the hits in it. Blocking for 0 keeps every request passing.
  imports.push(ThrottlerModule.forRoot([{ ttl: 1, limit: LIMITS.throttle, blockDuration: 0 }]));
  UseGuards(ThrottlerGuard)(Reports);
}
class App {}
Module({ imports, controllers: [Reports] })(App);

async function adapterOf(name) {
  const { ExpressAdapter } = await import('@nestjs/platform-express');
  if (name === 'express') return new ExpressAdapter();
  const { FastifyAdapter } = await import('@nestjs/platform-fastify');
  return new FastifyAdapter();
}

const app = await NestFactory.create(App, await adapterOf(adapterName), { logger: ['error', 'warn'] });
if (variant === 'hand-written hook') byHand();
await app.listen(0, '127.0.0.1');

/** Both limits in one hook before routing: the same arithmetic, the same headers, and nothing else. */
function byHand() {
  const perIp = new BareMap(LIMITS.perIp, 86_400_000_000);
  const throttle = new BareMap(LIMITS.throttle, 86_400_000_000);
  const tightest = (request) => {
    const first = perIp.consume(request.socket.remoteAddress);
    const second = throttle.consume(request.socket.remoteAddress);
    return second.remaining < first.remaining
      ? { decision: second, limit: LIMITS.throttle }
      : { decision: first, limit: LIMITS.perIp };
  };
  if (adapterName === 'express') {
    app.use((request, response, next) => {
      const { decision, limit } = tightest(request);
      response.setHeader('ratelimit-limit', String(limit));
      response.setHeader('ratelimit-remaining', String(decision.remaining));
      response.setHeader('ratelimit-reset', String(Math.ceil(decision.resetAfter / 1e6)));
      if (decision.allowed) next();
      else response.writeHead(429).end();
    });
    return;
  }
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request, reply, next) => {
      const { decision, limit } = tightest(request.raw);
      reply.header('ratelimit-limit', String(limit));
      reply.header('ratelimit-remaining', String(decision.remaining));
      reply.header('ratelimit-reset', String(Math.ceil(decision.resetAfter / 1e6)));
      if (decision.allowed) next();
      else reply.code(429).send();
    });
}

process.on('message', () => process.send({ cpu: process.cpuUsage() }));
process.on('disconnect', () => process.exit());
process.send({ url: await app.getUrl() });

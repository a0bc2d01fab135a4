// The whole way of a call through a guard, run by Nest's own GuardsConsumer: real apps, memory stores, the same
// clients, and a response that only remembers its headers.
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GuardsConsumer } from '@nestjs/core/guards/index.js';
import { RateLimitModule, Throttle, ThrottleGuard } from '../../dist/index.js';
import { HttpLimits } from '../../dist/nest/http/http-limits.js';
import { proof } from './harness.mjs';

/** What Nest does with a call before its handler, for one guard. */
const consumer = new GuardsConsumer();

class Socket {
  constructor(remoteAddress) {
    this.remoteAddress = remoteAddress;
  }
}

/** What the guards read of a request: those of tollgate the socket's address, the throttler's `ip`. */
class Request {
  constructor(ip) {
    this.method = 'GET';
    this.url = '/reports';
    this.headers = {};
    this.socket = new Socket(ip);
    this.ip = ip;
  }
}

class Response {
  headersSent = false;
  headers = new Map();

  setHeader(name, value) {
    this.headers.set(name, value);
  }

  getHeader(name) {
    return this.headers.get(name);
  }

  removeHeader(name) {
    this.headers.delete(name);
  }
}

function reportsController(decorate) {
  class Reports {
    list() {
      return 'reports';
    }
  }
  Controller('reports')(Reports);
  const list = Object.getOwnPropertyDescriptor(Reports.prototype, 'list');
  Get()(Reports.prototype, 'list', list);
  decorate?.(Reports.prototype, 'list', list);
  return Reports;
}

async function boot(imports, controllers) {
  class App {}
  Module({ imports, controllers })(App);
  const app = await NestFactory.create(App, { logger: ['error', 'warn'], abortOnError: false });
  return app.init();
}

/** @param {readonly {limit: number, per: string}[]} quotas */
export async function tollgateGuard(keys, quotas, { perIp = false } = {}) {
  const Reports = reportsController(Throttle(quotas));
  const options = { perIp: perIp ? { limit: 600_000, per: '24h' } : null };
  const app = await boot([RateLimitModule.forRoot(options)], [Reports]);
  const guards = [app.get(ThrottleGuard)];
  const limits = app.get(HttpLimits);
  const controller = app.get(Reports);
  const handler = controller.list;
  await proveGuard('tollgate', guards, controller, 'ratelimit-remaining');
  let at = 0;
  const name = `tollgate, ${quotas.length} limit${quotas.length > 1 ? 's' : ''}${perIp ? ' and per IP' : ''}`;
  return {
    name,
    async run(count) {
      let passed = 0;
      for (let i = 0; i < count; i++) {
        const request = new Request(keys[at]);
        const response = new Response();
        if (perIp && limits.onRequest(request, response) !== true) throw new Error('not synchronous');
        if (await consumer.tryActivate(guards, [request, response], controller, handler, 'http')) passed++;
        if (++at === keys.length) at = 0;
      }
      return passed;
    },
    close: () => app.close(),
  };
}

/** @param {readonly {name?: string, limit: number, ttl: number}[]} throttlers */
export async function throttlerGuard(keys, throttlers) {
  const { ThrottlerGuard, ThrottlerModule } = await import('@nestjs/throttler');
  const Reports = reportsController();
  class Guarded {}
  Module({ imports: [ThrottlerModule.forRoot([...throttlers])], providers: [ThrottlerGuard] })(Guarded);
  const app = await boot([Guarded], [Reports]);
  const guards = [app.get(ThrottlerGuard, { strict: false })];
  const controller = app.get(Reports);
  const handler = controller.list;
  const suffix = throttlers[0].name === undefined ? '' : `-${throttlers[0].name}`;
  await proveGuard('@nestjs/throttler', guards, controller, `X-RateLimit-Remaining${suffix}`);
  let at = 0;
  return {
    name: `@nestjs/throttler, ${throttlers.length} limit${throttlers.length > 1 ? 's' : ''}`,
    async run(count) {
      let passed = 0;
      for (let i = 0; i < count; i++) {
        const request = new Request(keys[at]);
        const response = new Response();
        if (await consumer.tryActivate(guards, [request, response], controller, handler, 'http')) passed++;
        if (++at === keys.length) at = 0;
      }
      return passed;
    },
    close: () => app.close(),
  };
}

/** The harness itself: a guard that does nothing. What is left of the others without it is theirs. */
export function emptyGuard(keys) {
  const guards = [{ canActivate: () => true }];
  const controller = new (reportsController())();
  const handler = controller.list;
  let at = 0;
  return {
    name: 'an empty guard',
    async run(count) {
      let passed = 0;
      for (let i = 0; i < count; i++) {
        const request = new Request(keys[at]);
        const response = new Response();
        if (await consumer.tryActivate(guards, [request, response], controller, handler, 'http')) passed++;
        if (++at === keys.length) at = 0;
      }
      return passed;
    },
  };
}

/** Two calls of one client: the second has one less left. */
async function proveGuard(name, guards, controller, header) {
  const left = [];
  for (let i = 0; i < 2; i++) {
    const response = new Response();
    await consumer.tryActivate(
      guards,
      [new Request('192.0.2.1'), response],
      controller,
      controller.list,
      'http',
    );
    left.push(Number(response.headers.get(header)));
  }
  proof(name, left[0] - left[1] === 1, `${header} went from ${left[0]} to ${left[1]}`);
}

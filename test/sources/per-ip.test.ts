import { Agent } from 'node:http';
import { Controller, Get, UseGuards } from '@nestjs/common';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RateLimitEvents, Throttle, type DecisionEvent } from '../../lib/index.js';
import { ADAPTERS, startApp } from '../e2e/support/app.js';
import { send, statuses, via } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { as, HeaderAuth, timed } from './support/http.js';

@Controller()
@UseGuards(HeaderAuth)
class Routes {
  @Get('free')
  free(): string {
    return 'free';
  }

  @Get('tight')
  @Throttle({ limit: 2, per: '1m' })
  tight(): string {
    return 'tight';
  }
}

const MINUTE = 60_000_000;

checkNestVersion();

describe.each(ADAPTERS)('the per-IP limit on %s', (adapter) => {
  it('SB-01 clients are slowed down by address and by route, and a call needs room in both', async () => {
    const { rateLimit } = timed({ perIp: { limit: 5, per: '1m' } });
    const running = await startApp(adapter, { controllers: [Routes], rateLimit });
    expect(await statuses(running, '/tight', 3)).toEqual([200, 200, 429]);
    // The route refuses, the address has room for two more.
    expect(await statuses(running, '/free', 3)).toEqual([200, 200, 429]);
    // Now the address refuses, whatever the route would say of this user.
    expect(await statuses(running, '/tight', 1, as('ada'))).toEqual([429]);
  });

  it('SB-02 an app that says nothing has 600 a minute, decided before a route is looked for', async () => {
    const { rateLimit } = timed();
    const running = await startApp(adapter, { controllers: [Routes], rateLimit });
    const decided: DecisionEvent[] = [];
    running.app.get(RateLimitEvents).all$.subscribe((event) => {
      if (event.type === 'decision') decided.push(event);
    });
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const passed = new Set(await statuses(running, '/no-such-route', 599, { agent }));
    expect(passed).toEqual(new Set([404]));
    expect(await statuses(running, '/free', 3, { agent })).toEqual([200, 429, 429]);
    const last = decided.at(-1);
    expect([last?.limit, last?.decision.limit, last?.decision.allowed]).toEqual(['ip', 600, false]);
  });

  it('SB-06 it needs nothing but the module: neither a guard nor an option', async () => {
    const running = await startApp(adapter, { controllers: [Routes] });
    const { status, headers } = await send(running, '/free');
    expect([status, headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual([200, '600', '599']);
  });

  it('SB-07 every request of an address counts, found or not, but no CORS preflight', async () => {
    const { rateLimit } = timed({ perIp: { limit: 4, per: '1m' } });
    const running = await startApp(adapter, { controllers: [Routes], rateLimit, enableCors: {} });
    const origin = 'https://app.example';
    const preflight = {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET' },
    };
    expect(await statuses(running, '/free', 6, preflight)).toEqual(Array(6).fill(204));
    expect(await statuses(running, '/free', 1)).toEqual([200]);
    expect(await statuses(running, '/nope', 1)).toEqual([404]);
    expect(await statuses(running, '/free', 1, { method: 'DELETE' })).toEqual([404]);
    expect(await statuses(running, '/free', 2, { method: 'HEAD' })).toEqual([200, 429]);
    expect(await statuses(running, '/free', 1, preflight)).toEqual([204]);
    expect(await statuses(running, '/free', 1, { from: '127.0.0.2' })).toEqual([200]);
  });

  it('SB-08 the whole allowance may come at once, then one request each 60 seconds / limit', async () => {
    const { clock, rateLimit } = timed({ perIp: { limit: 600, per: '1m' } });
    const running = await startApp(adapter, { controllers: [Routes], rateLimit });
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    expect(new Set(await statuses(running, '/free', 600, { agent }))).toEqual(new Set([200]));
    for (let request = 0; request < 20; request++) {
      expect(await statuses(running, '/free', 1, { agent })).toEqual([429]);
      clock.advance('99ms');
      expect(await statuses(running, '/free', 1, { agent })).toEqual([429]);
      clock.advance('1ms');
      expect(await statuses(running, '/free', 1, { agent })).toEqual([200]);
    }
  });

  it('SB-09 it keeps one time per address, and decides as that arithmetic does', async () => {
    const limit = 7;
    const { clock, store, rateLimit } = timed({
      perIp: { limit, per: '1m' },
      trustedProxies: ['127.0.0.1'],
    });
    const running = await startApp(adapter, { controllers: [Routes], rateLimit });
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    // The generic cell rate algorithm, written down once more: the time at which all of the allowance is back.
    const interval = Math.ceil(MINUTE / limit);
    const arrivals = new Map<string, number>();
    const clients = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];
    let seed = 20_260_301;
    for (let request = 0; request < 300; request++) {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      const client = clients[seed % 3];
      const now = clock.monotonic();
      const next = Math.max(arrivals.get(client) ?? now, now) + interval;
      const passes = next - now <= limit * interval;
      if (passes) arrivals.set(client, next);
      const { status } = await send(running, '/free', { agent, ...via(client) });
      expect(`request ${request}: ${status}`).toBe(`request ${request}: ${passes ? 200 : 429}`);
      clock.advanceMicroseconds(seed % (MINUTE / 10));
    }
    expect(store.size).toBe(3);
  });

  it('SB-10 refusals take nothing: however many there were, the next allowed one comes at the same time', async () => {
    const { clock, rateLimit } = timed({ perIp: { limit: 3, per: '1m' } });
    const running = await startApp(adapter, { controllers: [Routes], rateLimit });
    expect(await statuses(running, '/free', 3)).toEqual([200, 200, 200]);
    for (let second = 0; second < 20; second++) {
      expect(await statuses(running, '/free', 3)).toEqual([429, 429, 429]);
      clock.advance('1s');
    }
    expect(await statuses(running, '/free', 2)).toEqual([200, 429]);
  });

  it('SB-11 who goes over is told so in JSON', async () => {
    const { rateLimit } = timed({ perIp: { limit: 3, per: '1m' } });
    const running = await startApp(adapter, { controllers: [Routes], rateLimit });
    expect(await statuses(running, '/free', 3)).toEqual([200, 200, 200]);
    const { status, headers, body } = await send(running, '/free');
    expect([status, headers['retry-after']]).toEqual([429, '20']);
    expect(headers['content-type']).toMatch(/^application\/json(; charset=utf-8)?$/);
    expect(JSON.parse(body)).toEqual({
      statusCode: 429,
      message: 'Too Many Requests',
      error: 'Too Many Requests',
    });
  });

  it('SB-12 Retry-After are whole seconds, never 0, and a request passes when they are over', async () => {
    const { clock, rateLimit } = timed({ perIp: { limit: 3, per: '1m' } });
    const running = await startApp(adapter, { controllers: [Routes], rateLimit });
    expect(await statuses(running, '/free', 3)).toEqual([200, 200, 200]);
    const waits: unknown[] = [];
    for (let step = 0; step < 4; step++) {
      waits.push((await send(running, '/free')).headers['retry-after']);
      clock.advance(step === 0 ? '18500ms' : '499ms');
    }
    // 20 s; 1.5 s, rounded up; 1.001 s; 0.502 s.
    expect(waits).toEqual(['20', '2', '2', '1']);
    clock.advance('3ms');
    expect(await statuses(running, '/free', 1)).toEqual([200]);
  });
});

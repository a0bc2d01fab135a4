import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Body,
  Controller,
  Get,
  Module,
  Post,
  Scope,
  UseGuards,
  Inject,
  Injectable,
  type CanActivate,
  type INestApplication,
  type MiddlewareConsumer,
  type NestModule,
} from '@nestjs/common';
import { APP_GUARD, REQUEST } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  clientIpOf,
  MemoryStore,
  PerIpGuard,
  RateLimitService,
  RateLimitStore,
  throttle,
} from '../../lib/index.js';
import { createRate } from '../../lib/algorithms/rate.js';
import { HttpInstall } from '../../lib/nest/http/http-install.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp, type AppSetup } from './support/app.js';
import { exchange, send, statuses, statusOf, via, type Sent } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

@Injectable()
class Refuse implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Controller()
class Routes {
  @Get('ok')
  ok(): string {
    return 'ok';
  }

  @Post('echo')
  echo(@Body() body: unknown): unknown {
    return body ?? 'none';
  }

  @Get('private')
  @UseGuards(Refuse)
  refused(): string {
    return 'never';
  }
}

const PROXY = ['127.0.0.1'];
const CORS = { origin: 'https://app.example' };
const BROWSER = { origin: 'https://app.example' };
const PREFLIGHT = { ...BROWSER, 'access-control-request-method': 'GET' };
const JSON_TYPE = { 'content-type': 'application/json' };

function passOn(_request: unknown, _response: unknown, next: () => void): void {
  next();
}

/** Ways to build an app; per IP must hold in all of them. */
const SETUPS: Record<string, AppSetup> = {
  'a plain app': {},
  'a global prefix': { prefix: 'api' },
  'enableCors()': { enableCors: CORS },
  'the cors option': { cors: CORS },
  'a testing module': { testing: true },
  'a testing module with prefix and enableCors()': { testing: true, prefix: 'api', enableCors: CORS },
  "middleware of the app's own": { enableCors: CORS, main: (app) => void app.use(passOn) },
  'a prefix, and middleware without CORS': { prefix: 'api', main: (app) => void app.use(passOn) },
  'no body parser': { bodyParser: false },
  'no body parser, prefix and enableCors()': { bodyParser: false, prefix: 'api', enableCors: CORS },
};

checkNestVersion();

describe.each(ADAPTERS)('the per-IP limit on %s', (adapter) => {
  describe.each(Object.entries(SETUPS))('in %s', (_name, setup) => {
    const base = setup.prefix === undefined ? '' : `/${setup.prefix}`;
    const corsOn = setup.cors !== undefined || setup.enableCors !== undefined;
    // Without its parser Express doesn't look into bodies; Fastify always has one.
    const parses = setup.bodyParser !== false || adapter === 'fastify';

    it('D10 counts every request, whatever it is answered with', async () => {
      const running = await startApp(adapter, {
        ...setup,
        controllers: [Routes],
        rateLimit: { perIp: { limit: 2, per: '1m' }, trustedProxies: PROXY },
      });
      const kinds: [number, string, Sent][] = [
        [200, `${base}/ok`, {}],
        [200, `${base}/ok`, { method: 'HEAD' }],
        [404, `${base}/nope`, {}],
        [404, '/elsewhere', {}],
        [404, '/', {}],
        [404, '//a//b', {}],
        [404, `${base}/ok`, { method: 'DELETE' }],
        [403, `${base}/private`, {}],
        [parses ? 400 : 201, `${base}/echo`, { method: 'POST', headers: JSON_TYPE, body: '{bad' }],
        [
          parses ? 413 : 201,
          `${base}/echo`,
          { method: 'POST', headers: JSON_TYPE, body: JSON.stringify('x'.repeat(2e6)) },
        ],
      ];
      for (const [index, [status, path, sent]] of kinds.entries()) {
        const client = `203.0.113.${index}`;
        const full = { ...sent, headers: { ...sent.headers, 'x-forwarded-for': client } };
        expect([path, await statuses(running, path, 3, full)]).toEqual([path, [status, status, 429]]);
        // And nobody else was charged for it.
        expect(await statuses(running, '/nope', 1, via(`198.51.100.${index}`))).toEqual([404]);
      }
    });

    it('E07 neither counts nor refuses preflights', async () => {
      const running = await startApp(adapter, {
        ...setup,
        controllers: [Routes],
        rateLimit: { perIp: { limit: 2, per: '1m' } },
      });
      const preflight = { method: 'OPTIONS', headers: PREFLIGHT };
      const answer = corsOn ? 204 : 404;
      expect(new Set(await statuses(running, `${base}/ok`, 5, preflight))).toEqual(new Set([answer]));
      expect(await statuses(running, `${base}/ok`, 3, { headers: BROWSER })).toEqual([200, 200, 429]);
      expect(await statuses(running, `${base}/ok`, 1, preflight)).toEqual([answer]);
    });

    it('counts an OPTIONS that is no preflight, where it is no answer of CORS', async () => {
      const running = await startApp(adapter, {
        ...setup,
        controllers: [Routes],
        rateLimit: { perIp: { limit: 2, per: '1m' } },
      });
      const answers = await statuses(running, `${base}/ok`, 3, { method: 'OPTIONS', headers: BROWSER });
      if (!corsOn) expect(answers).toEqual([404, 404, 429]);
      // Express's cors answers every OPTIONS, Fastify's refuses such ones: both before any limit.
      else expect(answers).toEqual(adapter === 'express' ? [204, 204, 204] : [400, 400, 400]);
    });

    it('refuses before the body is parsed, or has arrived', async () => {
      const running = await startApp(adapter, {
        ...setup,
        controllers: [Routes],
        rateLimit: { perIp: { limit: 1, per: '1m' } },
      });
      expect(await statuses(running, '/nope', 1)).toEqual([404]);
      const post = { method: 'POST', headers: JSON_TYPE };
      expect((await send(running, `${base}/echo`, { ...post, body: '{bad' })).status).toBe(429);
      const megabyte = JSON.stringify('x'.repeat(1 << 20));
      expect((await send(running, `${base}/echo`, { ...post, body: megabyte })).status).toBe(429);
      // Of this body nothing ever comes: whoever waits for it can't answer.
      const head =
        `POST ${base}/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n` +
        `content-length: 1048576\r\nconnection: close\r\n\r\n`;
      expect(statusOf(await exchange(running, head))).toBe(429);
    });
  });

  it(`D10 '/%zz' is ${adapter === 'express' ? 'counted' : 'answered by Fastify before any hook'}`, async () => {
    const running = await startApp(adapter, { rateLimit: { perIp: { limit: 2, per: '1m' } } });
    const malformed = await statuses(running, '/%zz', 3);
    if (adapter === 'express') {
      expect(malformed).toEqual([404, 404, 429]);
      return;
    }
    // Nothing of Nest's runs: such a request can be neither counted nor refused.
    expect(new Set(malformed)).toEqual(new Set([process.env.NEST_MAJOR === '11' ? 404 : 400]));
    expect(await statuses(running, '/nope', 3)).toEqual([404, 404, 429]);
  });

  describe('and static files', () => {
    let root = '';
    beforeAll(() => {
      root = mkdtempSync(join(tmpdir(), 'static-'));
      writeFileSync(join(root, 'page.txt'), 'static page');
    });
    afterAll(() => {
      rmSync(root, { recursive: true });
    });
    const serve = async (app: INestApplication): Promise<void> => {
      if (adapter === 'express') {
        const express = app as NestExpressApplication;
        express.useStaticAssets(root, { prefix: '/files/' });
      } else {
        await (app as NestFastifyApplication).register((await import('@fastify/static')).default, {
          root,
          prefix: '/files/',
        });
      }
    };

    it.each([
      ['without CORS', { main: serve }],
      ['with a prefix', { main: serve, prefix: 'api' }],
      ['behind cors', { main: serve, cors: CORS }],
      [
        'in front of cors',
        {
          main: async (app: INestApplication): Promise<void> => {
            await serve(app);
            app.enableCors(CORS);
          },
        },
      ],
    ] satisfies [string, AppSetup][])('D10 counts them %s', async (place, setup) => {
      const running = await startApp(adapter, { ...setup, rateLimit: { perIp: { limit: 3, per: '1m' } } });
      expect((await send(running, '/files/page.txt')).body).toBe('static page');
      expect(await statuses(running, '/files/page.txt', 1)).toEqual([200]);
      expect(await statuses(running, '/files/none.txt', 1)).toEqual([404]);
      const refused = await send(running, '/files/page.txt', { headers: BROWSER });
      expect(refused.status).toBe(429);
      if (place.endsWith('cors')) {
        expect(refused.headers['access-control-allow-origin']).toBe(BROWSER.origin);
        expect(refused.headers['access-control-expose-headers']).toMatch(/retry-after/i);
      }
    });
  });

  it('runs before middleware of modules, whose work a refusal saves', async () => {
    const seen: unknown[] = [];
    @Module({ controllers: [Routes] })
    class Logging implements NestModule {
      configure(consumer: MiddlewareConsumer): void {
        consumer
          .apply((request: Parameters<typeof clientIpOf>[0], _response: unknown, next: () => void) => {
            seen.push(clientIpOf(request));
            next();
          })
          .forRoutes('{*splat}');
      }
    }
    for (const enableCors of [undefined, CORS]) {
      const running = await startApp(adapter, {
        imports: [Logging],
        rateLimit: { perIp: { limit: 2, per: '1m' } },
        ...(enableCors === undefined ? {} : { enableCors }),
      });
      expect(await statuses(running, '/ok', 4)).toEqual([200, 200, 429, 429]);
      expect(seen.splice(0)).toEqual(['127.0.0.1', '127.0.0.1']);
    }
  });

  it.each([
    ['with CORS', { cors: CORS }],
    ['without CORS', {}],
  ])('limits middleware of main.ts that answers by itself, %s', async (_name, setup) => {
    const running = await startApp(adapter, {
      ...setup,
      rateLimit: { perIp: { limit: 3, per: '1m' } },
      main: (app) => {
        app.use('/health', (_request: unknown, response: ServerResponse) => response.end('up'));
        app.use('/exports', throttle({ name: 'exports', limit: 1, per: '1m' }));
      },
    });
    expect(await statuses(running, '/exports', 2)).toEqual([404, 429]);
    expect(await statuses(running, '/health', 2)).toEqual([200, 429]);
  });

  it('SB-02 is 600 a minute by default: a burst of 600, then one every 100 ms', async () => {
    const clock = new FakeClock();
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: { store: new MemoryStore({ clock }) },
    });
    const agent = new Agent({ keepAlive: true });
    const next = async (): Promise<number> => (await send(running, '/ok', { agent })).status;
    expect(new Set(await statuses(running, '/ok', 600, { agent }))).toEqual(new Set([200]));
    expect(await next()).toBe(429);
    // F07 the tenth of a second is exact.
    clock.advance('99ms');
    expect(await next()).toBe(429);
    clock.advance('1ms');
    expect(await next()).toBe(200);
    clock.advance('50ms');
    expect(await next()).toBe(429);
    clock.advance('50ms');
    expect(await next()).toBe(200);
    clock.advance('1m');
    expect(new Set(await statuses(running, '/ok', 600, { agent }))).toEqual(new Set([200]));
    expect(await next()).toBe(429);
    agent.destroy();
  });

  it('SB-10, SB-12, G01 at 3 a minute the fourth waits 20 seconds, and refusals cost nothing', async () => {
    const clock = new FakeClock();
    const running = await startApp(adapter, {
      rateLimit: { perIp: { limit: 3, per: '1m' }, store: new MemoryStore({ clock }) },
    });
    expect(await statuses(running, '/', 3)).toEqual([404, 404, 404]);
    for (let refusal = 0; refusal < 20; refusal++) {
      const { status, headers } = await send(running, '/');
      expect([status, headers['retry-after'], headers['ratelimit-remaining']]).toEqual([429, '20', '0']);
    }
    clock.advance('19s');
    expect((await send(running, '/')).headers['retry-after']).toBe('1');
    clock.advance('1s');
    expect(await statuses(running, '/', 2)).toEqual([404, 429]);
  });

  it.each([
    [5, '12'],
    [1, '60'],
  ])('F04 the burst is the whole limit: %i', async (limit, wait) => {
    const running = await startApp(adapter, {
      rateLimit: { perIp: { limit, per: '1m' }, store: new MemoryStore({ clock: new FakeClock() }) },
    });
    expect(new Set(await statuses(running, '/', limit))).toEqual(new Set([404]));
    const refused = await send(running, '/');
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, wait]);
  });

  it('F01 lets no second burst through around the minute', async () => {
    const clock = new FakeClock(new Date('2026-01-01T11:59:59.900Z'));
    const running = await startApp(adapter, {
      rateLimit: { perIp: { limit: 60, per: '1m' }, store: new MemoryStore({ clock }) },
    });
    expect(new Set(await statuses(running, '/', 60))).toEqual(new Set([404]));
    clock.advance('100ms');
    const after = await statuses(running, '/', 60);
    expect(after.filter((status) => status === 404).length).toBeLessThanOrEqual(1);
  });

  it('F06 spaces 2,000 a second in microseconds', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock });
    const running = await startApp(adapter, {
      rateLimit: { perIp: { limit: 120_000, per: '1m' }, store },
    });
    const rate = createRate('gcra', 120_000, 60e6);
    const name = { policy: 'per-ip', namespace: 'network:per-ip', key: '127.0.0.1' };
    expect(store.consume([{ ...name, rate, cost: 119_999 }])[0].allowed).toBe(true);
    expect(await statuses(running, '/', 2)).toEqual([404, 429]);
    clock.advanceMicroseconds(499);
    expect(await statuses(running, '/', 1)).toEqual([429]);
    clock.advanceMicroseconds(1);
    expect(await statuses(running, '/', 2)).toEqual([404, 429]);
  });

  it('F08 a client that polls through its refusals passes whenever there is room', async () => {
    const clock = new FakeClock();
    const running = await startApp(adapter, {
      rateLimit: { perIp: { limit: 2, per: '1m' }, store: new MemoryStore({ clock }) },
    });
    const agent = new Agent({ keepAlive: true });
    expect(await statuses(running, '/', 3, { agent })).toEqual([404, 404, 429]);
    const passes: number[] = [];
    for (let tick = 1; tick <= 1200; tick++) {
      clock.advance('100ms');
      if ((await send(running, '/', { agent })).status !== 429) passes.push(tick / 10);
    }
    agent.destroy();
    expect(passes).toEqual([30, 60, 90, 120]);
  });

  describe('PerIpGuard', () => {
    @Controller('guarded')
    @UseGuards(PerIpGuard)
    class Guarded {
      @Get()
      @UseGuards(PerIpGuard, PerIpGuard)
      get(): string {
        return 'ok';
      }
    }

    it('D01 counts nothing twice, bound globally, on controllers and on routes', async () => {
      const running = await startApp(adapter, {
        controllers: [Guarded],
        providers: [{ provide: APP_GUARD, useClass: PerIpGuard }],
        rateLimit: { perIp: { limit: 4, per: '1m' } },
        main: (app) => void app.useGlobalGuards(app.get(PerIpGuard)),
      });
      const left: unknown[] = [];
      for (let sent = 0; sent < 4; sent++) {
        left.push((await send(running, '/guarded')).headers['ratelimit-remaining']);
      }
      expect(left).toEqual(['3', '2', '1', '0']);
      expect(await statuses(running, '/guarded', 1)).toEqual([429]);
    });

    it('limits alone where the middleware is absent', async () => {
      const { install } = HttpInstall.prototype as unknown as { install: () => void };
      Object.assign(HttpInstall.prototype, { install: () => undefined });
      try {
        const running = await startApp(adapter, {
          controllers: [Guarded],
          rateLimit: { perIp: { limit: 2, per: '1m' }, store: new MemoryStore({ clock: new FakeClock() }) },
        });
        // The proof that nothing else limits.
        expect(await statuses(running, '/nope', 5)).toEqual([404, 404, 404, 404, 404]);
        expect(await statuses(running, '/guarded', 2)).toEqual([200, 200]);
        const refused = await send(running, '/guarded');
        expect([refused.status, refused.headers['retry-after']]).toEqual([429, '30']);
        expect(refused.body).toBe(
          '{"statusCode":429,"message":"Too Many Requests","error":"Too Many Requests"}',
        );
      } finally {
        Object.assign(HttpInstall.prototype, { install });
      }
    });
  });

  it('D12 an app has one store, however many modules inject it and whatever scope they have', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Requested implements CanActivate {
      constructor(
        @Inject(REQUEST) readonly request: unknown,
        readonly store: RateLimitStore,
        readonly service: RateLimitService,
      ) {}

      canActivate(): boolean {
        return this.request !== undefined && this.store instanceof MemoryStore;
      }
    }
    @Controller('one')
    @UseGuards(Requested, PerIpGuard)
    class One {
      @Get()
      get(): string {
        return 'one';
      }
    }
    @Module({ controllers: [One] })
    class Feature {}
    @Module({ imports: [Feature] })
    class Other {}
    const running = await startApp(adapter, {
      imports: [Feature, Other],
      rateLimit: { perIp: { limit: 3, per: '1m' } },
    });
    expect(await statuses(running, '/one', 4)).toEqual([200, 200, 200, 429]);
  });

  it('SB-15 null turns it off', async () => {
    const store = new MemoryStore();
    const running = await startApp(adapter, { rateLimit: { perIp: null, store } });
    const answers = [];
    for (let sent = 0; sent < 50; sent++) answers.push(send(running, '/'));
    expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([404]));
    expect(store.size).toBe(0);
    expect((await send(running, '/')).headers).not.toHaveProperty('ratelimit-limit');
  });

  it('D09 counts failed sign-ins, because it runs before every guard', async () => {
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: { perIp: { limit: 3, per: '1m' } },
    });
    expect(await statuses(running, '/private', 4)).toEqual([403, 403, 403, 429]);
  });

  it('skips calls for which skipIf is true, whatever route they are for', async () => {
    const seen: unknown[] = [];
    const store = new MemoryStore();
    const running = await startApp(adapter, {
      rateLimit: {
        perIp: { limit: 1, per: '1m' },
        store,
        trustedProxies: PROXY,
        skipIf: (call) => {
          seen.push([call.transport, call.address, call.network, call.user, call.context]);
          return call.address === '203.0.113.35';
        },
      },
    });
    expect(await statuses(running, '/', 3, via('203.0.113.35'))).toEqual([404, 404, 404]);
    expect(store.size).toBe(0);
    expect(await statuses(running, '/', 2, via('2001:DB8::7'))).toEqual([404, 429]);
    expect(seen.at(-1)).toEqual(['http', '2001:db8::7', '2001:db8::/64', null, null]);
  });

  it('skips nothing when skipIf fails or is async by mistake', async () => {
    const fail = (): boolean => {
      throw new Error('down');
    };
    const later = (async () => true) as unknown as () => boolean;
    for (const skipIf of [fail, later]) {
      const running = await startApp(adapter, { rateLimit: { perIp: { limit: 1, per: '1m' }, skipIf } });
      expect(await statuses(running, '/', 2)).toEqual([404, 429]);
    }
  });
});

describe('the per-IP limit over HTTP/2', () => {
  it('O09, G10 counts each stream, with lower-case headers', async () => {
    const running = await startApp('fastify', {
      controllers: [Routes],
      rateLimit: { perIp: { limit: 10, per: '1m' } },
      makeAdapter: () => new FastifyAdapter({ http2: true } as never) as FastifyAdapter,
    });
    const session = connectHttp2(`http://127.0.0.1:${running.port}`);
    const get = (): Promise<[number, Record<string, unknown>, string]> =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':path': '/ok' });
        let body = '';
        let answer: Record<string, unknown> = {};
        stream.on('response', (headers) => (answer = headers));
        stream.on('data', (chunk: Buffer) => (body += chunk.toString()));
        stream.on('error', reject);
        stream.on('end', () => resolve([Number(answer[':status']), answer, body]));
      });
    const answers = await Promise.all(Array.from({ length: 100 }, get));
    session.close();
    expect(answers.filter(([status]) => status === 200)).toHaveLength(10);
    const refused = answers.filter(([status]) => status === 429);
    expect(refused).toHaveLength(90);
    for (const [, headers, body] of refused) {
      expect(headers).toMatchObject({
        'retry-after': '6',
        'ratelimit-limit': '10',
        'ratelimit-remaining': '0',
      });
      expect(JSON.parse(body)).toEqual({
        statusCode: 429,
        message: 'Too Many Requests',
        error: 'Too Many Requests',
      });
    }
  });
});

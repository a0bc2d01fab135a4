import { Controller, Get, type INestApplication } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { describe, expect, it } from 'vitest';
import { Throttle } from '../../lib/index.js';
import { ADAPTERS, startApp, type AppSetup } from './support/app.js';
import { send, statuses } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

@Controller()
class Routes {
  @Get('ok')
  ok(): string {
    return 'ok';
  }

  @Get('throttled')
  @Throttle({ limit: 1, per: '1m' })
  throttled(): string {
    return 'ok';
  }
}

const ORIGIN = 'https://app.example';
// A list: for a single origin Fastify's CORS sends no Vary, as its answer is the same for all.
const CORS = { origin: [ORIGIN], exposedHeaders: ['X-Total'], credentials: true };
const BROWSER = { headers: { origin: ORIGIN } };
const PREFLIGHT = { method: 'OPTIONS', headers: { origin: ORIGIN, 'access-control-request-method': 'GET' } };

function passOn(_request: unknown, _response: unknown, next: () => void): void {
  next();
}

const WAYS: Record<string, AppSetup> = {
  'enableCors()': { enableCors: CORS },
  'the cors option': { cors: CORS },
  'a testing module': { testing: true, enableCors: CORS },
  "middleware of the app's own": { enableCors: CORS, main: (app) => void app.use(passOn) },
  'middleware in front of the cors option': { cors: CORS, main: (app) => void app.use(passOn) },
  'a prefix and no body parser': { prefix: 'api', bodyParser: false, enableCors: CORS },
};

/** The names of a list header, in lower case. */
function names(header: unknown): string[] {
  return String(header)
    .split(',')
    .map((name) => name.trim().toLowerCase());
}

const OURS = ['retry-after', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];

checkNestVersion();

describe.each(ADAPTERS)('answers to browsers on %s', (adapter) => {
  describe.each(Object.entries(WAYS))('with CORS by %s', (_name, setup) => {
    const base = setup.prefix === undefined ? '' : `/${setup.prefix}`;

    it('G05, G07, G08 a per-IP refusal can be read by the page, and never cached', async () => {
      const running = await startApp(adapter, {
        ...setup,
        controllers: [Routes],
        rateLimit: { perIp: { limit: 2, per: '1m' } },
      });
      const passed = await send(running, `${base}/ok`, BROWSER);
      expect(passed.status).toBe(200);
      expect(passed.headers['access-control-allow-origin']).toBe(ORIGIN);
      expect(names(passed.headers['access-control-expose-headers'])).toEqual(['x-total', ...OURS]);
      expect(passed.headers).not.toHaveProperty('retry-after');
      expect(await statuses(running, '/nope', 1, BROWSER)).toEqual([404]);
      for (const path of [`${base}/ok`, '/nope']) {
        const { status, headers, rawHeaders } = await send(running, path, BROWSER);
        expect(status).toBe(429);
        expect(headers).toMatchObject({
          'access-control-allow-origin': ORIGIN,
          'access-control-allow-credentials': 'true',
          vary: 'Origin',
          'retry-after': '30',
          'cache-control': 'no-store',
          'content-type': expect.stringMatching(/^application\/json/),
        });
        expect(names(headers['access-control-expose-headers'])).toEqual(['x-total', ...OURS]);
        // Each line once: two of a kind are no CORS answer to a browser.
        const lines = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
        expect(lines.toSorted()).toEqual([...new Set(lines)].toSorted());
      }
    });

    it('G05, G07, G08 so is a refusal of a route throttle', async () => {
      const running = await startApp(adapter, { ...setup, controllers: [Routes] });
      expect((await send(running, `${base}/throttled`, BROWSER)).status).toBe(200);
      const { status, headers } = await send(running, `${base}/throttled`, BROWSER);
      expect(status).toBe(429);
      expect(headers).toMatchObject({
        'access-control-allow-origin': ORIGIN,
        vary: 'Origin',
        'retry-after': '60',
        'ratelimit-limit': '1',
        'cache-control': 'no-store',
      });
      expect(names(headers['access-control-expose-headers'])).toEqual(['x-total', ...OURS]);
    });

    it('E07 preflights go through although the client is over its limit', async () => {
      const running = await startApp(adapter, {
        ...setup,
        controllers: [Routes],
        rateLimit: { perIp: { limit: 2, per: '1m' } },
      });
      expect(new Set(await statuses(running, `${base}/ok`, 50, PREFLIGHT))).toEqual(new Set([204]));
      expect(await statuses(running, `${base}/ok`, 3, BROWSER)).toEqual([200, 200, 429]);
      const preflight = await send(running, `${base}/ok`, PREFLIGHT);
      expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, ORIGIN]);
      expect(preflight.headers).not.toHaveProperty('ratelimit-limit');
    });
  });

  it('without CORS no header of it appears, and preflights are 404 and uncounted', async () => {
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: { perIp: { limit: 1, per: '1m' } },
    });
    expect(new Set(await statuses(running, '/ok', 5, PREFLIGHT))).toEqual(new Set([404]));
    for (const status of [200, 429]) {
      const answer = await send(running, '/ok', BROWSER);
      expect(answer.status).toBe(status);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    expect(await statuses(running, '/ok', 1, PREFLIGHT)).toEqual([404]);
  });

  it('G07 exposes where the app exposes nothing, and leaves a star alone', async () => {
    for (const [exposedHeaders, expected] of [
      [undefined, OURS],
      ['*', ['*']],
      [
        ['retry-after', 'X-Total'],
        ['retry-after', 'x-total', ...OURS.slice(1)],
      ],
    ] as const) {
      const running = await startApp(adapter, {
        controllers: [Routes],
        rateLimit: { perIp: { limit: 1, per: '1m' } },
        enableCors: { origin: true, exposedHeaders: exposedHeaders as string | string[] | undefined },
      });
      for (const status of [200, 429]) {
        const answer = await send(running, '/ok', BROWSER);
        expect(answer.status).toBe(status);
        expect(names(answer.headers['access-control-expose-headers'])).toEqual(expected);
      }
    }
  });

  it('G05 an origin that the app asks for asynchronously is in the refusal too', async () => {
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: { perIp: { limit: 1, per: '1m' } },
      enableCors: {
        origin: (origin: string | undefined, callback: (error: Error | null, allow?: boolean) => void) => {
          setImmediate(() => callback(null, origin === ORIGIN));
        },
      },
    });
    expect(await statuses(running, '/ok', 1, BROWSER)).toEqual([200]);
    const refused = await send(running, '/ok', BROWSER);
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([429, ORIGIN]);
    const other = await send(running, '/ok', { headers: { origin: 'https://other.example' } });
    expect(other.status).toBe(429);
    expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  });

  /** What the app sets on every answer, before anything else of it runs. */
  const cacheable = (app: INestApplication): void => {
    if (adapter === 'fastify') {
      (app as NestFastifyApplication)
        .getHttpAdapter()
        .getInstance()
        .addHook('onRequest', (_request, reply, done) => {
          reply.header('cache-control', 'public, max-age=300').header('etag', '"good"');
          done();
        });
      return;
    }
    app.use((_request: unknown, response: { set(lines: object): void }, next: () => void) => {
      response.set({ 'cache-control': 'public, max-age=300', etag: '"good"' });
      next();
    });
  };
  it('G08 a refusal inherits no public max-age and no etag of the good answer', async () => {
    const running = await startApp(adapter, {
      controllers: [Routes],
      main: cacheable,
    });
    const good = await send(running, '/throttled');
    expect([good.status, good.headers['cache-control'], good.headers.etag]).toEqual([
      200,
      'public, max-age=300',
      '"good"',
    ]);
    const refused = await send(running, '/throttled');
    expect([refused.status, refused.headers['cache-control']]).toEqual([429, 'no-store']);
    expect(refused.headers.etag).not.toBe('"good"');
  });

  it('G08 nor does a per-IP refusal, in an app with middleware', async () => {
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: { perIp: { limit: 1, per: '1m' } },
      main: (app) => {
        cacheable(app);
        app.use(passOn);
      },
    });
    expect((await send(running, '/ok')).headers['cache-control']).toBe('public, max-age=300');
    const refused = await send(running, '/ok');
    expect([refused.status, refused.headers['cache-control']]).toEqual([429, 'no-store']);
    expect(refused.headers.etag).not.toBe('"good"');
  });
});

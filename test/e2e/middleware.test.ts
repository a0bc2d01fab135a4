import { Controller, Get, Module, type MiddlewareConsumer, type NestModule, type Type } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import {
  MemoryStore,
  SkipThrottle,
  Throttle,
  throttle,
  type NamedQuota,
  type RateLimitOptions,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp, type AppSetup } from './support/app.js';
import { send, statuses, via } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

const PROXY = ['127.0.0.1'];
const EXPORTS: NamedQuota = { name: 'exports', limit: 2, per: '1m' };

function limits(options: RateLimitOptions = {}): { clock: FakeClock; rateLimit: RateLimitOptions } {
  const clock = new FakeClock();
  return { clock, rateLimit: { perIp: null, store: new MemoryStore({ clock }), ...options } };
}

@Controller()
class Routes {
  @Get('exports')
  exports(): string {
    return 'exported';
  }

  @Get('other')
  other(): string {
    return 'other';
  }
}

/** A module that applies the middleware as Nest users do. */
function applied(quota: NamedQuota): Type {
  @Module({})
  class Applied implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(throttle(quota)).forRoutes('exports');
    }
  }
  return Applied;
}

/** The ways to bind a middleware; each limits /exports. */
const WAYS: [string, (quota: NamedQuota) => AppSetup][] = [
  ['app.use()', (quota) => ({ main: (app) => void app.use('/exports', throttle(quota)) })],
  [
    'app.use() behind enableCors()',
    (quota) => ({
      main: (app) => {
        app.enableCors();
        app.use('/exports', throttle(quota));
      },
    }),
  ],
  ['consumer.apply()', (quota) => ({ imports: [applied(quota)] })],
  ['consumer.apply() of a testing module', (quota) => ({ imports: [applied(quota)], testing: true })],
];

checkNestVersion();

describe.each(ADAPTERS)('throttle() on %s', (adapter) => {
  describe.each(WAYS)('by %s', (_way, bind) => {
    const start = (quota: NamedQuota, options: RateLimitOptions = {}) => {
      const { clock, rateLimit } = limits(options);
      return startApp(adapter, { rateLimit, controllers: [Routes], ...bind(quota) }).then((app) => ({
        ...app,
        clock,
      }));
    };

    it('limits what it is bound to, and nothing else', async () => {
      const app = await start(EXPORTS);
      const first = await send(app, '/exports');
      expect([first.status, first.body]).toEqual([200, 'exported']);
      expect(first.headers).toMatchObject({ 'ratelimit-limit': '2', 'ratelimit-remaining': '1' });
      expect(await statuses(app, '/exports', 2)).toEqual([200, 429]);
      expect(await statuses(app, '/other', 3)).toEqual([200, 200, 200]);
      const refused = await send(app, '/exports');
      expect(JSON.parse(refused.body)).toEqual({
        statusCode: 429,
        message: 'Too Many Requests',
        error: 'Too Many Requests',
      });
      expect(refused.headers).toMatchObject({ 'retry-after': '30', 'cache-control': 'no-store' });
      app.clock.advance('30s');
      expect(await statuses(app, '/exports', 2)).toEqual([200, 429]);
    });

    it('counts by client network, behind trusted proxies', async () => {
      const app = await start(EXPORTS, { trustedProxies: PROXY });
      expect(await statuses(app, '/exports', 3, via('192.0.2.1'))).toEqual([200, 200, 429]);
      expect(await statuses(app, '/exports', 3, via('192.0.2.2'))).toEqual([200, 200, 429]);
    });

    it('is skipped by skipIf, and runs behind the per-IP limit', async () => {
      const options: RateLimitOptions = {
        perIp: { limit: 3, per: '1m' },
        trustedProxies: PROXY,
        skipIf: ({ address }) => address === '192.0.2.9',
      };
      const app = await start({ ...EXPORTS, limit: 5 }, options);
      expect(await statuses(app, '/exports', 6, via('192.0.2.9'))).toEqual(Array(6).fill(200));
      expect(await statuses(app, '/exports', 4, via('192.0.2.1'))).toEqual([200, 200, 200, 429]);
    });
  });

  it('counts by the user that a middleware before it found', async () => {
    const { rateLimit } = limits();
    const app = await startApp(adapter, {
      rateLimit,
      controllers: [Routes],
      main: (nest) => {
        nest.use(
          (
            request: { headers: Record<string, string>; user?: unknown },
            _response: unknown,
            next: () => void,
          ) => {
            request.user = { id: request.headers['x-user'] };
            next();
          },
        );
        nest.use('/exports', throttle(EXPORTS));
      },
    });
    const as = (user: string) => ({ headers: { 'x-user': user } });
    expect(await statuses(app, '/exports', 3, as('a'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/exports', 3, as('b'))).toEqual([200, 200, 429]);
  });

  it('counts by a key of its own, and gives tiers', async () => {
    const quota: NamedQuota = {
      name: 'exports',
      per: '1m',
      by: ({ request }) => String((request as { url?: string }).url?.split('tenant=')[1]),
      limit: ({ address }) => (address === '192.0.2.1' ? 3 : 1),
    };
    const { rateLimit } = limits({ trustedProxies: PROXY });
    const app = await startApp(adapter, { rateLimit, controllers: [Routes], imports: [applied(quota)] });
    expect(await statuses(app, '/exports?tenant=a', 2, via('192.0.2.2'))).toEqual([200, 429]);
    expect(await statuses(app, '/exports?tenant=b', 4, via('192.0.2.1'))).toEqual([200, 200, 200, 429]);
  });

  it('shares the counter of its name, and none with a route or a service', async () => {
    @Controller()
    class Named {
      @Get('exports')
      @Throttle({ limit: 2, per: '1m', name: 'exports', shared: true })
      exports(): void {}

      @Get('exports-too')
      @SkipThrottle()
      too(): void {}
    }

    @Module({})
    class Applied implements NestModule {
      configure(consumer: MiddlewareConsumer): void {
        consumer.apply(throttle({ ...EXPORTS, limit: 3 })).forRoutes('exports');
        consumer.apply(throttle({ ...EXPORTS, limit: 3 })).forRoutes('exports-too');
      }
    }
    const { rateLimit } = limits();
    const app = await startApp(adapter, { rateLimit, controllers: [Named], imports: [Applied] });
    expect(await statuses(app, '/exports', 2)).toEqual([200, 200]);
    expect(await statuses(app, '/exports-too', 2)).toEqual([200, 429]);
  });

  it('counts in each app by itself when two share one', async () => {
    const shared = throttle(EXPORTS);
    const setup = (): AppSetup => ({
      rateLimit: limits().rateLimit,
      controllers: [Routes],
      main: (app) => void app.use('/exports', shared),
    });
    const [first, second] = [await startApp(adapter, setup()), await startApp(adapter, setup())];
    expect(await statuses(first, '/exports', 3)).toEqual([200, 200, 429]);
    expect(await statuses(second, '/exports', 3)).toEqual([200, 200, 429]);
  });

  it('says so when the module is missing, rather than limiting nothing', async () => {
    const app = await startApp(adapter, {
      rateLimit: null,
      controllers: [Routes],
      main: (nest) => void nest.use('/exports', throttle(EXPORTS)),
    });
    expect(await statuses(app, '/exports', 1)).toEqual([500]);
    expect(await statuses(app, '/other', 1)).toEqual([200]);
    expect(app.log.all.map(({ message }) => message).join()).toContain(
      'throttle(exports) needs RateLimitModule.forRoot()',
    );
  });
});

describe('throttle()', () => {
  it.each([
    [{ limit: 0, per: '1m', name: 'x' }, 'quota.limit'],
    [{ limit: 1, per: '0s', name: 'x' }, 'quota.per'],
    [{ limit: 1, per: '1m' }, 'quota.name is missing'],
    [{ limit: 1, per: '1m', name: '' }, 'quota.name'],
    [{ limit: 1, per: '1m', name: 'x', window: 3 }, 'quota.window'],
  ])('P02 throws when it is given %j', (quota, finding) => {
    expect(() => throttle(quota as unknown as NamedQuota)).toThrow(finding);
  });
});

import {
  Controller,
  Get,
  Injectable,
  Post,
  Req,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  MemoryStore,
  RateLimitSettings,
  Throttle,
  type Call,
  type LiveSettings,
  type RateLimitOptions,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp, type AppSetup } from './support/app.js';
import { send, statuses, via } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

/** Signs in whoever the header names. */
@Injectable()
class HeaderAuth implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest();
    const id = request.headers['x-user'];
    if (id !== undefined) request.user = { id, tier: request.headers['x-tier'] };
    return true;
  }
}

const PROXY = ['127.0.0.1'];
const as = (user: string, more: Record<string, string> = {}) => ({ headers: { 'x-user': user, ...more } });

/** The options of a test, its per-IP limit off and its time standing still. */
function limits(options: RateLimitOptions = {}): { clock: FakeClock; rateLimit: RateLimitOptions } {
  const clock = new FakeClock();
  return { clock, rateLimit: { perIp: null, store: new MemoryStore({ clock }), ...options } };
}

checkNestVersion();

describe.each(ADAPTERS)('@Throttle on %s', (adapter) => {
  const start = (setup: AppSetup) => startApp(adapter, setup);

  it('limits each route of a controller by itself, and a route with its own throttle by that alone', async () => {
    @Controller('search')
    @Throttle({ limit: 2, per: '1m' })
    class Search {
      @Get()
      search(): string {
        return 'found';
      }

      @Get('suggest')
      @Throttle({ limit: 4, per: '1m' })
      suggest(): string {
        return 'suggested';
      }

      @Get('help')
      help(): string {
        return 'helped';
      }
    }
    const app = await start({ ...limits(), controllers: [Search] });
    expect(await statuses(app, '/search', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/search/help', 3)).toEqual([200, 200, 429]);
    const first = await send(app, '/search/suggest');
    expect(first.headers).toMatchObject({ 'ratelimit-limit': '4', 'ratelimit-remaining': '3' });
    expect(await statuses(app, '/search/suggest', 4)).toEqual([200, 200, 200, 429]);
  });

  it('answers 429 with the wait, and passes when that has elapsed', async () => {
    @Controller('reports')
    class Reports {
      @Post()
      @Throttle({ limit: 3, per: '1m' })
      create(): string {
        return 'queued';
      }
    }
    const { clock, rateLimit } = limits();
    const app = await start({ rateLimit, controllers: [Reports] });
    const post = { method: 'POST' };
    expect(await statuses(app, '/reports', 3, post)).toEqual([201, 201, 201]);
    const refused = await send(app, '/reports', post);
    expect(refused.status).toBe(429);
    expect(JSON.parse(refused.body)).toEqual({
      statusCode: 429,
      message: 'Too Many Requests',
      error: 'Too Many Requests',
    });
    expect(refused.headers).toMatchObject({
      'retry-after': '20',
      'ratelimit-limit': '3',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '60',
      'cache-control': 'no-store',
    });
    clock.advance('19999ms');
    expect(await statuses(app, '/reports', 1, post)).toEqual([429]);
    clock.advance('1ms');
    expect(await statuses(app, '/reports', 2, post)).toEqual([201, 429]);
  });

  it('D05 lets a list pass only together, tells the longest wait, and charges nothing on a refusal', async () => {
    @Controller('search')
    class Search {
      @Get()
      @Throttle([
        { limit: 2, per: '1s' },
        { limit: 3, per: '1m' },
      ])
      search(): string {
        return 'found';
      }
    }
    const { clock, rateLimit } = limits();
    const app = await start({ rateLimit, controllers: [Search] });
    expect(await statuses(app, '/search', 2)).toEqual([200, 200]);
    const burst = await send(app, '/search');
    expect([burst.status, burst.headers['retry-after']]).toEqual([429, '1']);
    expect(await statuses(app, '/search', 50)).toEqual(Array(50).fill(429));
    clock.advance('1s');
    expect(await statuses(app, '/search', 1)).toEqual([200]);
    clock.advance('100ms');
    const sustained = await send(app, '/search');
    expect(sustained.status).toBe(429);
    // Three calls hold 60 s of the minute, 1.1 s have passed: one more fits 20 s after the first.
    expect(sustained.headers['retry-after']).toBe('19');
    clock.advance('18900ms');
    expect(await statuses(app, '/search', 2)).toEqual([200, 429]);
  });

  it('F02 admits exactly N, by either algorithm', async () => {
    @Controller()
    class Limits {
      @Get('gcra/1')
      @Throttle({ limit: 1, per: '1m' })
      gcra1(): void {}

      @Get('gcra/2')
      @Throttle({ limit: 2, per: '1m' })
      gcra2(): void {}

      @Get('gcra/10')
      @Throttle({ limit: 10, per: '1m' })
      gcra10(): void {}

      @Get('fixed/1')
      @Throttle({ limit: 1, per: '1m', algorithm: 'fixed' })
      fixed1(): void {}

      @Get('fixed/2')
      @Throttle({ limit: 2, per: '1m', algorithm: 'fixed' })
      fixed2(): void {}

      @Get('fixed/10')
      @Throttle({ limit: 10, per: '1m', algorithm: 'fixed' })
      fixed10(): void {}
    }
    const app = await start({ ...limits(), controllers: [Limits] });
    for (const algorithm of ['gcra', 'fixed']) {
      for (const limit of [1, 2, 10]) {
        const expected = [...Array<number>(limit).fill(200), 429];
        expect(await statuses(app, `/${algorithm}/${limit}`, limit + 1)).toEqual(expected);
      }
    }
  });

  it('F03 counts remaining down to 0 and no further, whatever arrives at once', async () => {
    @Controller()
    class Limits {
      @Get('one-by-one')
      @Throttle({ limit: 3, per: '1m', algorithm: 'fixed' })
      slow(): void {}

      @Get('at-once')
      @Throttle({ limit: 3, per: '1m', algorithm: 'fixed' })
      fast(): void {}
    }
    const app = await start({ ...limits(), controllers: [Limits] });
    const remaining: unknown[] = [];
    for (let sent = 0; sent < 5; sent++) {
      remaining.push((await send(app, '/one-by-one')).headers['ratelimit-remaining']);
    }
    expect(remaining).toEqual(['2', '1', '0', '0', '0']);
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(app, '/at-once')));
    const passed = answers.filter(({ status }) => status === 200);
    expect(passed).toHaveLength(3);
    expect(new Set(passed.map(({ headers }) => headers['ratelimit-remaining']))).toEqual(
      new Set(['0', '1', '2']),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(47);
    expect(new Set(refused.map(({ headers }) => headers['ratelimit-remaining']))).toEqual(new Set(['0']));
  });

  it('G10 tells the seconds left of a fixed window, never an epoch', async () => {
    @Controller()
    class Limits {
      @Get('units')
      @Throttle({ limit: 10, per: '1m', algorithm: 'fixed' })
      units(): void {}
    }
    const clock = new FakeClock(new Date('2026-01-01T12:00:20Z'));
    const app = await start({
      rateLimit: { perIp: null, store: new MemoryStore({ clock }) },
      controllers: [Limits],
    });
    const tell = async () => {
      const { headers } = await send(app, '/units');
      return ['limit', 'remaining', 'reset'].map((name) => headers[`ratelimit-${name}`]).join(' ');
    };
    await statuses(app, '/units', 2);
    expect(await tell()).toBe('10 7 40');
    clock.setWall(new Date('2026-01-01T12:00:59.999Z'));
    expect(await tell()).toBe('10 6 1');
    clock.setWall(new Date('2026-01-01T12:01:00.000Z'));
    expect(await tell()).toBe('10 9 60');
    // A clock that goes wrong, and is set right, makes nobody wait longer than a window.
    clock.setWall(new Date('2020-01-01T00:00:00.000Z'));
    expect(await tell()).toBe('10 9 60');
  });

  it('tells the client about the tightest of the per-IP limit and its throttles', async () => {
    @Controller()
    class Limits {
      @Get('narrow')
      @Throttle({ limit: 2, per: '1m' })
      narrow(): void {}

      @Get('wide')
      @Throttle({ limit: 100, per: '1m' })
      wide(): void {}
    }
    const { rateLimit } = limits({ perIp: { limit: 10, per: '1m' } });
    const app = await start({ rateLimit, controllers: [Limits] });
    const tell = async (path: string) => {
      const { headers } = await send(app, path);
      return [headers['ratelimit-limit'], headers['ratelimit-remaining']].join(' ');
    };
    expect(await tell('/narrow')).toBe('2 1');
    expect(await tell('/wide')).toBe('10 8');
  });

  it('counts by a named policy, for each handler that names it', async () => {
    @Controller()
    class Exports {
      @Get('a')
      @Throttle('exports')
      a(): void {}

      @Get('b')
      @Throttle(['exports', { limit: 100, per: '1h' }])
      b(): void {}
    }
    const { rateLimit } = limits({ policies: { exports: { limit: 2, per: '1m' } } });
    const app = await start({ rateLimit, controllers: [Exports] });
    expect(await statuses(app, '/a', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/b', 3)).toEqual([200, 200, 429]);
  });

  it('lets handlers share one counter, by a policy and by name', async () => {
    @Controller()
    class Exports {
      @Get('a')
      @Throttle('exports')
      a(): void {}

      @Get('b')
      @Throttle('exports')
      b(): void {}

      @Get('c')
      @Throttle({ limit: 1, per: '1m', shared: true, name: 'mail' })
      c(): void {}

      @Get('d')
      @Throttle({ limit: 1, per: '1m', shared: true, name: 'mail' })
      d(): void {}
    }
    const { rateLimit } = limits({ policies: { exports: { limit: 2, per: '1m', shared: true } } });
    const app = await start({ rateLimit, controllers: [Exports] });
    expect(await statuses(app, '/a', 1)).toEqual([200]);
    expect(await statuses(app, '/b', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/a', 1)).toEqual([429]);
    expect(await statuses(app, '/c', 1)).toEqual([200]);
    expect(await statuses(app, '/d', 1)).toEqual([429]);
  });

  it('counts users apart, guests by network, and everyone by network or by a key of the app where it says so', async () => {
    @Controller()
    @UseGuards(HeaderAuth)
    class Routes {
      @Get('user')
      @Throttle({ limit: 1, per: '1m' })
      byUser(): void {}

      @Get('ip')
      @Throttle({ limit: 1, per: '1m', by: 'ip' })
      byIp(): void {}

      @Get('tenant')
      @Throttle({ limit: 1, per: '1m', by: ({ user }) => String(user?.split('@')[1]) })
      byTenant(): void {}
    }
    const { rateLimit } = limits({ authGuard: HeaderAuth, trustedProxies: PROXY });
    const app = await start({ rateLimit, controllers: [Routes] });
    const from = (client: string, user?: string) => ({
      headers: { ...via(client).headers, ...(user === undefined ? {} : { 'x-user': user }) },
    });
    const seen = async (path: string, sent: ReturnType<typeof from>) => (await send(app, path, sent)).status;
    // Two users behind one address, a user who moves, and guests.
    expect(await seen('/user', from('192.0.2.1', 'a'))).toBe(200);
    expect(await seen('/user', from('192.0.2.1', 'b'))).toBe(200);
    expect(await seen('/user', from('192.0.2.2', 'a'))).toBe(429);
    expect(await seen('/user', from('192.0.2.1'))).toBe(200);
    expect(await seen('/user', from('192.0.2.1'))).toBe(429);
    expect(await seen('/user', from('192.0.2.2'))).toBe(200);
    expect(await seen('/user', from('2001:db8:1:2::1'))).toBe(200);
    expect(await seen('/user', from('2001:db8:1:2::2'))).toBe(429);

    expect(await seen('/ip', from('192.0.2.1', 'a'))).toBe(200);
    expect(await seen('/ip', from('192.0.2.1', 'b'))).toBe(429);
    expect(await seen('/ip', from('192.0.2.2', 'a'))).toBe(200);

    expect(await seen('/tenant', from('192.0.2.1', 'a@x'))).toBe(200);
    expect(await seen('/tenant', from('192.0.2.2', 'b@x'))).toBe(429);
    expect(await seen('/tenant', from('192.0.2.1', 'a@y'))).toBe(200);
  });

  it('C04 falls back to the client network, with one warning, when a key of the app is none', async () => {
    const answers: unknown[] = [undefined, null, '', Number.NaN, true, {}, 0, Promise.resolve('tenant')];
    @Controller()
    class Routes {
      @Get()
      @Throttle({ limit: 8, per: '1m', by: () => answers.shift() as string, name: 'tenants' })
      list(): void {}

      @Get('thrown')
      @Throttle({
        limit: 2,
        per: '1m',
        by: () => {
          throw new Error('no tenant');
        },
      })
      thrown(): void {}
    }
    const { rateLimit } = limits({ trustedProxies: PROXY });
    const app = await start({ rateLimit, controllers: [Routes] });
    expect(await statuses(app, '/', 9, via('192.0.2.1'))).toEqual([...Array<number>(8).fill(200), 429]);
    expect(await statuses(app, '/', 1, via('192.0.2.2'))).toEqual([200]);
    expect(await statuses(app, '/thrown', 3, via('192.0.2.1'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/thrown', 1, via('192.0.2.2'))).toEqual([200]);
    expect(app.log.own('warn').filter((line) => line.includes('tenants'))).toHaveLength(1);
    expect(app.log.own('error')).toEqual([]);
  });

  it('C02 keeps a user whose id is an address apart from the guests there', async () => {
    @Controller()
    @UseGuards(HeaderAuth)
    class Routes {
      @Get()
      @Throttle({ limit: 2, per: '1m' })
      list(): void {}
    }
    const { rateLimit } = limits({ authGuard: HeaderAuth, trustedProxies: PROXY });
    const app = await start({ rateLimit, controllers: [Routes] });
    const address = '203.0.113.5';
    expect(await statuses(app, '/', 3, as(address, via('192.0.2.1').headers))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/', 3, via(address))).toEqual([200, 200, 429]);
  });

  it('gives tiers by a function of the call', async () => {
    const seen: Call[] = [];
    @Controller()
    @UseGuards(HeaderAuth)
    class Routes {
      @Get()
      @Throttle({
        limit: (call) => {
          seen.push(call);
          return call.user === 'pro' ? 4 : 2;
        },
        per: '1m',
      })
      list(): void {}
    }
    const { rateLimit } = limits({ authGuard: HeaderAuth });
    const app = await start({ rateLimit, controllers: [Routes] });
    expect(await statuses(app, '/', 1, as('free'))).toEqual([200]);
    expect(await statuses(app, '/', 5, as('pro'))).toEqual([200, 200, 200, 200, 429]);
    expect(await statuses(app, '/', 2, as('free'))).toEqual([200, 429]);
    expect(seen[0]).toMatchObject({
      transport: 'http',
      address: '127.0.0.1',
      network: '127.0.0.1',
      user: 'free',
    });
    expect(seen[0].context?.getClass()).toBe(Routes);
    expect(seen[0].request).toHaveProperty('headers.x-user', 'free');
  });

  it('P02 keeps the last good limit, with one error, when its function gives none', async () => {
    let answer: () => unknown = () => 3;
    @Controller()
    class Routes {
      @Get()
      @Throttle({ limit: () => answer() as number, per: '1m', name: 'tiers' })
      list(): void {}
    }
    const app = await start({ ...limits(), controllers: [Routes] });
    expect(await statuses(app, '/', 1)).toEqual([200]);
    answer = () => 0;
    expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
    const errors = app.log.own('error');
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain('tiers.limit');
    answer = () => {
      throw new Error('no tiers');
    };
    expect(await statuses(app, '/', 5)).toEqual(Array(5).fill(429));
    expect(app.log.own('error')).toHaveLength(2);
    answer = () => 6;
    // Half of the bucket is what holds all three calls: GCRA keeps the share used.
    expect(await statuses(app, '/', 1)).toEqual([429]);
  });

  it('allows one call a window until a function gave its first good limit', async () => {
    @Controller()
    class Routes {
      @Get()
      @Throttle({ limit: () => Number.NaN, per: '1m' })
      list(): void {}
    }
    const app = await start({ ...limits(), controllers: [Routes] });
    expect(await statuses(app, '/', 2)).toEqual([200, 429]);
  });

  describe('for every route', () => {
    @Controller()
    class Routes {
      @Get('a')
      a(): void {}

      @Get('b')
      b(): void {}

      @Get('own')
      @Throttle({ limit: 3, per: '1m' })
      own(): void {}
    }

    it('limits each that has none of its own', async () => {
      const { rateLimit } = limits({ throttle: { limit: 2, per: '1m' } });
      const app = await start({ rateLimit, controllers: [Routes] });
      expect(await statuses(app, '/a', 3)).toEqual([200, 200, 429]);
      expect(await statuses(app, '/b', 3)).toEqual([200, 200, 429]);
      expect(await statuses(app, '/own', 4)).toEqual([200, 200, 200, 429]);
      expect(await statuses(app, '/nope', 4)).toEqual([404, 404, 404, 404]);
    });

    it('limits by a list', async () => {
      const { clock, rateLimit } = limits({
        throttle: [
          { limit: 2, per: '1s', name: 'burst' },
          { limit: 3, per: '1m', name: 'sustained' },
        ],
      });
      const app = await start({ rateLimit, controllers: [Routes] });
      expect(await statuses(app, '/a', 3)).toEqual([200, 200, 429]);
      clock.advance('1s');
      expect(await statuses(app, '/a', 2)).toEqual([200, 429]);
    });

    it.each([{ name: 'all' }, {}])('shares one counter where it is shared, named %o', async (named) => {
      const { rateLimit } = limits({ throttle: { limit: 2, per: '1m', shared: true, ...named } });
      const app = await start({ rateLimit, controllers: [Routes] });
      expect(await statuses(app, '/a', 1)).toEqual([200]);
      expect(await statuses(app, '/b', 2)).toEqual([200, 429]);
    });

    it('comes from RATE_LIMIT_THROTTLE, and from ConfigService.set() at once', async () => {
      vi.stubEnv('RATE_LIMIT_THROTTLE', '2/1m');
      onTestFinished(() => void vi.unstubAllEnvs());
      const app = await start({
        ...limits(),
        controllers: [Routes],
        imports: [ConfigModule.forRoot({ ignoreEnvFile: true })],
      });
      const config = app.app.get(ConfigService, { strict: false });
      expect(await statuses(app, '/a', 3)).toEqual([200, 200, 429]);
      config.set('rateLimit.throttle', '4/1m');
      expect(await statuses(app, '/a', 1)).toEqual([429]);
      expect(await statuses(app, '/b', 5)).toEqual([200, 200, 200, 200, 429]);
      config.set('rateLimit.throttle', '0/1m');
      expect(await statuses(app, '/a', 1)).toEqual([429]);
      expect(app.log.own('error')).toHaveLength(1);
      config.set('rateLimit.throttle', null);
      expect(await statuses(app, '/a', 5)).toEqual([200, 200, 200, 200, 200]);
      expect(app.log.own('error')).toHaveLength(1);
    });

    it('is off when options say null, whatever the environment says', async () => {
      vi.stubEnv('RATE_LIMIT_THROTTLE', '2/1m');
      onTestFinished(() => void vi.unstubAllEnvs());
      const app = await start({ ...limits({ throttle: null }), controllers: [Routes] });
      expect(await statuses(app, '/a', 5)).toEqual(Array(5).fill(200));
    });

    it('D15 reads the settings once per check, so that no call sees half of an edit', async () => {
      class Flipping extends RateLimitSettings {
        reads = 0;

        override read(): LiveSettings {
          return { throttle: this.reads++ % 2 === 0 ? '100/1m' : '5/1s' };
        }
      }
      const settings = new Flipping();
      const app = await start({ ...limits({ settings }), controllers: [Routes] });
      const before = settings.reads;
      const policies = new Set<string>();
      for (let sent = 0; sent < 10; sent++) {
        const { headers } = await send(app, '/a');
        const window = Number(headers['ratelimit-reset']) <= 1 ? 's' : 'm';
        policies.add(`${String(headers['ratelimit-limit'])} ${window}`);
      }
      expect(settings.reads - before).toBe(10);
      expect([...policies].filter((policy) => policy.startsWith('5'))).toEqual(['5 s']);
    });
  });

  it('C08 counts rules of one period apart, and an edit of a limit keeps what was used', async () => {
    let limit = 100;
    @Controller()
    class Routes {
      @Get('a')
      @Throttle({ limit: () => limit, per: '1m' })
      a(): void {}

      @Get('b')
      @Throttle({ limit: 5, per: '1m' })
      b(): void {}

      @Get('c')
      @Throttle({ limit: () => limit, per: '1m', algorithm: 'fixed' })
      c(): void {}
    }
    const app = await start({ ...limits(), controllers: [Routes] });
    await statuses(app, '/a', 50);
    await statuses(app, '/c', 50);
    expect(await statuses(app, '/b', 6)).toEqual([200, 200, 200, 200, 200, 429]);
    limit = 60;
    const passed = async (path: string) =>
      (await statuses(app, path, 40)).filter((status) => status === 200).length;
    expect(await passed('/a')).toBe(30);
    expect(await passed('/c')).toBe(10);
  });

  it('skips what skipIf names, by the client that is vouched for', async () => {
    @Controller()
    class Routes {
      @Get()
      @Throttle({ limit: 1, per: '1m' })
      list(): void {}
    }
    const { rateLimit } = limits({
      perIp: { limit: 5, per: '1m' },
      trustedProxies: PROXY,
      skipIf: ({ address }) => address === '203.0.113.35',
    });
    const app = await start({ rateLimit, controllers: [Routes] });
    expect(await statuses(app, '/', 10, via('203.0.113.35'))).toEqual(Array(10).fill(200));
    expect((await send(app, '/', via('203.0.113.35'))).headers).not.toHaveProperty('ratelimit-limit');
    expect(await statuses(app, '/', 2, via('203.0.113.35, 198.51.100.7'))).toEqual([200, 429]);
  });

  it('skips nothing when skipIf is async by mistake, or throws', async () => {
    @Controller()
    class Routes {
      @Get()
      @Throttle({ limit: 2, per: '1m' })
      list(): void {}
    }
    for (const skipIf of [
      async () => true,
      () => Promise.reject(new Error('late')),
      () => 'yes',
      () => {
        throw new Error('no list');
      },
    ]) {
      const { rateLimit } = limits({ skipIf: skipIf as never });
      const app = await start({ rateLimit, controllers: [Routes] });
      expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
    }
  });

  it('D08 gives the same answers on both adapters, byte by byte', async () => {
    @Controller()
    class Routes {
      @Get()
      @Throttle({ limit: 1, per: '1m' })
      list(@Req() _request: unknown): string {
        return 'listed';
      }
    }
    const own = (answer: Awaited<ReturnType<typeof send>>) => ({
      status: answer.status,
      body: answer.body,
      headers: Object.fromEntries(
        Object.entries(answer.headers).filter(([name]) => /^(ratelimit|retry|cache)-/.test(name)),
      ),
    });
    const app = await start({ ...limits(), controllers: [Routes] });
    expect([own(await send(app, '/')), own(await send(app, '/'))]).toEqual([
      {
        status: 200,
        body: 'listed',
        headers: { 'ratelimit-limit': '1', 'ratelimit-remaining': '0', 'ratelimit-reset': '60' },
      },
      {
        status: 429,
        body: '{"statusCode":429,"message":"Too Many Requests","error":"Too Many Requests"}',
        headers: {
          'ratelimit-limit': '1',
          'ratelimit-remaining': '0',
          'ratelimit-reset': '60',
          'retry-after': '60',
          'cache-control': 'no-store',
        },
      },
    ]);
  });
});

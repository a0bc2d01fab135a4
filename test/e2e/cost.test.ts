import {
  Controller,
  Get,
  Injectable,
  Post,
  Scope,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import {
  ApiGuard,
  AuthInterceptor,
  Authenticator,
  Cost,
  MemoryStore,
  PublicTool,
  RateLimitSettings,
  Throttle,
  type Authentication,
  type Call,
  type LiveSettings,
  type RateLimitOptions,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp, type AppSetup, type RunningApp } from './support/app.js';
import { send, statuses, type Answer, type Sent } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

interface Requested {
  readonly headers: Record<string, string | undefined>;
}

@Injectable()
class Keys extends Authenticator {
  authenticate({ headers }: Requested): Authentication {
    const { 'x-api-key': key, 'x-user': user } = headers;
    if (user !== undefined) return { user };
    return key === undefined ? 'guest' : { key };
  }
}

const as = (key: string, headers: Record<string, string> = {}): Sent => ({
  headers: { 'x-api-key': key, ...headers },
});

/** What a test gives as the cost of its next calls. */
let given: (call: Call) => unknown = () => 1;
const dynamic = (call: Call): number => given(call) as number;

@Controller('reports')
@UseGuards(ApiGuard)
@Cost(2)
class Reports {
  @Get()
  list(): void {}

  @Get('big')
  @Cost(5)
  big(): void {}

  @Get('dynamic')
  @Cost(dynamic)
  dynamic(): void {}
}

class TestSettings extends RateLimitSettings {
  values: LiveSettings = { limits: { adminRatePerMin: 10 } };

  override read(): LiveSettings {
    return this.values;
  }
}

const LIMIT = 10;

describe.each(ADAPTERS)('@Cost() on %s', (adapter) => {
  checkNestVersion();

  async function start(
    setup: AppSetup,
    options: RateLimitOptions = {},
  ): Promise<RunningApp & { clock: FakeClock }> {
    const clock = new FakeClock();
    const running = await startApp(adapter, {
      ...setup,
      providers: [{ provide: Authenticator, useClass: Keys }, ...(setup.providers ?? [])],
      rateLimit: {
        perIp: null,
        store: new MemoryStore({ clock }),
        limits: { adminRatePerMin: LIMIT },
        ...options,
      },
    });
    return { ...running, clock };
  }

  const startReports = (options: RateLimitOptions = {}) => start({ controllers: [Reports] }, options);

  /** What a call cost, by what its answer says is left of a fresh key. */
  const paid = ({ headers }: Answer): number => LIMIT - Number(headers['ratelimit-remaining']);

  describe('charges', () => {
    it('what the controller says, or the handler, which wins', async () => {
      const app = await startReports();
      expect(paid(await send(app, '/reports', as('a')))).toBe(2);
      expect(paid(await send(app, '/reports/big', as('b')))).toBe(5);
      expect(await statuses(app, '/reports/big', 2, as('c'))).toEqual([200, 200]);
      expect(await statuses(app, '/reports', 1, as('c'))).toEqual([429]);
      expect(await statuses(app, '/reports', 6, { headers: { 'x-user': 'a' } })).toEqual([
        200, 200, 200, 200, 200, 429,
      ]);
    });

    it('what a function says of the call: by whom, with which request, on which handler', async () => {
      const app = await startReports();
      const seen: unknown[] = [];
      given = ({ key, user, address, transport, request, context }) => {
        seen.push([key, user, address, transport, context?.getHandler().name]);
        return Number((request as Requested).headers['x-rows']);
      };
      expect(paid(await send(app, '/reports/dynamic', as('a', { 'x-rows': '3' })))).toBe(3);
      expect(paid(await send(app, '/reports/dynamic', as('b', { 'x-rows': '7' })))).toBe(7);
      given = ({ user }) => (user === 'u' ? 4 : 9);
      expect(paid(await send(app, '/reports/dynamic', { headers: { 'x-user': 'u' } }))).toBe(4);
      expect(seen).toEqual([
        ['a', null, '127.0.0.1', 'http', 'dynamic'],
        ['b', null, '127.0.0.1', 'http', 'dynamic'],
      ]);
    });

    it('once per call: the function is asked once, and not for guests, who pay nothing', async () => {
      const app = await startReports();
      let asked = 0;
      given = () => ++asked;
      expect(await statuses(app, '/reports/dynamic', 1, as('a'))).toEqual([200]);
      expect(asked).toBe(1);
      expect(await statuses(app, '/reports/dynamic', 20)).toEqual(Array(20).fill(200));
      expect(asked).toBe(1);
    });

    it('throttles count calls, whatever they cost', async () => {
      @Controller()
      @UseGuards(ApiGuard)
      class Routes {
        @Get()
        @Cost(3)
        @Throttle({ limit: 3, per: '1m' })
        list(): void {}
      }
      const app = await start({ controllers: [Routes] });
      expect(await statuses(app, '/', 4, as('a'))).toEqual([200, 200, 200, 429]);
    });
  });

  describe('at decoration', () => {
    it.each([[-1], [0], [-0.5], [0.5], [NaN], [Infinity], [2 ** 53], ['5'], [null], [undefined], [{}]])(
      'I04 %o is refused',
      (cost) => {
        const decorate = (): Type => {
          class Routes {
            @Cost(cost as never)
            run(): void {}
          }
          return Routes;
        };
        expect(decorate).toThrow(/@Cost\(\) on Routes\.run[^]*cost is .*: give a whole number above 0/);
      },
    );
  });

  describe('at run time', () => {
    it.each<[string, () => unknown, number, string]>([
      ['NaN', () => NaN, 1, 'it is NaN, not above 0'],
      ['undefined', () => undefined, 1, 'it is undefined, no number'],
      ['null', () => null, 1, 'it is null, no number'],
      ['0', () => 0, 1, 'it is 0, not above 0'],
      ['-100', () => -100, 1, 'it is -100, not above 0'],
      ['-0.5', () => -0.5, 1, 'it is -0.5, not above 0'],
      ['-Infinity', () => -Infinity, 1, 'it is -Infinity, not above 0'],
      ["'5'", () => '5', 1, 'it is a string, no number'],
      ['a promise', () => Promise.reject(new Error('late')), 1, 'it is a promise, no number'],
      ['2.1', () => 2.1, 3, 'it is 2.1, no whole number'],
    ])(
      'I04 %s is neither free nor a credit, and the log has it once',
      async (_what, cost, charged, problem) => {
        const app = await startReports();
        given = () => 4;
        await send(app, '/reports/dynamic', as('a'));
        given = cost;
        expect(paid(await send(app, '/reports/dynamic', as('a')))).toBe(4 + charged);
        expect(paid(await send(app, '/reports/dynamic', as('a')))).toBe(4 + 2 * charged);
        expect(app.log.own('error')).toEqual([
          `@Cost() on Reports.dynamic: ${problem}. ${charged} is charged`,
        ]);
      },
    );

    it('I04 a function that throws costs 1, and what it threw is not in the log', async () => {
      const app = await startReports();
      given = () => {
        throw new RangeError('SECRET');
      };
      const answer = await send(app, '/reports/dynamic', as('a'));
      expect([answer.status, paid(answer)]).toEqual([200, 1]);
      expect(app.log.own('error')).toEqual(['@Cost() on Reports.dynamic: it threw RangeError. 1 is charged']);
    });

    it.each([2 ** 53, Infinity])('I04 %d is refused for ever, and nothing is charged', async (cost) => {
      const app = await startReports();
      given = () => cost;
      const refused = await send(app, '/reports/dynamic', as('a'));
      expect(refused.status).toBe(429);
      expect(refused.headers).not.toHaveProperty('retry-after');
      given = () => LIMIT;
      expect(await statuses(app, '/reports/dynamic', 1, as('a'))).toEqual([200]);
    });
  });

  describe('above the limit', () => {
    @Controller()
    @UseGuards(ApiGuard)
    class Huge {
      @Get()
      @Cost(11)
      export(): void {}

      @Get('small')
      small(): void {}
    }

    it('I01 it can never pass and says so, charges nothing, and passes once the limit is raised', async () => {
      const settings = new TestSettings();
      const app = await start({ controllers: [Huge] }, { settings, limits: {} });
      const never = await send(app, '/', as('a'));
      expect([never.status, JSON.parse(never.body).message]).toEqual([
        429,
        'Too Many Requests: the call costs 11, the limit is 10',
      ]);
      expect(never.headers).not.toHaveProperty('retry-after');
      app.clock.advance('60s');
      expect(await statuses(app, '/', 1, as('a'))).toEqual([429]);
      expect(paid(await send(app, '/small', as('a')))).toBe(1);
      // Not now, as opposed to never.
      await statuses(app, '/small', 9, as('a'));
      expect((await send(app, '/small', as('a'))).headers['retry-after']).toBe('60');
      settings.values = { limits: { adminRatePerMin: 21 } };
      expect(await statuses(app, '/', 2, as('a'))).toEqual([200, 429]);
      expect((await send(app, '/', as('a'))).headers['retry-after']).toBe('60');
    });

    it('I01 a public tool that its network can’t pay has no wait either', async () => {
      @Controller()
      class Tool {
        @Post()
        @PublicTool('session')
        @Cost(11)
        run(): void {}
      }
      const app = await start(
        { controllers: [Tool] },
        { limits: { publicIpRatePerMin: 10, publicTokenRatePerMin: 100 } },
      );
      const never = await send(app, '/', { method: 'POST' });
      expect([never.status, JSON.parse(never.body).message]).toEqual([
        429,
        'Too Many Requests: the call costs 11, the limit is 10',
      ]);
      expect(never.headers).not.toHaveProperty('retry-after');
    });

    it('I01 the boot warns of it', async () => {
      const app = await start({ controllers: [Huge] });
      expect(app.log.own('warn')).toEqual([
        '@Cost() on Huge.export is 11, but a limit is 10: such calls never pass as it stands',
      ]);
      const enough = await start({ controllers: [Huge] }, { limits: { adminRatePerMin: 11 } });
      expect(enough.log.own('warn')).toEqual([]);
    });
  });

  describe('that nothing counts', () => {
    @Controller('a')
    class Alone {
      @Get()
      @Cost(5)
      @Throttle({ limit: 5, per: '1m' })
      list(): void {}

      @Get('b')
      other(): void {}
    }

    @Controller('b')
    @Cost(5)
    class Whole {
      @Get()
      list(): void {}

      @Get('b')
      other(): void {}
    }

    const uncounted = (where: string): string =>
      `@Cost() on ${where} is charged to nobody: bind AuthInterceptor or ApiGuard, or make it a @PublicTool()`;

    it('D14 is named at boot, once per decorator', async () => {
      const app = await start({ controllers: [Alone, Whole, Reports] });
      expect(app.log.own('warn')).toEqual([uncounted('Alone.list'), uncounted('Whole')]);
    });

    it('D14 an own guard with preauth counts no units either', async () => {
      @Injectable()
      class Auth implements CanActivate {
        canActivate(): boolean {
          return true;
        }
      }
      const app = await start(
        { controllers: [Alone], providers: [{ provide: APP_GUARD, useClass: Auth }] },
        { authGuard: Auth, preauth: true },
      );
      expect(app.log.own('warn')).toEqual([uncounted('Alone.list')]);
    });

    it('D14 on what is no route is named too', async () => {
      @Injectable()
      class Jobs {
        @Cost(5)
        run(): void {}
      }
      const app = await start({ providers: [Jobs] });
      expect(app.log.own('warn')).toEqual([
        '@Cost() on Jobs.run limits nothing: it is no route of a controller',
      ]);
    });

    it.each<[string, AppSetup]>([
      ['APP_GUARD', { providers: [{ provide: APP_GUARD, useClass: ApiGuard }] }],
      ['APP_INTERCEPTOR', { providers: [{ provide: APP_INTERCEPTOR, useClass: AuthInterceptor }] }],
      [
        'a request-scoped APP_INTERCEPTOR',
        { providers: [{ provide: APP_INTERCEPTOR, useClass: AuthInterceptor, scope: Scope.REQUEST }] },
      ],
      [
        'a request-scoped APP_GUARD',
        { providers: [{ provide: APP_GUARD, useClass: ApiGuard, scope: Scope.REQUEST }] },
      ],
    ])('what %s counts is not named, and is counted', async (_where, setup) => {
      const app = await start({ ...setup, controllers: [Whole] });
      expect(app.log.own('warn')).toEqual([]);
      expect(await statuses(app, '/b', 3, as('a'))).toEqual([200, 200, 429]);
    });

    it('what a class that extends the entry counts is not named, and is counted', async () => {
      @Injectable()
      class MyGuard extends ApiGuard {}
      @Injectable()
      class MyInterceptor extends AuthInterceptor {}
      @Controller('c')
      class Routes {
        @Get('guard')
        @UseGuards(MyGuard)
        @Cost(10)
        guarded(): void {}

        @Get('interceptor')
        @UseInterceptors(MyInterceptor)
        @Cost(10)
        intercepted(): void {}
      }
      const app = await start({ controllers: [Routes] });
      expect(app.log.own('warn')).toEqual([]);
      expect(await statuses(app, '/c/guard', 2, as('a'))).toEqual([200, 429]);
      expect(await statuses(app, '/c/interceptor', 2, as('b'))).toEqual([200, 429]);
    });
  });

  it('the boot report says what each call costs, whom, and where it is counted', async () => {
    @Controller('tools')
    class Tools {
      @Post('search')
      @PublicTool('session')
      @Cost(5)
      search(): void {}

      @Post('mixed')
      @UseGuards(ApiGuard)
      @PublicTool('session')
      @Cost(dynamic)
      @Throttle({ limit: 30, per: '1m' })
      mixed(): void {}
    }
    const app = await start({ controllers: [Reports, Tools] });
    const report = app.log.own('log').find((line) => line.startsWith('per IP:')) ?? '';
    expect(report.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['per IP: off'],
      ['route', 'limits', 'counted'],
      ['GET /reports', 'cost 2 by key or user', 'where its Authenticator lets it in'],
      ['GET /reports/big', 'cost 5 by key or user', 'where its Authenticator lets it in'],
      ['GET /reports/dynamic', 'cost dynamic by key or user', 'where its Authenticator lets it in'],
      ['POST /tools/search', 'cost 5 by client token and network', 'behind all global guards'],
      [
        'POST /tools/mixed',
        '30/1m by user + cost dynamic by key or user, else by client token and network',
        'where its Authenticator lets it in',
      ],
    ]);
  });
});

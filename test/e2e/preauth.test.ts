import {
  BadRequestException,
  Controller,
  ForbiddenException,
  Get,
  Inject,
  Injectable,
  NotFoundException,
  Post,
  Scope,
  ServiceUnavailableException,
  UnauthorizedException,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { Test } from '@nestjs/testing';
import { EMPTY, of, throwError } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ChargeFailures,
  MemoryStore,
  RateLimitModule,
  Throttle,
  type GuardType,
  type RateLimitOptions,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, createAdapter, failedBoot, startApp, type AppSetup } from './support/app.js';
import { send, statuses, type Sent } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

type Answer = ReturnType<CanActivate['canActivate']>;

/** What each guard is asked about, by the name that a request gives. */
const ANSWERS: Record<string, () => Answer> = {
  'throws 401': () => {
    throw new UnauthorizedException('bad token');
  },
  'throws 403': () => {
    throw new ForbiddenException('bad token');
  },
  'throws a 401 of another library': () => {
    throw Object.assign(new Error('bad token'), { status: 401, statusCode: 401, expose: true });
  },
  'is false': () => false,
  'rejects with 401': () => Promise.reject(new UnauthorizedException('bad token')),
  'promises false': () => Promise.resolve(false),
  'an Observable of false': () => of(true, false),
  'an Observable that fails': () => throwError(() => new UnauthorizedException('bad token')),
  'throws 400': () => {
    throw new BadRequestException();
  },
  'throws 404': () => {
    throw new NotFoundException();
  },
  'throws 503': () => {
    throw new ServiceUnavailableException();
  },
  'throws a bug': () => {
    throw new Error('a bug');
  },
  'an Observable of nothing': () => EMPTY,
};

/** An app's own guard: lets in who sends `good`, else answers as the request says. */
@Injectable()
class Auth implements CanActivate {
  runs = 0;

  canActivate(context: ExecutionContext): Answer {
    this.runs++;
    const request = context.switchToHttp().getRequest();
    const { authorization, 'x-fail': fails = 'throws 401' } = request.headers;
    if (authorization !== 'good') return ANSWERS[fails]();
    request.user = { id: 'u' };
    return true;
  }
}

const NETWORK = '203.0.113.5';

/** A request from a network. */
function by(authorization: string | null, headers: Record<string, string> = {}, from = NETWORK): Sent {
  const auth: Record<string, string> = authorization === null ? {} : { authorization };
  return { headers: { 'x-forwarded-for': from, ...auth, ...headers } };
}

const BAD = by('bad');
const GOOD = by('good');

function limits(options: RateLimitOptions = {}): RateLimitOptions {
  return {
    perIp: null,
    trustedProxies: ['127.0.0.1'],
    store: new MemoryStore({ clock: new FakeClock() }),
    limits: { adminPreauthFailPerMin: 3 },
    ...options,
  };
}

const preauth = (authGuard: RateLimitOptions['authGuard'] = Auth): RateLimitOptions =>
  limits({ authGuard, preauth: true });

/** Routes behind guards of the controller, or of the method. */
function routes(...guards: (GuardType | CanActivate)[]): Type {
  @Controller()
  @UseGuards(...guards)
  class Routes {
    @Get()
    list(): void {}

    @Post()
    create(): void {}
  }
  return Routes;
}

function methodRoutes(...guards: (GuardType | CanActivate)[]): Type {
  @Controller()
  class Routes {
    @Get()
    @UseGuards(...guards)
    list(): void {}

    @Get('open')
    open(): void {}
  }
  return Routes;
}

describe.each(ADAPTERS)('failures of an app’s own guard on %s', (adapter) => {
  checkNestVersion();

  const start = (setup: AppSetup) => startApp(adapter, setup);

  /** The two ways to say whose failures count. */
  const WAYS: readonly [string, AppSetup][] = [
    ['preauth: true', { rateLimit: preauth(), controllers: [routes(Auth)] }],
    ['ChargeFailures(X)', { rateLimit: limits(), controllers: [routes(ChargeFailures(Auth))] }],
  ];

  /** Settings with a store of their own. */
  const fresh = (setup: AppSetup): AppSetup => ({
    ...setup,
    rateLimit: { ...setup.rateLimit, store: new MemoryStore({ clock: new FakeClock() }) },
  });

  describe.each(WAYS)('with %s', (_way, way) => {
    it.each([
      ['throws 401', 401],
      ['throws 403', 403],
      ['throws a 401 of another library', 401],
      ['is false', 403],
      ['rejects with 401', 401],
      ['promises false', 403],
      ['an Observable of false', 403],
      ['an Observable that fails', 401],
    ])('a guard that %s fails three times, then 429', async (fails, status) => {
      const app = await start(fresh(way));
      const failing = by('bad', { 'x-fail': fails });
      expect(await statuses(app, '/', 5, failing)).toEqual([status, status, status, 429, 429]);
      const refused = await send(app, '/', failing);
      expect(refused.headers['retry-after']).toBe('60');
      expect(refused.headers).not.toHaveProperty('ratelimit-limit');
      expect(await statuses(app, '/', 1, by('bad', { 'x-fail': fails }, '198.51.100.1'))).toEqual([status]);
    });

    it.each([
      ['throws 400', 400],
      ['throws 404', 404],
      ['throws 503', 503],
      ['throws a bug', 500],
      ['an Observable of nothing', 500],
    ])('J16 a guard that %s has not failed to authenticate', async (fails, status) => {
      const app = await start(fresh(way));
      expect(await statuses(app, '/', 5, by('bad', { 'x-fail': fails }))).toEqual(Array(5).fill(status));
      expect(await statuses(app, '/', 4, BAD)).toEqual([401, 401, 401, 429]);
    });

    it('J05 J06 J08 the guard decides first: who authenticates passes, and takes no failure back', async () => {
      const app = await start(fresh(way));
      expect(await statuses(app, '/', 20, GOOD)).toEqual(Array(20).fill(200));
      expect(await statuses(app, '/', 2, BAD)).toEqual([401, 401]);
      expect(await statuses(app, '/', 1, GOOD)).toEqual([200]);
      expect(await statuses(app, '/', 2, BAD)).toEqual([401, 429]);
      expect(await statuses(app, '/', 1, GOOD)).toEqual([200]);
      expect(await statuses(app, '/', 1, BAD)).toEqual([429]);
    });

    it('J07 refused failures are not counted: the next minute begins afresh', async () => {
      const clock = new FakeClock();
      const app = await start({
        ...way,
        rateLimit: { ...way.rateLimit, store: new MemoryStore({ clock }) },
      });
      expect(await statuses(app, '/', 50, BAD)).toEqual([401, 401, 401, ...Array(47).fill(429)]);
      clock.advance('59s');
      expect(await statuses(app, '/', 50, BAD)).toEqual(Array(50).fill(429));
      clock.advance('1s');
      expect(await statuses(app, '/', 4, BAD)).toEqual([401, 401, 401, 429]);
    });

    it('J13 of 50 parallel guesses no more are answered than the limit', async () => {
      const app = await start(fresh(way));
      const guess = by('bad', { 'x-fail': 'rejects with 401' });
      const answers = await Promise.all(Array.from({ length: 50 }, () => send(app, '/', guess)));
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(3);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(47);
    });

    it('what it throws is answered as it is', async () => {
      const app = await start(fresh(way));
      expect(JSON.parse((await send(app, '/', BAD)).body)).toEqual({
        statusCode: 401,
        message: 'bad token',
        error: 'Unauthorized',
      });
    });

    it('a call without a credential is no guess, even from an exhausted network', async () => {
      const app = await start(fresh(way));
      expect(await statuses(app, '/', 6, by(null))).toEqual(Array(6).fill(401));
      expect(await statuses(app, '/', 4, BAD)).toEqual([401, 401, 401, 429]);
      expect(await statuses(app, '/', 2, by(null))).toEqual([401, 401]);
    });

    it.each<[string, string, Sent]>([
      ['a header', '/', by(null, { 'x-api-key': 'a' })],
      ['a cookie', '/', by(null, { cookie: 'theme=dark; connect.sid=a' })],
      ['a query parameter', '/?access_token=a', by(null)],
      [
        'a field of the body',
        '/',
        {
          method: 'POST',
          headers: { ...by(null).headers, 'content-type': 'application/json' },
          body: '{"password":"a"}',
        },
      ],
    ])('a guess may carry its credential in %s', async (_where, path, sent) => {
      const app = await start(fresh(way));
      expect(await statuses(app, path, 4, sent)).toEqual([401, 401, 401, 429]);
    });

    it('hasCredential says what a guess is; unless it says false the failure counts', async () => {
      const hasCredential = (context: ExecutionContext): boolean => {
        const { headers } = context.switchToHttp().getRequest();
        if (headers['x-odd'] === 'throw') throw new Error('a bug');
        if (headers['x-odd'] === 'async') return Promise.reject(new Error('late')) as never;
        return headers['x-badge'] !== undefined;
      };
      const app = await start(fresh({ ...way, rateLimit: { ...way.rateLimit, hasCredential } }));
      expect(await statuses(app, '/', 5, BAD)).toEqual(Array(5).fill(401));
      expect(await statuses(app, '/', 1, by(null, { 'x-badge': '7' }))).toEqual([401]);
      expect(await statuses(app, '/', 1, by(null, { 'x-odd': 'throw' }))).toEqual([401]);
      expect(await statuses(app, '/', 2, by(null, { 'x-odd': 'async' }))).toEqual([401, 429]);
      expect(app.log.own('warn').filter((line) => line.startsWith('hasCredential'))).toEqual([
        'hasCredential: hasCredential() threw Error: the failure is counted',
      ]);
    });

    it('on trial, and for calls that skipIf names, failures are answered as before', async () => {
      const trial = await start(fresh({ ...way, rateLimit: { ...way.rateLimit, dryRun: true } }));
      expect(await statuses(trial, '/', 6, BAD)).toEqual(Array(6).fill(401));
      const skipIf = () => true;
      const skipped = await start(fresh({ ...way, rateLimit: { ...way.rateLimit, skipIf } }));
      expect(await statuses(skipped, '/', 6, BAD)).toEqual(Array(6).fill(401));
    });
  });

  describe('wherever the guard stands', () => {
    const PLACES: readonly [string, () => AppSetup][] = [
      ['global, as a provider', () => ({ providers: [{ provide: APP_GUARD, useClass: Auth }] })],
      ['global, from main.ts', () => ({ main: (app) => void app.useGlobalGuards(new Auth()) })],
      ['on the controller', () => ({ controllers: [routes(Auth)] })],
      ['on the method', () => ({ controllers: [methodRoutes(Auth)] })],
      ['as an instance', () => ({ controllers: [routes(new Auth())] })],
    ];

    it.each(PLACES)('%s', async (_place, setup) => {
      const app = await start({ controllers: [routes()], ...setup(), rateLimit: preauth() });
      expect(await statuses(app, '/', 4, BAD)).toEqual([401, 401, 401, 429]);
      expect(await statuses(app, '/', 1, GOOD)).toEqual([200]);
    });

    it('several guards share the bucket of the network; others count nothing', async () => {
      class Other extends Auth {}
      class Roles implements CanActivate {
        canActivate(): boolean {
          return false;
        }
      }
      @Controller()
      class Routes {
        @Get('a')
        @UseGuards(Auth, Roles)
        a(): void {}

        @Get('b')
        @UseGuards(ChargeFailures(Other))
        b(): void {}
      }
      const app = await start({ controllers: [Routes], rateLimit: preauth() });
      expect(await statuses(app, '/a', 5, GOOD)).toEqual(Array(5).fill(403));
      expect(await statuses(app, '/a', 2, BAD)).toEqual([401, 401]);
      expect(await statuses(app, '/b', 2, BAD)).toEqual([401, 429]);
      expect(await statuses(app, '/a', 1, BAD)).toEqual([429]);
      expect(await statuses(app, '/a', 1, GOOD)).toEqual([403]);
    });

    it('a failure counts once per request, whatever asks the guard how often', async () => {
      @Injectable()
      class Twice implements CanActivate {
        constructor(@Inject(Auth) private readonly auth: CanActivate) {}

        async canActivate(context: ExecutionContext): Promise<boolean> {
          await Promise.resolve(this.auth.canActivate(context)).catch(() => {});
          return this.auth.canActivate(context) as boolean;
        }
      }
      const app = await start({
        providers: [Auth],
        controllers: [routes(Twice)],
        rateLimit: preauth([Auth, Twice]),
      });
      const failing = by('bad', { 'x-fail': 'rejects with 401' });
      expect(await statuses(app, '/', 4, failing)).toEqual([401, 401, 401, 429]);
      const both = await start({ controllers: [routes(ChargeFailures(Auth))], rateLimit: preauth() });
      expect(await statuses(both, '/', 4, BAD)).toEqual([401, 401, 401, 429]);
    });

    it('throttles still run right behind it, and failures cost them nothing', async () => {
      @Controller()
      class Routes {
        @Get()
        @UseGuards(ChargeFailures(Auth))
        @Throttle({ limit: 2, per: '1m' })
        list(): void {}
      }
      for (const rateLimit of [preauth(), limits({ authGuard: Auth })]) {
        const app = await start({ controllers: [Routes], rateLimit });
        expect(await statuses(app, '/', 3, BAD)).toEqual([401, 401, 401]);
        expect(await statuses(app, '/', 3, GOOD)).toEqual([200, 200, 429]);
      }
    });
  });

  describe('guards of Passport', () => {
    /** What Passport adds to a strategy for each request. */
    interface Outcome {
      success(user: unknown): void;
      fail(status: number): void;
    }

    class BearerStrategy {
      readonly name = 'bearer';

      authenticate(this: Outcome, request: { headers: Record<string, string | undefined> }): void {
        if (request.headers.authorization === 'good') this.success({ id: 'u' });
        else this.fail(401);
      }
    }

    @Injectable()
    class Bearer extends PassportStrategy(BearerStrategy, 'bearer') {
      validate(): void {}
    }

    @Injectable()
    class BearerGuard extends AuthGuard('bearer') {}

    it.each<[string, RateLimitOptions, GuardType]>([
      ['named in authGuard', preauth(AuthGuard('bearer')), AuthGuard('bearer')],
      ['extended', preauth(BearerGuard), BearerGuard],
      ['on one route', limits(), ChargeFailures(AuthGuard('bearer'))],
      ['extended, on one route', limits(), ChargeFailures(BearerGuard)],
    ])('are protected without being touched: %s', async (_how, rateLimit, guard) => {
      const app = await start(
        fresh({ imports: [PassportModule], providers: [Bearer], controllers: [routes(guard)], rateLimit }),
      );
      expect(await statuses(app, '/', 3, by(null))).toEqual([401, 401, 401]);
      expect(await statuses(app, '/', 5, BAD)).toEqual([401, 401, 401, 429, 429]);
      expect(await statuses(app, '/', 1, GOOD)).toEqual([200]);
      expect(await statuses(app, '/', 1, BAD)).toEqual([429]);
    });
  });

  describe('ChargeFailures(X)', () => {
    @Injectable()
    class Tokens {
      readonly good = 'good';
    }

    @Injectable()
    class Injected implements CanActivate {
      constructor(private readonly tokens: Tokens) {}

      canActivate(context: ExecutionContext): boolean {
        return context.switchToHttp().getRequest().headers.authorization === this.tokens.good;
      }
    }

    @Injectable({ scope: Scope.REQUEST })
    class PerRequest extends Injected {
      constructor(@Inject(Tokens) tokens: Tokens) {
        super(tokens);
      }
    }

    it.each([
      ['default', Injected],
      ['request', PerRequest],
    ])('has what X is injected with, in its scope: %s', async (_scope, guard) => {
      const app = await start({
        providers: [Tokens],
        controllers: [routes(ChargeFailures(guard))],
        rateLimit: limits(),
      });
      expect(await statuses(app, '/', 4, BAD)).toEqual([403, 403, 403, 429]);
      expect(await statuses(app, '/', 1, GOOD)).toEqual([200]);
    });

    it('leaves routes that list X itself alone', async () => {
      @Controller()
      class Routes {
        @Get('a')
        @UseGuards(ChargeFailures(Auth))
        a(): void {}

        @Get('b')
        @UseGuards(Auth)
        b(): void {}
      }
      const app = await start({ controllers: [Routes], rateLimit: limits() });
      expect(await statuses(app, '/a', 4, BAD)).toEqual([401, 401, 401, 429]);
      expect(await statuses(app, '/b', 4, BAD)).toEqual(Array(4).fill(401));
    });

    it('without the module answers a failure with what is missing', async () => {
      const app = await start({ controllers: [routes(ChargeFailures(Auth))], rateLimit: null });
      expect(await statuses(app, '/', 1, GOOD)).toEqual([200]);
      expect(await statuses(app, '/', 1, BAD)).toEqual([500]);
      expect(app.log.all.map(({ message }) => message).join('\n')).toContain(
        'ChargeFailures() needs RateLimitModule.forRoot() in the app',
      );
    });
  });

  describe('at boot', () => {
    it('a request-scoped guard that preauth can’t reach fails with the way out', async () => {
      @Injectable({ scope: Scope.REQUEST })
      class PerRequest extends Auth {}
      const error = await failedBoot(adapter, {
        controllers: [routes(PerRequest)],
        rateLimit: preauth(PerRequest),
      });
      expect(error.message).toContain('authGuard PerRequest is made anew for each request');
    });

    it('preauth without a guard fails, as it would protect nothing', async () => {
      const error = await failedBoot(adapter, { rateLimit: limits({ preauth: true }) });
      expect(error.message).toContain('preauth is true, but authGuard names no guard');
    });

    it('without preauth nothing is counted', async () => {
      const app = await start({ controllers: [routes(Auth)], rateLimit: limits({ authGuard: Auth }) });
      expect(await statuses(app, '/', 6, BAD)).toEqual(Array(6).fill(401));
    });
  });

  describe('overrideGuard() in a testing module', () => {
    const fake: CanActivate = {
      canActivate: (context) => context.switchToHttp().getRequest().headers.authorization === 'fake',
    };

    it.each<[string, GuardType, AppSetup]>([
      ['X', Auth, { rateLimit: preauth(), controllers: [routes(Auth)] }],
      [
        'ChargeFailures(X)',
        ChargeFailures(Auth),
        { rateLimit: limits(), controllers: [routes(ChargeFailures(Auth))] },
      ],
    ])('replaces %s', async (name, guard, way) => {
      const setup = fresh(way);
      const testing = await Test.createTestingModule({
        imports: [RateLimitModule.forRoot(setup.rateLimit ?? {})],
        controllers: setup.controllers,
      })
        .overrideGuard(guard)
        .useValue(fake)
        .compile();
      const app = testing.createNestApplication(createAdapter(adapter), { logger: false });
      onTestFinished(() => app.close());
      await app.listen(0, '127.0.0.1');
      const target = { port: app.getHttpServer().address().port };
      expect(await statuses(target, '/', 1, by('fake'))).toEqual([200]);
      // In the place of X its failures count; in the place of ChargeFailures(X) nothing counts.
      expect(await statuses(target, '/', 4, GOOD)).toEqual([403, 403, 403, name === 'X' ? 429 : 403]);
    });
  });
});

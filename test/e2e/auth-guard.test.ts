import { runInNewContext } from 'node:vm';
import {
  Controller,
  ForbiddenException,
  Get,
  Inject,
  Injectable,
  Module,
  Scope,
  UnauthorizedException,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, NestFactory, REQUEST } from '@nestjs/core';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { of, throwError } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  MemoryStore,
  PerIpGuard,
  RateLimitModule,
  Throttle,
  ThrottleGuard,
  type RateLimitOptions,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import {
  ADAPTERS,
  createAdapter,
  failedBoot,
  startApp,
  type AppSetup,
  type RunningApp,
} from './support/app.js';
import { send, statuses, via } from './support/client.js';
import { LogLines } from './support/log-lines.js';
import { checkNestVersion } from './support/nest-version.js';

/** Signs in whoever the header names: an object where it starts with a brace. 401 without the header. */
@Injectable()
class HeaderAuth implements CanActivate {
  runs = 0;

  canActivate(context: ExecutionContext): boolean {
    this.runs++;
    const request = context.switchToHttp().getRequest();
    const named: string | undefined = request.headers['x-user'];
    if (named === undefined) throw new UnauthorizedException();
    request.user = named.startsWith('{') ? JSON.parse(named) : { id: named };
    return true;
  }
}

/** Lets guests in, who have no user. */
@Injectable()
class OptionalAuth extends HeaderAuth {
  override canActivate(context: ExecutionContext): boolean {
    if (context.switchToHttp().getRequest().headers['x-user'] === undefined) return true;
    return super.canActivate(context);
  }
}

/** A role guard that nobody passes. */
@Injectable()
class Forbid implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

/** Promises that are no `instanceof Promise`, as of another library or, in Jest, of Node itself. */
const foreignPromise: PromiseConstructor = runInNewContext('Promise');

const PROXY = ['127.0.0.1'];
const as = (user: string) => ({ headers: { 'x-user': user } });

function limits(options: RateLimitOptions = {}): RateLimitOptions {
  return {
    perIp: null,
    store: new MemoryStore({ clock: new FakeClock() }),
    authGuard: HeaderAuth,
    ...options,
  };
}

/** A controller of one throttled route behind guards. */
function routes(...guards: Parameters<typeof UseGuards>): Type {
  @Controller()
  @UseGuards(...guards)
  class Routes {
    @Get()
    @Throttle({ limit: 2, per: '1m' })
    list(): string {
      return 'listed';
    }
  }
  return Routes;
}

/** The throttle runs behind authentication: users of one address are counted apart, refused guests not at all. */
async function expectBehindAuth(app: RunningApp): Promise<void> {
  expect(await statuses(app, '/', 3, as('a'))).toEqual([200, 200, 429]);
  expect(await statuses(app, '/', 5)).toEqual(Array(5).fill(401));
  expect(await statuses(app, '/', 3, as('b'))).toEqual([200, 200, 429]);
}

/** A testing module's app, with what a test puts in the place of the app's guards. */
async function startTesting(
  adapter: (typeof ADAPTERS)[number],
  setup: AppSetup,
  override: (builder: TestingModuleBuilder) => TestingModuleBuilder,
): Promise<RunningApp> {
  @Module({
    imports: [RateLimitModule.forRoot(setup.rateLimit ?? {})],
    controllers: setup.controllers ?? [],
    providers: setup.providers ?? [],
  })
  class Tested {}
  const log = new LogLines();
  const testing = await override(Test.createTestingModule({ imports: [Tested] }))
    .setLogger(log)
    .compile();
  const app: INestApplication = testing.createNestApplication(createAdapter(adapter));
  onTestFinished(() => app.close());
  await app.listen(0, '127.0.0.1');
  return { app, port: app.getHttpServer().address().port, log };
}

checkNestVersion();

describe.each(ADAPTERS)('authGuard on %s', (adapter) => {
  const start = (setup: AppSetup) => startApp(adapter, setup);

  describe('is followed by the throttles wherever it stands', () => {
    const byPlace: [string, () => AppSetup][] = [
      [
        'APP_GUARD, useClass',
        () => ({ providers: [{ provide: APP_GUARD, useClass: HeaderAuth }], controllers: [routes()] }),
      ],
      [
        'APP_GUARD, useExisting',
        () => ({
          providers: [HeaderAuth, { provide: APP_GUARD, useExisting: HeaderAuth }],
          controllers: [routes()],
        }),
      ],
      [
        'APP_GUARD, useFactory',
        () => ({
          providers: [{ provide: APP_GUARD, useFactory: () => new HeaderAuth() }],
          controllers: [routes()],
        }),
      ],
      [
        'APP_GUARD, useValue',
        () => ({ providers: [{ provide: APP_GUARD, useValue: new HeaderAuth() }], controllers: [routes()] }),
      ],
      [
        'app.useGlobalGuards()',
        () => ({ controllers: [routes()], main: (app) => void app.useGlobalGuards(new HeaderAuth()) }),
      ],
      ['a controller', () => ({ controllers: [routes(HeaderAuth)] })],
      ['an instance on a controller', () => ({ controllers: [routes(new HeaderAuth())] })],
      [
        'a method',
        () => {
          @Controller()
          class Routes {
            @Get()
            @UseGuards(HeaderAuth)
            @Throttle({ limit: 2, per: '1m' })
            list(): void {}
          }
          return { controllers: [Routes] };
        },
      ],
      [
        'an instance on a method, above the throttle',
        () => {
          @Controller()
          class Routes {
            @Throttle({ limit: 2, per: '1m' })
            @UseGuards(new HeaderAuth())
            @Get()
            list(): void {}
          }
          return { controllers: [Routes] };
        },
      ],
      [
        'a subclass',
        () => {
          @Injectable()
          class Special extends HeaderAuth {}
          return { controllers: [routes(Special)] };
        },
      ],
      [
        'an instance of a subclass, globally',
        () => {
          class Special extends HeaderAuth {}
          return { controllers: [routes()], main: (app) => void app.useGlobalGuards(new Special()) };
        },
      ],
      [
        'a base class of controllers',
        () => {
          @UseGuards(HeaderAuth)
          abstract class Secured {}

          @Controller()
          class Routes extends Secured {
            @Get()
            @Throttle({ limit: 2, per: '1m' })
            list(): void {}
          }
          return { controllers: [Routes] };
        },
      ],
      [
        'a controller made for each request',
        () => {
          @Controller({ scope: Scope.REQUEST })
          @UseGuards(HeaderAuth)
          class Routes {
            @Get()
            @Throttle({ limit: 2, per: '1m' })
            list(): void {}
          }
          return { controllers: [Routes] };
        },
      ],
      [
        'a module of its own',
        () => {
          @Module({ controllers: [routes(HeaderAuth)] })
          class Feature {}
          return { imports: [Feature] };
        },
      ],
    ];
    it.each(byPlace)('as %s', async (_place, setup) => {
      await expectBehindAuth(await start({ rateLimit: limits(), ...setup() }));
      await expectBehindAuth(await start({ rateLimit: limits(), testing: true, ...setup() }));
    });

    it('twice, globally and on the controller: a call is counted once', async () => {
      const app = await start({
        rateLimit: limits(),
        providers: [{ provide: APP_GUARD, useClass: HeaderAuth }],
        controllers: [routes(HeaderAuth)],
      });
      await expectBehindAuth(app);
    });

    it('as one of two', async () => {
      @Injectable()
      class KeyAuth implements CanActivate {
        canActivate(context: ExecutionContext): boolean {
          const request = context.switchToHttp().getRequest();
          request.user = { id: `key-${request.headers['x-key']}` };
          return true;
        }
      }

      @Controller('keys')
      @UseGuards(KeyAuth)
      class Keys {
        @Get()
        @Throttle({ limit: 1, per: '1m' })
        list(): void {}
      }
      const app = await start({
        rateLimit: limits({ authGuard: [HeaderAuth, KeyAuth] }),
        controllers: [routes(HeaderAuth), Keys],
      });
      await expectBehindAuth(app);
      expect(await statuses(app, '/keys', 2, { headers: { 'x-key': '1' } })).toEqual([200, 429]);
      expect(await statuses(app, '/keys', 2, { headers: { 'x-key': '2' } })).toEqual([200, 429]);
    });
  });

  describe("and Passport's guards", () => {
    /** What Passport adds to a strategy for each request. */
    interface Outcome {
      success(user: unknown): void;
      fail(status: number): void;
    }

    /** Passport's own mechanism in the fewest lines: the user is whom the header names. */
    class HeaderStrategy {
      readonly name = 'header';

      authenticate(this: Outcome, request: { headers: Record<string, string | undefined> }): void {
        const id = request.headers['x-user'];
        if (id === undefined) this.fail(401);
        else this.success({ id });
      }
    }

    @Injectable()
    class HeaderPassport extends PassportStrategy(HeaderStrategy, 'header') {
      validate(): void {}
    }

    @Injectable()
    class JwtAuthGuard extends AuthGuard('header') {}
    const passport = { imports: [PassportModule], providers: [HeaderPassport] };

    it("AuthGuard('x') itself is one class wherever it is written", async () => {
      await expectBehindAuth(
        await start({
          ...passport,
          rateLimit: limits({ authGuard: AuthGuard('header') }),
          controllers: [routes(AuthGuard('header'))],
        }),
      );
    });

    it('a class that extends it, by its own name or that of the base', async () => {
      for (const authGuard of [JwtAuthGuard, AuthGuard('header')]) {
        await expectBehindAuth(
          await start({ ...passport, rateLimit: limits({ authGuard }), controllers: [routes(JwtAuthGuard)] }),
        );
        await expectBehindAuth(
          await start({
            ...passport,
            rateLimit: limits({ authGuard }),
            providers: [...passport.providers, { provide: APP_GUARD, useClass: JwtAuthGuard }],
            controllers: [routes()],
          }),
        );
      }
    });
  });

  describe('replaced in a testing module', () => {
    /** What a test signs everyone in with. */
    const fake: CanActivate = {
      canActivate: (context) => {
        const request = context.switchToHttp().getRequest();
        request.user = { id: `fake-${request.headers['x-user']}` };
        return true;
      },
    };

    @Injectable()
    class Special extends HeaderAuth {}

    async function expectBehindFake(app: RunningApp): Promise<void> {
      expect(await statuses(app, '/', 3, as('a'))).toEqual([200, 200, 429]);
      expect(await statuses(app, '/', 3, as('b'))).toEqual([200, 200, 429]);
      expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
    }

    it.each([HeaderAuth, Special])('overrideGuard(%o)', async (bound) => {
      const setup = () => ({ rateLimit: limits(), controllers: [routes(bound)] });
      await expectBehindFake(
        await startTesting(adapter, setup(), (builder) => builder.overrideGuard(bound).useValue(fake)),
      );

      @Injectable()
      class Fake implements CanActivate {
        canActivate = fake.canActivate;
      }
      await expectBehindFake(
        await startTesting(adapter, setup(), (builder) => builder.overrideGuard(bound).useClass(Fake)),
      );
      await expectBehindFake(
        await startTesting(adapter, setup(), (builder) =>
          builder.overrideGuard(bound).useFactory({ factory: () => new Fake() }),
        ),
      );
    });

    it('overrideProvider(X) where it is bound globally', async () => {
      await expectBehindFake(
        await startTesting(
          adapter,
          {
            rateLimit: limits(),
            providers: [HeaderAuth, { provide: APP_GUARD, useExisting: HeaderAuth }],
            controllers: [routes()],
          },
          (builder) => builder.overrideProvider(HeaderAuth).useValue(fake),
        ),
      );
    });

    it('overrideProvider(ThrottleGuard) switches route throttles off where no auth guard carries them', async () => {
      const app = await startTesting(
        adapter,
        { rateLimit: limits({ authGuard: null }), controllers: [routes()] },
        (builder) => builder.overrideProvider(ThrottleGuard).useValue({ canActivate: () => true }),
      );
      expect(await statuses(app, '/', 5)).toEqual(Array(5).fill(200));
    });
  });

  describe('however it answers', () => {
    const answers: [string, (allowed: boolean) => ReturnType<CanActivate['canActivate']>, number][] = [
      ['a boolean', (allowed) => allowed, 403],
      ['a promise', async (allowed) => allowed, 403],
      ['an Observable', (allowed) => of(allowed), 403],
      ['an Observable of several', (allowed) => of(!allowed, allowed), 403],
      ['a promise of an Observable', (allowed) => Promise.resolve(of(allowed)) as never, 403],
      ['nothing', (allowed) => (allowed ? true : undefined) as never, 403],
      [
        'a throw',
        (allowed) => {
          if (allowed) return true;
          throw new UnauthorizedException();
        },
        401,
      ],
      [
        'a rejection',
        async (allowed) => {
          if (allowed) return true;
          throw new UnauthorizedException();
        },
        401,
      ],
      [
        'an error of an Observable',
        (allowed) => (allowed ? of(true) : throwError(() => new ForbiddenException())),
        403,
      ],
    ];
    it.each(answers)('with %s: what it refuses is not counted', async (_kind, answer, refusal) => {
      @Injectable()
      class Answering implements CanActivate {
        canActivate(context: ExecutionContext): ReturnType<CanActivate['canActivate']> {
          const request = context.switchToHttp().getRequest();
          request.user = { id: request.headers['x-user'] ?? 'nobody' };
          return answer(request.headers['x-user'] !== undefined);
        }
      }
      for (const setup of [
        { controllers: [routes(Answering)] },
        { controllers: [routes()], providers: [{ provide: APP_GUARD, useClass: Answering }] },
      ]) {
        const app = await start({ rateLimit: limits({ authGuard: Answering }), ...setup });
        expect(await statuses(app, '/', 4)).toEqual(Array(4).fill(refusal));
        expect(await statuses(app, '/', 3, as('a'))).toEqual([200, 200, 429]);
        expect(await statuses(app, '/', 3, as('b'))).toEqual([200, 200, 429]);
      }
    });
  });

  it('counts what guards behind it refuse with 403, and nothing that it refuses with 401', async () => {
    const app = await start({ rateLimit: limits(), controllers: [routes(HeaderAuth, Forbid)] });
    expect(await statuses(app, '/', 5)).toEqual(Array(5).fill(401));
    expect(await statuses(app, '/', 3, as('a'))).toEqual([403, 403, 429]);
    expect(await statuses(app, '/', 3, as('b'))).toEqual([403, 403, 429]);
  });

  it('counts what global guards behind it refuse', async () => {
    const app = await start({
      rateLimit: limits(),
      providers: [HeaderAuth, Forbid].map((guard) => ({ provide: APP_GUARD, useClass: guard })),
      controllers: [routes()],
    });
    expect(await statuses(app, '/', 5)).toEqual(Array(5).fill(401));
    expect(await statuses(app, '/', 3, as('a'))).toEqual([403, 403, 429]);
    expect(await statuses(app, '/', 3, as('b'))).toEqual([403, 403, 429]);
  });

  it('counts guests that it lets in by their network', async () => {
    const app = await start({
      rateLimit: limits({ authGuard: OptionalAuth, trustedProxies: PROXY }),
      controllers: [routes(OptionalAuth)],
    });
    expect(await statuses(app, '/', 3, via('192.0.2.1'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/', 3, via('192.0.2.2'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/', 3, as('a'))).toEqual([200, 200, 429]);
  });

  describe('and who the user is', () => {
    /** A header can't carry all characters, its JSON can. */
    const user = (value: unknown) =>
      as(
        JSON.stringify(value).replaceAll(
          /[^\x20-\x7e]/g,
          (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
        ),
      );

    it('is found in id, sub and userId, in this order', async () => {
      const app = await start({ rateLimit: limits(), controllers: [routes(HeaderAuth)] });
      expect(await statuses(app, '/', 1, user({ id: 'a', sub: 'b' }))).toEqual([200]);
      expect(await statuses(app, '/', 1, user({ sub: 'a', userId: 'c' }))).toEqual([200]);
      expect(await statuses(app, '/', 1, user({ userId: 'a' }))).toEqual([429]);
      expect(await statuses(app, '/', 3, user({ id: 7 }))).toEqual([200, 200, 429]);
      expect(await statuses(app, '/', 1, user({ id: '7' }))).toEqual([429]);
      expect(await statuses(app, '/', 2, user({ id: 0 }))).toEqual([200, 200]);
      expect(app.log.own('warn')).toEqual([]);
    });

    it.each([{}, { id: null }, { id: '' }, { id: {} }, { id: true }, { email: 'a@x.example' }])(
      'is nobody, with one warning and the network counted, for %j',
      async (value) => {
        const app = await start({
          rateLimit: limits({ trustedProxies: PROXY }),
          controllers: [routes(HeaderAuth)],
        });
        const from = (client: string) => ({ headers: { ...user(value).headers, ...via(client).headers } });
        expect(await statuses(app, '/', 3, from('192.0.2.1'))).toEqual([200, 200, 429]);
        expect(await statuses(app, '/', 3, from('192.0.2.2'))).toEqual([200, 200, 429]);
        expect(app.log.own('warn')).toHaveLength(1);
        expect(app.log.own('warn')[0]).toContain('identify');
      },
    );

    it.each<[string, NonNullable<RateLimitOptions['identify']>]>([
      ['at once', (context) => context.switchToHttp().getRequest().headers['x-tenant']],
      ['later', async (context) => context.switchToHttp().getRequest().headers['x-tenant']],
      [
        'by a promise of another kind',
        (context) => foreignPromise.resolve(context.switchToHttp().getRequest().headers['x-tenant']),
      ],
    ])('is what identify() says %s', async (_when, identify) => {
      const app = await start({ rateLimit: limits({ identify }), controllers: [routes(HeaderAuth)] });
      const from = (tenant: string, id: string) => ({ headers: { 'x-tenant': tenant, 'x-user': id } });
      expect(await statuses(app, '/', 1, from('t1', 'a'))).toEqual([200]);
      expect(await statuses(app, '/', 2, from('t1', 'b'))).toEqual([200, 429]);
      expect(await statuses(app, '/', 2, from('t2', 'a'))).toEqual([200, 200]);
    });

    it.each<[string, NonNullable<RateLimitOptions['identify']>]>([
      [
        'throws',
        () => {
          throw new Error('no session');
        },
      ],
      ['rejects', () => Promise.reject(new Error('no session'))],
      ['gives no id', () => ({}) as never],
    ])('is nobody, with one warning, when identify() %s', async (_how, identify) => {
      const app = await start({
        rateLimit: limits({ identify, trustedProxies: PROXY }),
        controllers: [routes(OptionalAuth)],
      }).catch((error: unknown) => error);
      expect(app).not.toBeInstanceOf(Error);
      const running = app as RunningApp;
      expect(await statuses(running, '/', 3, via('192.0.2.1'))).toEqual([200, 200, 429]);
      expect(await statuses(running, '/', 1, via('192.0.2.2'))).toEqual([200]);
      expect(running.log.own('warn').filter((line) => line.startsWith('identify'))).toHaveLength(1);
    });

    it('C06 has a short key whatever the id, and a long one is never readable', async () => {
      const store = new MemoryStore({ clock: new FakeClock() });
      const keys: string[] = [];
      const { consume } = store;
      store.consume = (buckets) => {
        keys.push(...buckets.map(({ key }) => key));
        return consume.call(store, buckets);
      };
      const app = await start({ rateLimit: limits({ store }), controllers: [routes(HeaderAuth)] });
      const long = 'secret'.repeat(1_000);
      for (const id of [`${long}a`, `${long}b`, 'a b', '√ñ', '\u0000', 'plain']) {
        expect(await statuses(app, '/', 3, user({ id }))).toEqual([200, 200, 429]);
      }
      expect(new Set(keys).size).toBe(6);
      for (const key of keys) expect(key).toMatch(/^[\x21-\x7e]{1,64}$/);
      expect(keys.join()).not.toContain('secret');
      expect(keys).toContain('plain');
    });
  });

  describe('fails the boot', () => {
    it('when it is made anew for each request, and says what to do instead', async () => {
      @Injectable({ scope: Scope.REQUEST })
      class Scoped implements CanActivate {
        constructor(@Inject(REQUEST) readonly request: unknown) {}

        canActivate(): boolean {
          return true;
        }
      }

      @Injectable({ scope: Scope.TRANSIENT })
      class Transient extends HeaderAuth {}
      for (const guard of [Scoped, Transient]) {
        for (const setup of [
          { controllers: [routes(guard)] },
          { controllers: [routes()], providers: [{ provide: APP_GUARD, useClass: guard }] },
        ]) {
          const error = await failedBoot(adapter, { rateLimit: limits({ authGuard: guard }), ...setup });
          expect(error).toMatchObject({ code: 'TOLLGATE_BAD_CONFIGURATION' });
          expect(error.message).toContain(`authGuard ${guard.name} is made anew for each request`);
          expect(error.message).toContain(`@UseGuards(${guard.name}, ThrottleGuard)`);
        }
      }
      // The way out that the message names.
      @Injectable({ scope: Scope.REQUEST })
      class ScopedAuth extends HeaderAuth {}
      const app = await start({
        rateLimit: limits({ authGuard: null }),
        controllers: [routes(ScopedAuth, ThrottleGuard)],
      });
      await expectBehindAuth(app);
    });

    it('when it is bound nowhere', async () => {
      const error = await failedBoot(adapter, { rateLimit: limits(), controllers: [routes()] });
      expect(error).toMatchObject({ code: 'TOLLGATE_BAD_CONFIGURATION' });
      expect(error.message).toContain('authGuard HeaderAuth is bound nowhere');
    });
  });

  it('D12 counts in one store, also behind a guard made for each request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped implements CanActivate {
      constructor(@Inject(REQUEST) readonly request: unknown) {}

      canActivate(): boolean {
        return true;
      }
    }
    const once = RateLimitModule.forRoot({
      perIp: null,
      store: new MemoryStore({ clock: new FakeClock() }),
      throttle: { limit: 3, per: '1m', shared: true, name: 'all' },
    });
    const feature = (path: string): Type => {
      @Controller(path)
      @UseGuards(Scoped)
      class Routes {
        @Get()
        list(): void {}
      }

      @Module({ imports: [once], controllers: [Routes] })
      class Feature {}
      return Feature;
    };
    const app = await start({ rateLimit: null, imports: [feature('a'), feature('b'), feature('c'), once] });
    expect(await statuses(app, '/a', 1)).toEqual([200]);
    expect(await statuses(app, '/b', 1)).toEqual([200]);
    expect(await statuses(app, '/c', 2)).toEqual([200, 429]);
  });

  it('D12 fails the boot when forRoot() is called twice', async () => {
    const error = await failedBoot(adapter, {
      rateLimit: null,
      imports: [RateLimitModule.forRoot({ perIp: null }), RateLimitModule.forRoot({ throttle: null })],
    });
    expect(error.message).toContain('forRoot() is called twice');
  });

  describe('D01 a guard bound by the app too', () => {
    const setup = (
      authGuard: RateLimitOptions['authGuard'],
      throttleGuards: AppSetup['providers'],
    ): AppSetup => {
      const rateLimit = RateLimitModule.forRoot(limits({ authGuard, perIp: { limit: 100, per: '1m' } }));
      const feature = (path: string): Type => {
        @Controller(path)
        @UseGuards(PerIpGuard, ThrottleGuard, OptionalAuth, ThrottleGuard)
        class Routes {
          @Get()
          @UseGuards(ThrottleGuard)
          @Throttle({ limit: 4, per: '1m' })
          list(): void {}
        }

        @Module({ imports: [rateLimit], controllers: [Routes] })
        class Feature {}
        return Feature;
      };
      return { rateLimit: null, imports: [feature('a'), feature('b')], providers: throttleGuards };
    };

    it.each<[string, AppSetup['providers']]>([
      ['useClass', [{ provide: APP_GUARD, useClass: ThrottleGuard }]],
      ['useExisting', [{ provide: APP_GUARD, useExisting: ThrottleGuard }]],
      [
        'twice, with PerIpGuard',
        [
          { provide: APP_GUARD, useClass: PerIpGuard },
          { provide: APP_GUARD, useClass: ThrottleGuard },
          { provide: APP_GUARD, useClass: ThrottleGuard },
        ],
      ],
    ])('charges once: %s', async (_how, providers) => {
      for (const authGuard of [null, OptionalAuth]) {
        const app = await start(setup(authGuard, providers));
        for (const path of ['/a', '/b']) {
          const remaining: unknown[] = [];
          for (let sent = 0; sent < 5; sent++) {
            const { status, headers } = await send(app, path);
            remaining.push(`${status} ${String(headers['ratelimit-remaining'])}`);
          }
          expect(remaining).toEqual(['200 3', '200 2', '200 1', '200 0', '429 0']);
        }
      }
    });

    it('runs at the place where the app binds it among its global guards', async () => {
      const app = await start({
        rateLimit: limits({ authGuard: null }),
        providers: [
          { provide: APP_GUARD, useClass: HeaderAuth },
          { provide: APP_GUARD, useClass: ThrottleGuard },
          { provide: APP_GUARD, useClass: Forbid },
        ],
        controllers: [routes()],
      });
      expect(await statuses(app, '/', 4)).toEqual([401, 401, 401, 401]);
      expect(await statuses(app, '/', 3, as('a'))).toEqual([403, 403, 429]);
    });
  });

  it('leaves a handler that lists ThrottleGuard itself to that one', async () => {
    @Controller()
    @UseGuards(HeaderAuth)
    class Routes {
      @Get('early')
      @UseGuards(ThrottleGuard, Forbid)
      @Throttle({ limit: 2, per: '1m' })
      early(): void {}

      @Get('late')
      @UseGuards(Forbid, ThrottleGuard)
      @Throttle({ limit: 2, per: '1m' })
      late(): void {}
    }
    for (const authGuard of [HeaderAuth, null]) {
      const app = await start({ rateLimit: limits({ authGuard }), controllers: [Routes] });
      expect(await statuses(app, '/early', 3, as('a'))).toEqual([403, 403, 429]);
      expect(await statuses(app, '/early', 3, as('b'))).toEqual([403, 403, 429]);
      expect(await statuses(app, '/late', 4, as('a'))).toEqual([403, 403, 403, 403]);
      expect(app.log.own('warn')).toEqual([]);
    }
  });

  describe('without it', () => {
    it('throttles run behind all global guards', async () => {
      const app = await start({
        rateLimit: limits({ authGuard: null }),
        providers: [{ provide: APP_GUARD, useClass: HeaderAuth }],
        controllers: [routes()],
        main: (nest) => void nest.useGlobalGuards({ canActivate: (context) => isAllowed(context) }),
      });
      const isAllowed = (context: ExecutionContext) =>
        context.switchToHttp().getRequest().headers['x-user'] !== 'forbidden';
      expect(await statuses(app, '/', 4)).toEqual(Array(4).fill(401));
      expect(await statuses(app, '/', 4, as('forbidden'))).toEqual(Array(4).fill(403));
      expect(await statuses(app, '/', 3, as('a'))).toEqual([200, 200, 429]);
      expect(await statuses(app, '/', 3, as('b'))).toEqual([200, 200, 429]);
      expect(app.log.own('warn')).toEqual([]);
    });

    it('throttled handlers with guards of their own are named in a warning', async () => {
      @Controller()
      class Routes {
        @Get('throttled')
        @UseGuards(HeaderAuth)
        @Throttle({ limit: 2, per: '1m' })
        throttled(): void {}

        @Get('free')
        @UseGuards(HeaderAuth)
        free(): void {}

        @Get('open')
        @Throttle({ limit: 2, per: '1m' })
        open(): void {}
      }
      const app = await start({ rateLimit: limits({ authGuard: null }), controllers: [Routes] });
      const warnings = app.log.own('warn');
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('Routes.throttled');
      expect(warnings[0]).toContain('authGuard');
      // Nobody is told apart yet, but everyone is limited, failures included.
      expect(await statuses(app, '/throttled', 3)).toEqual([401, 401, 429]);
    });
  });

  describe('with several apps in one process', () => {
    it('two that share a guard class, and one instance of it, count each by itself', async () => {
      const shared = new HeaderAuth();
      const setup = () => ({ rateLimit: limits(), controllers: [routes(shared)] });
      const controllers = [routes(shared)];
      const first = await start({ rateLimit: limits(), controllers });
      const second = await start({ rateLimit: limits(), controllers });
      const third = await start(setup());
      for (const app of [first, second, third]) await expectBehindAuth(app);
      await second.app.close();
      expect(await statuses(first, '/', 1, as('c'))).toEqual([200]);
      expect(await statuses(first, '/', 2, as('c'))).toEqual([200, 429]);
    });

    it('many one after the other leave the guard as it was', async () => {
      const shared = new HeaderAuth();
      const { canActivate } = shared;
      for (let boot = 0; boot < 20; boot++) {
        const root = {
          module: class Root {},
          imports: [RateLimitModule.forRoot(limits())],
          controllers: [routes(shared)],
        };
        const app = await NestFactory.create(root, createAdapter(adapter), { logger: false });
        await app.init();
        expect(shared.canActivate).not.toBe(canActivate);
        await app.close();
      }
      expect(Object.keys(shared)).toEqual(['runs']);
      expect(shared.canActivate).toBe(canActivate);
      shared.runs = 0;
      const app = await start({ rateLimit: limits(), controllers: [routes(shared)] });
      expect(await statuses(app, '/', 3, as('a'))).toEqual([200, 200, 429]);
      expect(shared.runs).toBe(3);
    });
  });
});

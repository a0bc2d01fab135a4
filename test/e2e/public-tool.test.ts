import { createHash, randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { inspect } from 'node:util';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Post,
  Query,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ApiGuard,
  AuthInterceptor,
  Authenticator,
  Cost,
  MemoryStore,
  PublicTool,
  RateLimitEvents,
  RateLimitService,
  Throttle,
  type Authentication,
  type RateLimitOptions,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, failedBoot, startApp, type AppSetup, type RunningApp } from './support/app.js';
import { send, statuses, type Answer, type Sent } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

const NETWORK = '203.0.113.5';

/** A call with a client token in its input. */
function call(session?: unknown, from = NETWORK): Sent {
  return {
    method: 'POST',
    headers: { 'x-forwarded-for': from, 'content-type': 'application/json' },
    body: JSON.stringify(session === undefined ? {} : { session }),
  };
}

const from = (network = NETWORK): Sent => ({ headers: { 'x-forwarded-for': network } });

@Controller('tools')
class Tools {
  @Post('search')
  @HttpCode(200)
  @PublicTool('session')
  @Cost(3)
  search(@Body() { session }: { session?: unknown }): { session: unknown } {
    return { session: session ?? null };
  }

  @Get('lookup')
  @PublicTool('session')
  @Cost(3)
  lookup(@Query('session') session: string): { session: string } {
    return { session };
  }

  @Post('ping')
  @HttpCode(200)
  @PublicTool('session')
  ping(): void {}

  @Post('named')
  @HttpCode(200)
  @PublicTool(({ request }) => (request as { headers: Record<string, string> }).headers['x-client'])
  @Cost(3)
  named(): void {}
}

interface Started extends RunningApp {
  readonly store: MemoryStore;
  readonly clock: FakeClock;
  /** Units that a network has left, found without paying. */
  left(network?: string): Promise<number>;
}

describe.each(ADAPTERS)('public tools on %s', (adapter) => {
  checkNestVersion();

  async function start(
    numbers: RateLimitOptions['limits'] = {},
    setup: AppSetup = {},
    options: RateLimitOptions = {},
  ): Promise<Started> {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock });
    const running = await startApp(adapter, {
      controllers: [Tools],
      ...setup,
      rateLimit: {
        perIp: null,
        trustedProxies: ['127.0.0.1'],
        store,
        limits: { publicIpRatePerMin: 100, publicTokenRatePerMin: 6, ...numbers },
        ...options,
      },
    });
    const service = running.app.get(RateLimitService);
    const left = async (network = NETWORK): Promise<number> =>
      (await service.checkPublic(network, null, 1, 0)).remaining;
    return { ...running, store, clock, left };
  }

  it('I03 a refused call has cost its network the one unit from before the lookup, its token nothing', async () => {
    const app = await start();
    expect(await statuses(app, '/tools/search', 10, call('t'))).toEqual([200, 200, ...Array(8).fill(429)]);
    expect(await app.left()).toBe(86);
    // The token has paid for two calls, and has room for none; another token of the network has.
    expect(await statuses(app, '/tools/ping', 1, call('t'))).toEqual([429]);
    expect(await statuses(app, '/tools/search', 1, call('other'))).toEqual([200]);
    app.clock.advance('60s');
    expect(await statuses(app, '/tools/search', 3, call('t'))).toEqual([200, 200, 429]);
  });

  it('a call costs its price in each bucket: 1 unit before the guards, the rest and the token right before the handler', async () => {
    const seen: [string, number][] = [];
    let app: Started | null = null;
    @Injectable()
    class Lookup implements CanActivate {
      async canActivate(context: ExecutionContext): Promise<boolean> {
        seen.push(['guard', (await app?.left()) ?? NaN]);
        return context.switchToHttp().getRequest().headers['x-unknown'] === undefined;
      }
    }
    @Controller()
    @UseGuards(Lookup)
    class Routes {
      @Post()
      @PublicTool('session')
      @Cost(5)
      async run(): Promise<void> {
        seen.push(['handler', (await app?.left()) ?? NaN]);
      }
    }
    app = await start({}, { controllers: [Routes] });
    expect(await statuses(app, '/', 1, call('t'))).toEqual([201]);
    expect(seen).toEqual([
      ['guard', 99],
      ['handler', 95],
    ]);
    // What the guard turns away has paid for its lookup alone.
    const { headers, ...rest } = call('u');
    const unknown = { ...rest, headers: { ...headers, 'x-unknown': '1' } };
    expect(await statuses(app, '/', 3, unknown)).toEqual([403, 403, 403]);
    expect(await app.left()).toBe(92);
    expect(app.store.size).toBe(2);
  });

  it('a full network refuses before any guard is asked', async () => {
    let lookups = 0;
    class Lookup implements CanActivate {
      canActivate(): boolean {
        lookups++;
        return true;
      }
    }
    @Controller()
    @UseGuards(Lookup)
    class Routes {
      @Post()
      @PublicTool('session')
      run(): void {}
    }
    const app = await start({ publicIpRatePerMin: 3 }, { controllers: [Routes] });
    for (let i = 0; i < 6; i++) await send(app, '/', call(`t${i}`));
    expect(lookups).toBe(3);
    expect(await statuses(app, '/', 1, call('t', '198.51.100.1'))).toEqual([201]);
  });

  it('C10 invented tokens make no counters once their network is full', async () => {
    const app = await start({ publicIpRatePerMin: 3, publicTokenRatePerMin: 60 });
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    onTestFinished(() => agent.destroy());
    const calls = Array.from({ length: 1_000 }, () =>
      send(app, '/tools/ping', { ...call(randomUUID()), agent }),
    );
    const answers = (await Promise.all(calls)).map(({ status }) => status);
    expect(answers.filter((status) => status === 200)).toHaveLength(3);
    expect(answers.filter((status) => status === 429)).toHaveLength(997);
    // The network's, and those of the tokens that got in.
    expect(app.store.size).toBe(4);
  });

  it('C05 a token is kept as its digest, and what it says is nowhere to be read', async () => {
    const app = await start();
    const decided: unknown[] = [];
    app.app.get(RateLimitEvents).all$.subscribe((event) => void decided.push(event));
    const token = 'client-SECRET';
    await statuses(app, '/tools/search', 4, call(token));
    await statuses(app, `/tools/lookup?session=${token}`, 4, from());
    const everything = { depth: null, maxArrayLength: null, maxStringLength: null };
    const held = inspect(app.store, everything);
    const digest = createHash('sha256').update(Buffer.from(token, 'utf16le')).digest('base64url');
    expect(held).toContain(digest);
    expect(decided.length).toBeGreaterThan(8);
    for (const text of [held, inspect(app.log.all, everything), inspect(decided, everything)]) {
      expect(text).not.toContain('SECRET');
    }
  });

  it('C02 a token that looks like a user, a network or a digest is itself', async () => {
    const app = await start();
    for (const token of ['t', NETWORK, `#${createHash('sha256').update('t').digest('base64url')}`, '#t']) {
      expect(await statuses(app, '/tools/search', 3, call(token)), token).toEqual([200, 200, 429]);
    }
  });

  describe('the token', () => {
    it.each([[undefined], [''], [5], [null], [['t']], [{ a: 1 }], [true]])(
      'given as %j is none: the network alone is counted, at the full price',
      async (session) => {
        const app = await start();
        expect(await statuses(app, '/tools/search', 4, call(session))).toEqual(Array(4).fill(200));
        expect(await app.left()).toBe(88);
        expect(app.store.size).toBe(1);
      },
    );

    it('named by a field that clients don’t send is none either, nor is one of Object', async () => {
      @Controller()
      class Routes {
        @Post()
        @PublicTool('toString')
        run(): void {}
      }
      const app = await start({}, { controllers: [Routes] });
      expect(await statuses(app, '/', 8, call('t'))).toEqual(Array(8).fill(201));
      expect(app.store.size).toBe(1);
    });

    it('is a query parameter on GET and HEAD, where it is given once', async () => {
      const app = await start();
      const lookup = (query: string, method = 'GET') =>
        send(app, `/tools/lookup${query}`, { ...from(), method });
      expect((await lookup('?session=t')).status).toBe(200);
      expect((await lookup('?a=1&session=t', 'HEAD')).status).toBe(200);
      expect((await lookup('?session=%74')).status).toBe(429);
      expect((await lookup('?session=u')).status).toBe(200);
      expect(app.store.size).toBe(3);
      for (const query of ['', '?', '?session=', '?session=t&session=t']) {
        expect((await lookup(query)).status, query).toBe(200);
      }
      expect(app.store.size).toBe(3);
      // 4 calls of 3 units and the unit of a refused one before, 4 × 3 now.
      expect(await app.left()).toBe(100 - 3 * 3 - 1 - 4 * 3);
    });

    it('is what a function of the call finds', async () => {
      const app = await start();
      const named = (client: string): Sent => {
        const { headers, ...rest } = call('t');
        return { ...rest, headers: { ...headers, 'x-client': client } };
      };
      expect(await statuses(app, '/tools/named', 3, named('a'))).toEqual([200, 200, 429]);
      expect(await statuses(app, '/tools/named', 3, named('b'))).toEqual([200, 200, 429]);
      expect(await statuses(app, '/tools/named', 3, call('t'))).toEqual([200, 200, 200]);
    });

    it.each<[string, () => unknown, RegExp[]]>([
      [
        'throws',
        () => {
          throw new RangeError('t');
        },
        [/^@PublicTool: its function threw RangeError$/],
      ],
      [
        'is async by mistake',
        () => Promise.reject(new Error('late')),
        [/^@PublicTool: its function is async: it must answer at once$/],
      ],
    ])('of a function that %s is none', async (_how, find, warnings) => {
      @Controller()
      class Routes {
        @Post()
        @PublicTool(find)
        @Cost(3)
        run(): void {}
      }
      const app = await start({}, { controllers: [Routes] });
      expect(await statuses(app, '/', 4, call('t'))).toEqual(Array(4).fill(201));
      expect(app.store.size).toBe(1);
      expect(app.log.own('warn')).toEqual(warnings.map((warning) => expect.stringMatching(warning)));
    });
  });

  it('the headers are those of the tightest bucket of both steps', async () => {
    const app = await start({ publicIpRatePerMin: 5 });
    expect((await send(app, '/tools/search', call('t'))).headers).toMatchObject({
      'ratelimit-limit': '5',
      'ratelimit-remaining': '2',
      'ratelimit-reset': '60',
    });
    const tokens = await start();
    expect((await send(tokens, '/tools/search', call('t'))).headers).toMatchObject({
      'ratelimit-limit': '6',
      'ratelimit-remaining': '3',
    });
    await send(tokens, '/tools/search', call('t'));
    const refused = await send(tokens, '/tools/search', call('t'));
    expect(refused.headers).toMatchObject({
      'ratelimit-limit': '6',
      'ratelimit-remaining': '0',
      'retry-after': '60',
    });
  });

  it('I11 a tool that costs 1 pays it before the lookup, and its token behind it', async () => {
    const app = await start();
    const answers: Answer[] = [];
    for (let i = 0; i < 7; i++) answers.push(await send(app, '/tools/ping', call('t')));
    expect(answers.map(({ status }) => status)).toEqual([...Array(6).fill(200), 429]);
    expect(await app.left()).toBe(93);
  });

  it('a throttle of the tool and the first unit are one step', async () => {
    @Controller()
    class Routes {
      @Post()
      @PublicTool('session')
      @Throttle({ limit: 2, per: '1m' })
      run(): void {}
    }
    const app = await start({}, { controllers: [Routes] });
    expect(await statuses(app, '/', 4, call('t'))).toEqual([201, 201, 429, 429]);
    expect(await app.left()).toBe(98);
  });

  it('on trial it refuses nothing, and what skipIf names pays nothing', async () => {
    const trial = await start({}, {}, { dryRun: true });
    expect(await statuses(trial, '/tools/search', 4, call('t'))).toEqual(Array(4).fill(200));
    const skipped = await start({}, {}, { skipIf: ({ address }) => address === NETWORK });
    expect(await statuses(skipped, '/tools/search', 4, call('t'))).toEqual(Array(4).fill(200));
    expect(skipped.store.size).toBe(0);
  });

  describe('with a guard of the app in between', () => {
    @Injectable()
    class Optional implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        context.switchToHttp().getRequest().user = { id: 'u' };
        return true;
      }
    }

    it('that authenticates, the first unit is paid right behind it', async () => {
      const app = await start(
        {},
        { providers: [{ provide: APP_GUARD, useClass: Optional }] },
        { authGuard: Optional },
      );
      expect(await statuses(app, '/tools/search', 3, call('t'))).toEqual([200, 200, 429]);
      expect(await app.left()).toBe(93);
    });
  });

  describe('with an Authenticator', () => {
    @Injectable()
    class Keys extends Authenticator {
      authenticate({ headers }: { headers: Record<string, string | undefined> }): Authentication {
        const key = headers['x-api-key'];
        return key === undefined ? 'guest' : key === 'bad' ? 'invalid' : { key };
      }
    }

    const keyed = (key: string): Sent => {
      const { headers, ...rest } = call('t');
      return { ...rest, headers: { ...headers, 'x-api-key': key } };
    };

    /** Writes down when it runs. */
    const ran: string[] = [];
    class Noting implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler): ReturnType<CallHandler['handle']> {
        ran.push('interceptor');
        return next.handle();
      }
    }

    /** Decorators of a method, in whatever order they are written. */
    function written(...decorators: MethodDecorator[]): Type {
      @Controller()
      class Routes {
        @Post()
        run(): void {}
      }
      for (const decorator of decorators) {
        const run = Object.getOwnPropertyDescriptor(Routes.prototype, 'run');
        if (run !== undefined) decorator(Routes.prototype, 'run', run);
      }
      return Routes;
    }

    it.each<[string, Type]>([
      ['AuthInterceptor above', written(PublicTool('session'), Cost(3), UseInterceptors(AuthInterceptor))],
      ['AuthInterceptor below', written(UseInterceptors(AuthInterceptor), Cost(3), PublicTool('session'))],
      [
        'other interceptors around',
        written(UseInterceptors(AuthInterceptor), PublicTool('session'), UseInterceptors(Noting), Cost(3)),
      ],
      ['ApiGuard above', written(PublicTool('session'), Cost(3), UseGuards(ApiGuard))],
      ['ApiGuard below', written(UseGuards(ApiGuard), Cost(3), PublicTool('session'))],
    ])('the order of decorators doesn’t matter: %s', async (_order, controller) => {
      ran.length = 0;
      const app = await start(
        { adminRatePerMin: 6, adminPreauthFailPerMin: 2 },
        { controllers: [controller], providers: [{ provide: Authenticator, useClass: Keys }] },
      );
      expect(await statuses(app, '/', 3, call('t'))).toEqual([201, 201, 429]);
      expect(await app.left()).toBe(93);
      // Keys pay from their own budget: neither their network nor the token.
      expect(await statuses(app, '/', 3, keyed('a'))).toEqual([201, 201, 429]);
      expect(await statuses(app, '/', 3, keyed('bad'))).toEqual([401, 401, 429]);
      expect(await app.left()).toBe(93);
    });

    it('the rest is paid behind all other interceptors', async () => {
      ran.length = 0;
      const app = await start(
        {},
        { controllers: [written(PublicTool('session'), Cost(3), UseInterceptors(Noting))] },
      );
      expect(await statuses(app, '/', 3, call('t'))).toEqual([201, 201, 429]);
      expect(ran).toHaveLength(3);
    });
  });

  describe('at boot', () => {
    it('an override without the decorator fails: it would be unprotected', async () => {
      @Controller('more')
      class More extends Tools {
        @Post('search')
        override search(): { session: unknown } {
          return { session: null };
        }
      }
      const error = await failedBoot(adapter, { controllers: [More] });
      expect(error.message).toContain(
        'More.search overrides a handler with @PublicTool() and would lose it: repeat the decorator',
      );
    });

    it('an inherited tool is one of its own controller', async () => {
      @Controller('more')
      class More extends Tools {}
      const app = await start({}, { controllers: [Tools, More] });
      expect(await statuses(app, '/more/search', 3, call('t'))).toEqual([200, 200, 429]);
      // The same token, whichever tool.
      expect(await statuses(app, '/tools/search', 1, call('t'))).toEqual([429]);
    });

    it('on what is no route it is named', async () => {
      @Injectable()
      class Jobs {
        @PublicTool('session')
        run(): void {}
      }
      const app = await start({}, { providers: [Jobs] });
      expect(app.log.own('warn')).toEqual([
        '@PublicTool() on Jobs.run limits nothing: it is no route of a controller',
      ]);
    });
  });
});

import { request as requestOf } from 'node:http';
import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Get,
  Headers,
  HttpCode,
  HttpException,
  Injectable,
  Post,
  Query,
  Res,
  Scope,
  ServiceUnavailableException,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type Provider,
  type Type,
} from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { firstValueFrom, from, map, of, throwError, type Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  AuditSink,
  MemoryStore,
  RateLimitEvents,
  RateLimitException,
  ThrottleLogin,
  ThrottleSecondFactor,
  type AuditEntry,
  type Bucket,
  type RateLimitOptions,
  type RefusalEvent,
  type Verdict,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { limitsOff, limitsOn } from '../../lib/testing/limits.js';
import { ADAPTERS, failedBoot, startApp, type AppSetup, type RunningApp } from './support/app.js';
import { send, type Answer, type Target } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

/** Who tries to sign in: an e-mail address, and the password. */
interface Credentials {
  readonly email?: unknown;
  readonly password?: unknown;
}

const A = 'user-a@x.example';
const B = 'user-b@x.example';
const RIGHT = 'right horse';
const CLIENT = '203.0.113.7';
const OTHER = '198.51.100.9';

/** How often guards and handlers ran. */
const ran = { guard: 0, handler: 0 };

/** The app's lookup: as lenient about spellings as many are. */
function isRight({ email, password }: Credentials): boolean {
  const name = typeof email === 'string' ? email.trim().toLowerCase() : null;
  return (name === A || name === B) && password === RIGHT;
}

/** Bodies of one app's routes arrive through both frameworks alike. */
function bodyOf(context: ExecutionContext): Credentials {
  return context.switchToHttp().getRequest<{ body: Credentials }>().body;
}

interface Reply {
  status(code: number): Reply;
  send(body: unknown): unknown;
}

@Controller()
class Logins {
  @Post('login')
  @HttpCode(200)
  @ThrottleLogin('email')
  login(@Body() credentials: Credentials): object {
    ran.handler++;
    if (!isRight(credentials)) throw new UnauthorizedException();
    return { session: 'open' };
  }

  @Post('v2/login')
  @HttpCode(200)
  @ThrottleLogin(({ request }) => (request as { body: { user: { name: unknown } } }).body.user.name)
  nested(@Body() { user }: { user: { name: unknown; password: unknown } }): object {
    ran.handler++;
    if (!isRight({ email: user.name, password: user.password })) throw new UnauthorizedException();
    return { session: 'open' };
  }

  @Get('login')
  @ThrottleLogin('email')
  byQuery(@Query() credentials: Credentials): object {
    if (!isRight(credentials)) throw new UnauthorizedException();
    return { session: 'open' };
  }

  @Post('throws')
  @HttpCode(200)
  @ThrottleLogin('email')
  throws(@Body() credentials: Credentials, @Headers('x-ends') ends: string | undefined): object {
    const errors: Record<string, () => Error> = {
      400: () => new BadRequestException(),
      409: () => new ConflictException(),
      503: () => new ServiceUnavailableException(),
      500: () => new Error('a bug'),
    };
    if (ends !== undefined) throw errors[ends]();
    if (!isRight(credentials)) throw new UnauthorizedException();
    return { session: 'open' };
  }

  @Post('passthrough')
  @HttpCode(200)
  @ThrottleLogin('email')
  passthrough(@Body() credentials: Credentials, @Res({ passthrough: true }) response: Reply): object {
    ran.handler++;
    if (isRight(credentials)) return { session: 'open' };
    response.status(401);
    return { wrong: true };
  }

  @Post('res')
  @ThrottleLogin('email')
  async res(@Body() credentials: Credentials, @Res() response: Reply): Promise<void> {
    ran.handler++;
    await Promise.resolve();
    const right = isRight(credentials);
    response.status(right ? 200 : 401).send(right ? { session: 'open' } : { wrong: true });
  }

  @Post('later')
  @ThrottleLogin('email')
  later(@Body() credentials: Credentials, @Res() response: Reply): void {
    ran.handler++;
    const right = isRight(credentials);
    // As the callback of a password hash would.
    setTimeout(
      () => response.status(right ? 200 : 401).send(right ? { session: 'open' } : { wrong: true }),
      5,
    );
  }

  @Post('observable')
  @HttpCode(200)
  @ThrottleLogin('email')
  observable(@Body() credentials: Credentials): Observable<object> {
    return isRight(credentials) ? of({ session: 'open' }) : throwError(() => new UnauthorizedException());
  }
}

class Rows extends AuditSink {
  readonly rows: AuditEntry[] = [];

  override write(entry: AuditEntry): void {
    this.rows.push(entry);
  }
}

/** Remembers the buckets that were asked for. */
class WatchedStore extends MemoryStore {
  readonly keys = new Set<string>();

  override consume(buckets: readonly Bucket[]): Verdict[] {
    for (const { key } of buckets) this.keys.add(key);
    return super.consume(buckets);
  }
}

checkNestVersion();

beforeEach(() => {
  ran.guard = 0;
  ran.handler = 0;
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('RATE_LIMIT_')) vi.stubEnv(name, undefined);
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe.each(ADAPTERS)('@ThrottleLogin() on %s', (adapter) => {
  interface Login extends RunningApp {
    readonly clock: FakeClock;
    readonly refusals: RefusalEvent[];
  }

  async function start(options: RateLimitOptions = {}, setup: AppSetup = {}): Promise<Login> {
    const clock = new FakeClock(new Date('2026-01-01T12:00:18Z'));
    const running = await startApp(adapter, {
      controllers: [Logins],
      ...setup,
      rateLimit: {
        perIp: null,
        trustedProxies: ['127.0.0.1'],
        store: new MemoryStore({ clock }),
        ...options,
      },
    });
    const refusals: RefusalEvent[] = [];
    running.app.get(RateLimitEvents).all$.subscribe((event) => {
      if (event.type === 'refusal') refusals.push(event);
    });
    return { ...running, clock, refusals };
  }

  interface Sender {
    readonly path?: string;
    readonly from?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }

  /** One try with whatever body. */
  function post(
    target: Target,
    body: unknown,
    { path = '/login', from: client = CLIENT, headers }: Sender = {},
  ) {
    return send(target, path, {
      method: 'POST',
      headers: { 'x-forwarded-for': client, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  const wrong = (target: Target, email: unknown = A, sender: Sender = {}): Promise<Answer> =>
    post(target, { email, password: 'wrong' }, sender);

  const right = (target: Target, email: string = A, sender: Sender = {}): Promise<Answer> =>
    post(target, { email, password: RIGHT }, sender);

  /** The statuses of tries, one after the other. */
  async function each(...tries: (() => Promise<Answer>)[]): Promise<number[]> {
    const answers: number[] = [];
    for (const attempt of tries) answers.push((await attempt()).status);
    return answers;
  }

  const times = (count: number, attempt: () => Promise<Answer>): Promise<number[]> =>
    each(...Array.from({ length: count }, () => attempt));

  const FAILURES = [401, 401, 401, 401, 401];

  describe('a handler that throws 401', () => {
    it('five failures a minute, then refused before the handler runs, whatever the password', async () => {
      const app = await start();
      expect(await times(6, () => wrong(app))).toEqual([...FAILURES, 429]);
      expect(ran.handler).toBe(5);
      expect((await right(app)).status).toBe(429);
      expect(ran.handler).toBe(5);
    });

    it('G11 the message says the seconds of Retry-After, in the one shape of a refusal', async () => {
      const app = await start();
      await times(5, () => wrong(app));
      const { headers, body } = await wrong(app);
      expect(headers).toMatchObject({ 'retry-after': '42', 'cache-control': 'no-store' });
      expect(headers['content-type']).toMatch(/^application\/json/);
      expect(JSON.parse(body)).toEqual({
        statusCode: 429,
        message: 'Too many login attempts. Please try again in 42 seconds.',
        error: 'Too Many Requests',
      });
    });

    it.each([
      ['1ms', '42 seconds', '42'],
      ['40s', '2 seconds', '2'],
      ['41s', '1 second', '1'],
      ['41999ms', '1 second', '1'],
    ] as const)('G11 after %s the wait is %s', async (wait, words, seconds) => {
      const app = await start();
      await times(5, () => wrong(app));
      app.clock.advance(wait);
      const { status, headers, body } = await wrong(app);
      expect([status, headers['retry-after']]).toEqual([429, seconds]);
      expect(JSON.parse(body).message).toBe(`Too many login attempts. Please try again in ${words}.`);
    });

    it('J11 the window ends: failures are forgotten at the minute, and nobody else ever waits', async () => {
      const app = await start();
      expect(await times(6, () => wrong(app))).toEqual([...FAILURES, 429]);
      app.clock.advance('41999ms');
      expect((await wrong(app)).status).toBe(429);
      expect((await wrong(app, A, { from: OTHER })).status).toBe(401);
      expect((await wrong(app, B)).status).toBe(401);
      app.clock.advance('1ms');
      expect(await times(6, () => wrong(app))).toEqual([...FAILURES, 429]);
    });

    it('J07 refused tries are not counted: the wait never grows', async () => {
      const app = await start();
      await times(5, () => wrong(app));
      app.clock.advance('41s');
      expect(await times(20, () => wrong(app))).toEqual(Array(20).fill(429));
      app.clock.advance('1s');
      expect(await times(6, () => wrong(app))).toEqual([...FAILURES, 429]);
    });

    it('J04 nobody locks an account for others: its owner signs in from elsewhere', async () => {
      const app = await start();
      const answers = await times(100, () => wrong(app));
      expect(answers).toEqual([...FAILURES, ...Array<number>(95).fill(429)]);
      expect((await right(app, 'User-A@x.example', { from: OTHER })).status).toBe(200);
      expect((await right(app)).status).toBe(429);
    });

    it('J06 sign-ins that succeed count nothing', async () => {
      const app = await start();
      expect(await times(12, () => right(app))).toEqual(Array(12).fill(200));
      expect(await times(6, () => wrong(app))).toEqual([...FAILURES, 429]);
    });

    it('J08 success forgets the failures of its own account, and of no other', async () => {
      const app = await start();
      expect(await times(4, () => wrong(app))).toEqual([401, 401, 401, 401]);
      expect(
        await each(
          () => right(app, B),
          () => wrong(app),
          () => wrong(app),
        ),
      ).toEqual([200, 401, 429]);
      expect(await times(4, () => wrong(app, B))).toEqual([401, 401, 401, 401]);
      expect((await right(app, B)).status).toBe(200);
      expect(await times(6, () => wrong(app, B))).toEqual([...FAILURES, 429]);
    });

    it('J08 success forgets nothing of the same account at another client', async () => {
      const app = await start();
      await times(4, () => wrong(app));
      expect((await right(app, A, { from: OTHER })).status).toBe(200);
      expect(await times(2, () => wrong(app))).toEqual([401, 429]);
    });

    it('J01 spellings of one account share its failures', async () => {
      const app = await start();
      const spellings = [A, 'USER-A@x.example', ` ${A}`, `${A}\t`, '\nUser-A@X.example'];
      expect(await each(...spellings.map((email) => () => wrong(app, email)))).toEqual(FAILURES);
      const others = [
        ...spellings,
        `${A}\0`,
        'user\u200b-a@x.example',
        'üser-a@x.example',
        'ｕser-a@x.example',
      ];
      expect(await each(...others.map((email) => () => wrong(app, email)))).toEqual(others.map(() => 429));
      expect((await wrong(app, B)).status).toBe(401);
    });

    it('J01 the app may give the spelling of its own lookup', async () => {
      const app = await start({ login: { fold: (email) => email.replace(/\+[^@]*/, '').toLowerCase() } });
      const tags = ['user-a+1@x.example', 'USER-A+2@x.example', A, 'user-a+3@x.example', A];
      expect(await each(...tags.map((email) => () => wrong(app, email)))).toEqual(FAILURES);
      expect((await wrong(app, 'user-a+4@x.example')).status).toBe(429);
    });

    const unusable = [
      {},
      { email: '' },
      { email: null },
      { email: [A] },
      { email: { $ne: null } },
      { email: 123 },
      { email: ' \t' },
      { email: '\u200b' },
      { Email: A },
      { email: false },
    ];

    it('J03 tries without a usable identifier count per client network, and are no error', async () => {
      const app = await start();
      const answers = await each(...unusable.map((body) => () => post(app, body)));
      expect(answers).toEqual([...FAILURES, ...Array<number>(unusable.length - 5).fill(429)]);
      expect((await post(app, {}, { from: OTHER })).status).toBe(401);
      expect((await wrong(app)).status).toBe(401);
    });

    it.each(unusable)('J03 six tries with %j', async (body) => {
      const app = await start();
      expect(await times(6, () => post(app, body))).toEqual([...FAILURES, 429]);
    });

    it.each(['[]', 'null', '7', '"text"', 'none'])('J03 a body of %s is no error', async (body) => {
      const app = await start({}, { bodyParser: true });
      const sending = () =>
        send(app, '/login', {
          method: 'POST',
          headers: {
            'x-forwarded-for': CLIENT,
            ...(body === 'none' ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === 'none' ? {} : { body }),
        });
      const answers = await times(6, sending);
      // Bodies that a parser rejects never reach a sign-in, and a handler that reads them may fail: never more.
      expect(answers.filter((status) => status === 401).length).toBeLessThanOrEqual(5);
      expect(answers).toHaveLength(6);
    });

    it('J03 a query parameter that is there twice is unusable', async () => {
      const app = await start();
      const get = (query: string) => send(app, `/login?${query}`, { headers: { 'x-forwarded-for': CLIENT } });
      const twice = `email=${A}&email=${B}&password=wrong`;
      expect(await times(6, () => get(twice))).toEqual([...FAILURES, 429]);
      expect(await times(6, () => get(`email=${A}&password=wrong`))).toEqual([...FAILURES, 429]);
      expect((await get(`email=${encodeURIComponent(A.toUpperCase())}&password=wrong`)).status).toBe(429);
    });

    it('J10 nothing that a client can discard resets it', async () => {
      const app = await start();
      const answers = [];
      for (let jar = 0; jar < 6; jar++) {
        const headers = { cookie: `session=${jar}`, 'user-agent': `agent ${jar}`, 'x-request-id': `${jar}` };
        answers.push((await wrong(app, A, { headers })).status);
      }
      expect(answers).toEqual([...FAILURES, 429]);
    });

    it.each(['/login', '/passthrough', '/observable'])(
      'J13 of 50 parallel guesses at %s no more than five are answered 401',
      async (path) => {
        const app = await start();
        const answers = await Promise.all(Array.from({ length: 50 }, () => wrong(app, A, { path })));
        const counts = [401, 429].map(
          (status) => answers.filter((answer) => answer.status === status).length,
        );
        expect(counts).toEqual([5, 45]);
      },
    );

    it('J16 what fails for another reason than the password counts nothing', async () => {
      const app = await start();
      const ending = (status: number) =>
        post(app, { email: A, password: 'wrong' }, { path: '/throws', headers: { 'x-ends': `${status}` } });
      for (const status of [400, 409, 503, 500]) {
        expect(await times(6, () => ending(status))).toEqual(Array(6).fill(status));
      }
      expect(await times(4, () => wrong(app, A, { path: '/throws' }))).toEqual([401, 401, 401, 401]);
      // Nor does it forget.
      expect((await ending(500)).status).toBe(500);
      expect(await times(2, () => wrong(app, A, { path: '/throws' }))).toEqual([401, 429]);
    });

    it('G09 a failure tells nothing of the budget, and reads the same the first and the fifth time', async () => {
      const app = await start();
      const answers: Answer[] = [];
      for (let tried = 0; tried < 6; tried++) answers.push(await wrong(app));
      const shown = answers.map(({ headers, body }) => [
        Object.keys(headers).filter((name) => /ratelimit|retry/.test(name)),
        body,
      ]);
      expect(shown[0]).toEqual([[], expect.stringContaining('Unauthorized')]);
      expect(shown.slice(0, 5)).toEqual(Array(5).fill(shown[0]));
      expect(shown[5][0]).toEqual(['retry-after']);
    });

    it('G09 other limits still tell theirs beside it', async () => {
      const app = await start({ perIp: { limit: 100, per: '1m' } });
      await times(5, () => wrong(app));
      const { status, headers } = await wrong(app);
      expect([status, headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual([
        429,
        '100',
        '94',
      ]);
      expect(headers['retry-after']).toBe('42');
    });

    it('unknown accounts are limited like known ones, with the same answers', async () => {
      const app = await start();
      const known: unknown[] = [];
      const unknown: unknown[] = [];
      for (let tried = 0; tried < 7; tried++) {
        const [a, b] = [await wrong(app, A), await wrong(app, 'nobody@x.example')];
        known.push([a.status, a.body, a.headers['retry-after']]);
        unknown.push([b.status, b.body, b.headers['retry-after']]);
      }
      expect(unknown).toEqual(known);
    });

    it('an app’s filter sees the exception, and every route of the sign-in shares the counter', async () => {
      const app = await start();
      const nested = () => post(app, { user: { name: A, password: 'wrong' } }, { path: '/v2/login' });
      expect(await times(3, () => wrong(app))).toEqual([401, 401, 401]);
      expect(await times(3, nested)).toEqual([401, 401, 429]);
      expect((await wrong(app)).status).toBe(429);
      expect(app.refusals.map(({ limit, decision }) => [limit, decision.policy])).toEqual([
        ['login', 'login'],
        ['login', 'login'],
      ]);
    });

    it('a function that fails makes the identifier unusable, and is reported', async () => {
      @Controller()
      class Careless {
        @Post('login')
        @ThrottleLogin(({ request }) => (request as { body: { user: { name: unknown } } }).body.user.name)
        login(): void {
          throw new UnauthorizedException();
        }
      }
      const app = await start({}, { controllers: [Careless] });
      expect(await times(6, () => post(app, {}))).toEqual([...FAILURES, 429]);
      expect((await post(app, { user: { name: A } })).status).toBe(401);
      expect(app.log.own('warn').join('\n')).toContain('its function threw TypeError');
    });

    it('C06 identifiers of any length make short keys, and differ to the last character', async () => {
      const clock = new FakeClock();
      const store = new WatchedStore({ clock });
      const app = await start(
        { store },
        adapter === 'express'
          ? {
              bodyParser: false,
              main: (nest) =>
                void (nest as NestExpressApplication).useBodyParser('json', { limit: 2_100_000 }),
            }
          : { makeAdapter: () => new FastifyAdapter({ bodyLimit: 2_100_000 }) },
      );
      const long = 'a'.repeat(1_000_000);
      expect(await times(6, () => wrong(app, long))).toEqual([...FAILURES, 429]);
      expect((await wrong(app, `${long.slice(1)}b`)).status).toBe(401);
      expect(store.keys.size).toBe(2);
      for (const key of store.keys) expect(Buffer.byteLength(key)).toBeLessThanOrEqual(200);
    });

    it('no identifier can be read in a key', async () => {
      const store = new WatchedStore({ clock: new FakeClock() });
      const app = await start({ store });
      await wrong(app);
      expect(store.keys.size).toBe(1);
      expect([...store.keys].join()).not.toMatch(/user|example/);
    });

    it('C01 no two pairs share a counter, whatever separators they have', async () => {
      const store = new WatchedStore({ clock: new FakeClock() });
      const app = await start({ store });
      const emails = ['x', 'x|1', 'x:1', '1x', 'x{203.0.113.7}', 'x,203.0.113.7', 'x/64', '1-x'];
      for (const email of emails) await wrong(app, email);
      for (const from_ of ['1.2.3.4', '2.3.4.5', '2001:db8::1']) await wrong(app, 'x', { from: from_ });
      expect(store.keys.size).toBe(emails.length + 3);
    });
  });

  describe('a handler that writes 401 itself', () => {
    it.each(['/passthrough', '/res', '/observable'])('%s counts it and forgets on success', async (path) => {
      const app = await start();
      expect(await times(4, () => wrong(app, A, { path }))).toEqual([401, 401, 401, 401]);
      expect((await right(app, A, { path })).status).toBe(200);
      expect(await times(7, () => wrong(app, A, { path }))).toEqual([...FAILURES, 429, 429]);
      expect((await right(app, A, { path })).status).toBe(429);
    });

    it('also where the response is sent after the handler has returned', async () => {
      const app = await start();
      const path = '/later';
      expect(await times(4, () => wrong(app, A, { path }))).toEqual([401, 401, 401, 401]);
      expect((await right(app, A, { path })).status).toBe(200);
      expect(await times(7, () => wrong(app, A, { path }))).toEqual([...FAILURES, 429, 429]);
    });

    it('also where a filter of the app makes it of an error of its own', async () => {
      class WrongPassword extends Error {}

      @Controller()
      class Domain {
        @Post('login')
        @HttpCode(200)
        @ThrottleLogin('email')
        login(@Body() credentials: Credentials): object {
          if (!isRight(credentials)) throw new WrongPassword();
          return { session: 'open' };
        }
      }
      const filter: ExceptionFilter = {
        catch: (error, host) => {
          const status = error instanceof HttpException ? error.getStatus() : 401;
          host.switchToHttp().getResponse<Reply>().status(status).send({ wrong: true });
        },
      };
      const app = await start({}, { controllers: [Domain], filters: [filter] });
      expect(await times(4, () => wrong(app))).toEqual([401, 401, 401, 401]);
      expect((await right(app)).status).toBe(200);
      expect(await times(6, () => wrong(app))).toEqual([...FAILURES, 429]);
    });

    it('J13 parallel guesses at a response that is sent already do not break it', async () => {
      const app = await start();
      const answers = await Promise.all(Array.from({ length: 20 }, () => wrong(app, A, { path: '/res' })));
      expect(answers.every(({ status }) => status === 401 || status === 429)).toBe(true);
      expect((await wrong(app, A, { path: '/res' })).status).toBe(429);
      expect(app.log.all.filter(({ level }) => level === 'error')).toEqual([]);
    });
  });

  describe('a guard of the handler', () => {
    /** What Passport adds to a strategy for each request. */
    interface Outcome {
      success(user: unknown): void;
      fail(status: number): void;
    }

    /** As passport-local does it: the credentials are in the body. */
    class BodyStrategy {
      readonly name = 'body';

      authenticate(this: Outcome, { body }: { body: Credentials }): void {
        ran.guard++;
        if (isRight(body)) this.success({ id: body.email });
        else this.fail(401);
      }
    }

    @Injectable()
    class LocalStrategy extends PassportStrategy(BodyStrategy, 'body') {
      validate(): void {}
    }

    @Injectable()
    class LocalAuthGuard extends AuthGuard('body') {}

    /** Answers in the way a test gives. */
    function guardThat(
      answer: (allowed: boolean) => ReturnType<CanActivate['canActivate']>,
    ): Type<CanActivate> {
      @Injectable()
      class Answering implements CanActivate {
        canActivate(context: ExecutionContext): ReturnType<CanActivate['canActivate']> {
          ran.guard++;
          return answer(isRight(bodyOf(context)));
        }
      }
      return Answering;
    }

    function refuse(allowed: boolean): boolean {
      if (!allowed) throw new UnauthorizedException();
      return true;
    }

    function guarded(...guards: Parameters<typeof UseGuards>): Type {
      @Controller()
      class Guarded {
        @Post('login')
        @HttpCode(200)
        @UseGuards(...guards)
        @ThrottleLogin('email')
        login(): object {
          ran.handler++;
          return { session: 'open' };
        }
      }
      return Guarded;
    }

    async function expectThrottled(app: Login, failure: number): Promise<void> {
      expect(await times(4, () => wrong(app))).toEqual(Array(4).fill(failure));
      expect((await right(app)).status).toBe(200);
      expect(await times(6, () => wrong(app))).toEqual([...Array<number>(5).fill(failure), 429]);
      expect(ran).toEqual({ guard: 10, handler: 1 });
      expect((await right(app)).status).toBe(429);
      expect((await right(app, A, { from: OTHER })).status).toBe(200);
      expect(ran).toEqual({ guard: 11, handler: 2 });
      expect(JSON.parse((await wrong(app)).body).message).toMatch(
        /^Too many login attempts\. .* 42 seconds\.$/,
      );
    }

    const passport = { imports: [PassportModule], providers: [LocalStrategy] };

    it('Passport’s: failures count, refused before it runs', async () => {
      const app = await start({}, { ...passport, controllers: [guarded(LocalAuthGuard)] });
      await expectThrottled(app, 401);
    });

    it('Passport’s, written as AuthGuard(…) itself', async () => {
      const app = await start({}, { ...passport, controllers: [guarded(AuthGuard('body'))] });
      await expectThrottled(app, 401);
    });

    const answers: [string, (allowed: boolean) => ReturnType<CanActivate['canActivate']>, number][] = [
      ['throws', refuse, 401],
      ['rejects', async (allowed) => refuse(allowed), 401],
      ['errs as an Observable', (allowed) => of(allowed).pipe(map(refuse)), 401],
      ['returns false', (allowed) => allowed, 403],
      ['promises false', async (allowed) => allowed, 403],
      ['is an Observable of false', (allowed) => of(allowed), 403],
    ];
    it.each(answers)('that %s', async (_how, answer, failure) => {
      await expectThrottled(await start({}, { controllers: [guarded(guardThat(answer))] }), failure);
    });

    it('given as an instance, and one on the class', async () => {
      const Guard = guardThat(refuse);
      await expectThrottled(await start({}, { controllers: [guarded(new Guard())] }), 401);
      ran.guard = 0;
      ran.handler = 0;

      @Controller()
      @UseGuards(Guard)
      class Guarded {
        @Post('login')
        @HttpCode(200)
        @ThrottleLogin('email')
        login(): object {
          ran.handler++;
          return {};
        }

        @Post('other')
        other(): object {
          return {};
        }
      }
      const app = await start({}, { controllers: [Guarded] });
      await expectThrottled(app, 401);
      // The same guard on a handler that is no try is left alone.
      expect(await times(8, () => wrong(app, A, { path: '/other' }))).toEqual(Array(8).fill(401));
    });

    it('J13 of 50 parallel guesses no more than five are answered 401', async () => {
      const app = await start({}, { ...passport, controllers: [guarded(LocalAuthGuard)] });
      const parallel = await Promise.all(Array.from({ length: 50 }, () => wrong(app)));
      const counts = [401, 429].map((status) => parallel.filter((answer) => answer.status === status).length);
      expect(counts).toEqual([5, 45]);
    });

    it('that also is the authGuard of throttles', async () => {
      const Guard = guardThat(refuse);
      const app = await start({ authGuard: Guard }, { controllers: [guarded(Guard)] });
      await expectThrottled(app, 401);
    });

    it('J16 a guard that rejects for another reason counts nothing', async () => {
      const Guard = guardThat((allowed) => {
        if (!allowed) throw new ServiceUnavailableException();
        return true;
      });
      const app = await start({}, { controllers: [guarded(Guard)] });
      expect(await times(8, () => wrong(app))).toEqual(Array(8).fill(503));
    });

    it('made anew for each request fails the boot', async () => {
      @Injectable({ scope: Scope.REQUEST })
      class EachTime implements CanActivate {
        canActivate(): boolean {
          return true;
        }
      }
      for (const scoped of [EachTime]) {
        const { message } = await failedBoot(adapter, { rateLimit: {}, controllers: [guarded(scoped)] });
        expect(message).toContain('Guarded.login lists EachTime, which is made anew for each request');
        expect(message).toContain('LoginThrottle.attempt()');
      }
    });
  });

  describe('at boot', () => {
    class Base {
      @Post('login')
      @ThrottleLogin('email')
      login(): void {
        throw new UnauthorizedException();
      }
    }

    it('an override that would lose the decorator fails', async () => {
      @Controller()
      class Silent extends Base {
        @Post('login')
        override login(): void {}
      }
      const { message } = await failedBoot(adapter, { rateLimit: {}, controllers: [Silent] });
      expect(message).toContain('Silent.login overrides a handler with @ThrottleLogin()');
      expect(message).toContain('repeat the decorator');
    });

    it('an override that repeats it, and an inherited handler, are protected', async () => {
      @Controller('again')
      class Again extends Base {
        @Post('login')
        @ThrottleLogin('email')
        override login(): void {
          throw new UnauthorizedException();
        }
      }

      @Controller('inherited')
      class Inherited extends Base {}
      const app = await start({}, { controllers: [Again, Inherited] });
      expect(await times(3, () => wrong(app, A, { path: '/again/login' }))).toEqual([401, 401, 401]);
      expect(await times(3, () => wrong(app, A, { path: '/inherited/login' }))).toEqual([401, 401, 429]);
    });

    it('a decorated method that is no route is named', async () => {
      @Injectable()
      class Resolver {
        @ThrottleLogin('email')
        signIn(): void {}
      }
      const app = await start({}, { providers: [Resolver] as Provider[] });
      expect(app.log.own('warn')).toEqual([
        expect.stringContaining('@ThrottleSecondFactor() on Resolver.signIn limits nothing'),
      ]);
    });

    it.each([
      ['0/1m', 'limit'],
      ['6O/1m', 'no quota'],
      ['', 'no quota'],
      ['5', 'no quota'],
    ])('P01 RATE_LIMIT_LOGIN_FAILURES=%j fails and is named', async (value, why) => {
      vi.stubEnv('RATE_LIMIT_LOGIN_FAILURES', value);
      const { message } = await failedBoot(adapter, { controllers: [Logins] });
      expect(message).toContain('RATE_LIMIT_LOGIN_FAILURES (setting rateLimit.login.failures)');
      expect(message).toContain(why);
    });

    it.each([
      [{ failures: { limit: 0, per: '1m' } }, 'login.failures'],
      [{ failures: { limit: 5, per: '0s' } }, 'login.failures: per'],
      [{ failure: { limit: 5, per: '1m' } }, 'login.failure is unknown'],
    ])('P01 login: %j fails and is named', async (login, where) => {
      const { message } = await failedBoot(adapter, { rateLimit: { login: login as never } });
      expect(message).toContain(where);
    });
  });

  describe('settings', () => {
    it('login: null switches it off', async () => {
      const app = await start({ login: null });
      expect(await times(12, () => wrong(app))).toEqual(Array(12).fill(401));
    });

    it('login: { failures: null } too', async () => {
      const app = await start({ login: { failures: null } });
      expect(await times(12, () => wrong(app))).toEqual(Array(12).fill(401));
    });

    it('numbers in code are used', async () => {
      const app = await start({ login: { failures: { limit: 2, per: '1h' } } });
      expect(await times(3, () => wrong(app))).toEqual([401, 401, 429]);
      expect((await wrong(app)).headers['retry-after']).toBe(String(3600 - 18));
    });

    it('RATE_LIMIT_LOGIN_FAILURES is, and code wins over it', async () => {
      vi.stubEnv('RATE_LIMIT_LOGIN_FAILURES', '2/1h');
      const app = await start();
      expect(await times(3, () => wrong(app))).toEqual([401, 401, 429]);
      const fixed = await start({ login: { failures: { limit: 1, per: '1m' } } });
      expect(await times(2, () => wrong(fixed))).toEqual([401, 429]);
    });

    it('P04 ConfigService.set() takes effect with the next try, and a bad value keeps the last good one', async () => {
      vi.stubEnv('RATE_LIMIT_LOGIN_FAILURES', '4/1m');
      const app = await start();
      const config = app.app.get(ConfigService, { strict: false });
      expect(await times(3, () => wrong(app))).toEqual([401, 401, 401]);
      config.set('rateLimit.login.failures', '2/1m');
      expect(await times(2, () => right(app))).toEqual([429, 429]);
      config.set('rateLimit.login.failures', { limit: 5, per: '1m' });
      expect((await wrong(app)).status).toBe(401);
      config.set('rateLimit.login.failures', '0/1m');
      expect(await times(2, () => wrong(app))).toEqual([401, 429]);
      expect(app.log.own('error')).toEqual([expect.stringContaining('rateLimit.login.failures')]);
      config.set('rateLimit.login.failures', null);
      expect(await times(7, () => wrong(app))).toEqual(Array(7).fill(401));
      config.set('rateLimit.login', { failures: '1/1h' });
      expect(await times(2, () => wrong(app, B))).toEqual([401, 429]);
    });

    it('skipIf lets a client try without a limit', async () => {
      const app = await start({ skipIf: ({ address }) => address === OTHER });
      expect(await times(8, () => wrong(app, A, { from: OTHER }))).toEqual(Array(8).fill(401));
      expect(await times(6, () => wrong(app))).toEqual([...FAILURES, 429]);
    });

    it('limitsOff() lets tests try as they like, limitsOn() goes on where it was', async () => {
      const app = await start();
      expect(await times(4, () => wrong(app))).toEqual([401, 401, 401, 401]);
      limitsOff(app.app);
      expect(await times(8, () => wrong(app))).toEqual(Array(8).fill(401));
      limitsOn(app.app);
      expect(await times(2, () => wrong(app))).toEqual([401, 429]);
    });

    it('limitsOff(): what a sign-in succeeds at meanwhile is not forgotten', async () => {
      const app = await start();
      expect(await times(4, () => wrong(app))).toEqual([401, 401, 401, 401]);
      limitsOff(app.app);
      expect((await right(app)).status).toBe(200);
      limitsOn(app.app);
      expect(await times(2, () => wrong(app))).toEqual([401, 429]);
    });

    it('dryRun refuses nothing and tells each try that it would have', async () => {
      const app = await start({ dryRun: true });
      expect(await times(8, () => wrong(app))).toEqual(Array(8).fill(401));
      expect(app.refusals.map(({ limit, dryRun }) => [limit, dryRun])).toEqual(
        Array.from({ length: 3 }, () => ['login', true]),
      );
      expect((await right(app)).status).toBe(200);
      expect(app.refusals).toHaveLength(4);
    });
  });

  describe('what is told', () => {
    it('a log line per refusal, one audit row per network and minute, and an event', async () => {
      const audit = new Rows();
      const app = await start({ audit });
      await times(7, () => wrong(app));
      expect(app.log.every('warn').filter((line) => line.includes('throttle'))).toEqual(
        Array(2).fill(`login throttle exceeded: policy=login network=${CLIENT}`),
      );
      await vi.waitFor(() => expect(audit.rows).toHaveLength(1));
      expect(audit.rows).toEqual([
        {
          action: 'http.rate_limited',
          at: Date.UTC(2026, 0, 1, 12, 0, 18),
          ip: CLIENT,
          network: CLIENT,
          user: null,
          details: { limit: 'login', policy: 'login', retryAfter: 42, dryRun: false },
        },
      ]);
      expect(app.log.all.map(({ message }) => message).join('\n')).not.toContain(A);
      expect(app.refusals[0]).toMatchObject({
        limit: 'login',
        address: CLIENT,
        decision: { allowed: false, policy: 'login', limit: 5, retryAfter: 42, reason: 'limit-exceeded' },
      });
    });

    it('G07 pages of other origins can read the refusal and its wait', async () => {
      const origin = 'https://app.example';
      const app = await start({}, { controllers: [Logins], enableCors: { origin: [origin] } });
      await times(5, () => wrong(app));
      const { status, headers } = await wrong(app, A, { headers: { origin } });
      expect([status, headers['access-control-allow-origin']]).toEqual([429, origin]);
      expect(String(headers['access-control-expose-headers']).toLowerCase()).toContain('retry-after');
    });

    it('the boot report says which routes are protected', async () => {
      const app = await start();
      const report = app.log.own('log').join('\n');
      expect(report).toMatch(/POST \/login .*login failures/);
    });

    it('an exception filter gets the decision', async () => {
      const seen: unknown[] = [];
      const app = await start(
        {},
        {
          filters: [
            {
              catch(error: unknown, host) {
                if (error instanceof RateLimitException) seen.push(error.decision.policy);
                const status = error instanceof HttpException ? error.getStatus() : 500;
                host.switchToHttp().getResponse<Reply>().status(status).send({ mine: true });
              },
            },
          ],
        },
      );
      expect(await times(6, () => wrong(app))).toEqual([...FAILURES, 429]);
      expect(seen).toEqual(['login']);
    });
  });

  describe('interceptors of the app around it', () => {
    @Injectable()
    class FirstValue implements NestInterceptor {
      async intercept(_context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
        return of(await firstValueFrom(next.handle()));
      }
    }

    @Injectable()
    class Wrapped implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
        return from(next.handle()).pipe(map((data) => ({ data })));
      }
    }

    it.each([[FirstValue], [Wrapped]])('%o changes nothing', async (interceptor) => {
      @Controller()
      @UseInterceptors(interceptor)
      class Intercepted extends Logins {}
      const app = await start({}, { controllers: [Intercepted] });
      for (const path of ['/login', '/passthrough']) {
        const sender = { path, from: path === '/login' ? CLIENT : OTHER };
        expect(await times(4, () => wrong(app, A, sender))).toEqual([401, 401, 401, 401]);
        expect((await right(app, A, sender)).status).toBe(200);
        expect(await times(6, () => wrong(app, A, sender))).toEqual([...FAILURES, 429]);
      }
    });
  });

  describe('clients that go away', () => {
    /** A login whose verification lasts until the test says so. */
    async function startSlow() {
      const gate = { release: (): void => undefined, entered: (): void => undefined };

      @Controller()
      class Slow {
        @Post('slow')
        @HttpCode(200)
        @ThrottleLogin('email')
        async slow(@Body() credentials: Credentials): Promise<object> {
          gate.entered();
          await new Promise<void>((resolve) => {
            gate.release = resolve;
          });
          if (!isRight(credentials)) throw new UnauthorizedException();
          return {};
        }
      }
      return { gate, app: await start({}, { controllers: [Slow, Logins] }) };
    }

    /** Sends a try, goes away while it is verified, and lets the verification end. */
    async function abort(
      { gate, app }: Awaited<ReturnType<typeof startSlow>>,
      password: string,
    ): Promise<void> {
      const entered = new Promise<void>((resolve) => {
        gate.entered = resolve;
      });
      const outgoing = requestOf({
        host: '127.0.0.1',
        port: app.port,
        path: '/slow',
        method: 'POST',
        agent: false,
        headers: { 'x-forwarded-for': CLIENT, 'content-type': 'application/json' },
      });
      const closed = new Promise((resolve) => outgoing.on('close', resolve));
      outgoing.on('error', () => undefined);
      outgoing.end(JSON.stringify({ email: A, password }));
      await entered;
      const server: { getConnections(done: (error: unknown, count: number) => void): void } =
        app.app.getHttpServer();
      outgoing.destroy();
      await closed;
      await vi.waitFor(async () => {
        const count = await new Promise<number>((resolve) =>
          server.getConnections((_error, open) => resolve(open)),
        );
        expect(count).toBe(0);
      });
      gate.release();
      await new Promise((resolve) => setImmediate(resolve));
    }

    it('I10 a failure counts once, though nobody waits for the answer', async () => {
      const slow = await startSlow();
      await abort(slow, 'wrong');
      expect(await times(5, () => wrong(slow.app))).toEqual([401, 401, 401, 401, 429]);
    });

    it('I10 a success that nobody waits for forgets nothing', async () => {
      const slow = await startSlow();
      await times(4, () => wrong(slow.app));
      await abort(slow, RIGHT);
      expect(await times(6, () => wrong(slow.app))).toEqual([401, 429, 429, 429, 429, 429]);
    });

    it('I10 closing the connection after an answer counts nothing', async () => {
      const app = await start();
      // Each of these closes its connection.
      expect(await times(10, () => right(app))).toEqual(Array(10).fill(200));
      expect(await times(6, () => wrong(app))).toEqual([...FAILURES, 429]);
    });
  });

  describe('@ThrottleSecondFactor()', () => {
    @Controller('mfa')
    class Codes {
      @Post('totp')
      @HttpCode(200)
      @ThrottleSecondFactor('email')
      totp(@Body() { password }: Credentials): object {
        if (password !== '123456') throw new UnauthorizedException();
        return {};
      }

      @Post('recovery')
      @HttpCode(200)
      @ThrottleSecondFactor('email')
      recovery(@Body() { password }: Credentials): object {
        if (password !== 'abcd') throw new UnauthorizedException();
        return {};
      }
    }
    const totp = (target: Target, password: string, from_ = CLIENT) =>
      post(target, { email: A, password }, { path: '/mfa/totp', from: from_ });

    it('J09 counts per account over handlers and clients; a right password forgets nothing, a right code does', async () => {
      const app = await start({}, { controllers: [Logins, Codes] });
      const answers: number[] = [];
      for (let tried = 0; tried < 6; tried++) {
        answers.push((await right(app)).status, (await totp(app, '000000', `198.51.100.${tried}`)).status);
      }
      expect(answers).toEqual([200, 401, 200, 401, 200, 401, 200, 401, 200, 401, 200, 429]);
      const refused = await wrong(app, A, { path: '/mfa/recovery' });
      expect([refused.status, JSON.parse(refused.body).message]).toEqual([
        429,
        'Too many wrong codes. Please try again in 42 seconds.',
      ]);
      expect(app.log.every('warn').join()).toContain('second-factor throttle exceeded: policy=second-factor');
      app.clock.advance('42s');
      expect(await times(4, () => totp(app, '000000'))).toEqual([401, 401, 401, 401]);
      expect((await totp(app, '123456')).status).toBe(200);
      expect(await times(6, () => totp(app, '000000'))).toEqual([...FAILURES, 429]);
      // The sign-in itself is another limit.
      expect((await wrong(app)).status).toBe(401);
    });
  });
});

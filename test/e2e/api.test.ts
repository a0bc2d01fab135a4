import { inspect } from 'node:util';
import {
  ConflictException,
  Controller,
  ForbiddenException,
  Get,
  Injectable,
  Post,
  Query,
  Scope,
  ServiceUnavailableException,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import {
  ApiGuard,
  AuditSink,
  AuthInterceptor,
  Authenticator,
  Cost,
  CurrentActor,
  MemoryStore,
  PublicTool,
  Throttle,
  type Actor,
  type AuditEntry,
  type Authentication,
  type Bucket,
  type RateLimitOptions,
  type Verdict,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp, type AppSetup, type RunningApp } from './support/app.js';
import { send, statuses, type Answer, type Sent } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

interface Requested {
  readonly headers: { readonly 'x-api-key'?: string };
}

/** What keys written as `<word>:<text>` stand for; anything else is a wrong key. */
const MEANINGS: Record<string, (text: string) => unknown> = {
  key: (key) => ({ key, plan: 'gold' }),
  user: (user) => ({ user }),
  json: (text) => JSON.parse(text),
  throw: (status) => {
    if (status === '401') throw new UnauthorizedException('expired');
    if (status === '403') throw new ForbiddenException('not from here');
    if (status === '503') throw new ServiceUnavailableException('no database');
    throw new Error('a bug');
  },
};

@Injectable()
class Keys extends Authenticator {
  enabled = true;
  readonly asked: (string | null)[] = [];

  override isEnabled(): Promise<boolean> {
    return Promise.resolve(this.enabled);
  }

  async authenticate({ headers }: Requested, address: string | null): Promise<Authentication> {
    this.asked.push(address);
    const sent = headers['x-api-key'];
    if (sent === undefined) return 'missing';
    if (sent === 'guest' || sent === 'forbidden') return sent;
    const [word, ...rest] = sent.split(':');
    // As an app without types would.
    return (MEANINGS[word]?.(rest.join(':')) ?? 'invalid') as Authentication;
  }
}

const NETWORK = '203.0.113.5';
const GUESS = 'sk_wrong';

/** A request with a key, from a network. */
function by(key: string | null, from = NETWORK, method = 'GET'): Sent {
  return { method, headers: { 'x-forwarded-for': from, ...(key === null ? {} : { 'x-api-key': key }) } };
}

/** The two ways to bind the API's entry. */
const FORMS: readonly [string, ClassDecorator][] = [
  ['ApiGuard', UseGuards(ApiGuard)],
  ['AuthInterceptor', UseInterceptors(AuthInterceptor)],
];

/** A machine API. */
function api(bind: ClassDecorator): Type {
  @Controller('api')
  @bind
  class Api {
    @Get()
    read(@CurrentActor() actor: Actor | null): { actor: Actor | null } {
      return { actor };
    }

    @Get('costly')
    @Cost(3)
    @Throttle({ limit: 2, per: '1m' })
    costly(): void {}

    @Get('heavy')
    @Cost(8)
    heavy(): void {}

    @Get('throttled')
    @Throttle({ limit: 2, per: '1m' })
    throttled(): void {}

    @Get('fails')
    fails(@Query('with') status: string): void {
      if (status === '401') throw new UnauthorizedException('wrong password');
      if (status === '403') throw new ForbiddenException('not yours');
      if (status === '409') throw new ConflictException();
      throw new Error('a bug');
    }
  }
  return Api;
}

interface Started extends RunningApp {
  readonly keys: Keys;
  readonly store: MemoryStore;
  readonly clock: FakeClock;
}

describe.each(ADAPTERS)('a machine API on %s', (adapter) => {
  checkNestVersion();

  async function start(setup: AppSetup, options: RateLimitOptions = {}): Promise<Started> {
    const keys = new Keys();
    const clock = new FakeClock(new Date('2026-03-01T12:00:01Z'));
    const store = new MemoryStore({ clock });
    const running = await startApp(adapter, {
      providers: [{ provide: Authenticator, useValue: keys }],
      ...setup,
      rateLimit: {
        perIp: null,
        trustedProxies: ['127.0.0.1'],
        store,
        limits: { adminPreauthFailPerMin: 3, adminRatePerMin: 10 },
        ...options,
      },
    });
    return { ...running, keys, clock, store };
  }

  describe.each(FORMS)('entered through %s', (_form, bind) => {
    const startApi = (options: RateLimitOptions = {}) => start({ controllers: [api(bind)] }, options);

    describe('the order', () => {
      it('J16 switched off it answers as if there were no such route, whatever is sent, and counts nothing', async () => {
        const app = await startApi();
        app.keys.enabled = false;
        const unknown = await send(app, '/apx', by(null));
        expect(unknown.status).toBe(404);
        for (const sent of [by(null), by('key:a'), by(GUESS), by('forbidden')]) {
          const answer = await send(app, '/api', sent);
          expect([answer.status, answer.body]).toEqual([404, unknown.body.replace('apx', 'api')]);
          expect(answer.headers).not.toHaveProperty('ratelimit-limit');
        }
        expect((await send(app, '/api?token=x', by('key:a'))).status).toBe(404);
        expect(app.keys.asked).toEqual([]);
        expect(app.store.size).toBe(0);
      });

      it('J16 a credential in the URL is refused before anybody looks at it, and counts nothing', async () => {
        const app = await startApi();
        for (const query of [
          'token=SECRET',
          'a=1&api_key=SECRET',
          'ACCESS_TOKEN=SECRET',
          'tok%65n[]=SECRET',
        ]) {
          const answer = await send(app, `/api?${query}`, by('key:a'));
          expect(answer.status).toBe(400);
          expect(answer.body).toMatch(
            /Send no credential in the URL: take '(token|api_key|access_token)' out of it/,
          );
          expect(answer.body).not.toContain('SECRET');
        }
        expect(app.keys.asked).toEqual([]);
        expect(app.store.size).toBe(0);
        expect((await send(app, '/api?tokens=5', by('key:a'))).status).toBe(200);
      });

      it('the names of such parameters are the app’s to choose', async () => {
        @Injectable()
        class Signed extends Keys {
          override readonly credentialParameters = ['sig'];
        }
        const app = await start({
          controllers: [api(bind)],
          providers: [{ provide: Authenticator, useClass: Signed }],
        });
        expect((await send(app, '/api?sig=x', by('key:a'))).status).toBe(400);
        expect((await send(app, '/api?token=x', by('key:a'))).status).toBe(200);
      });

      it('failures are answered 401 until the network has failed too often, then 429 with the wait alone', async () => {
        const app = await startApi();
        const answers: Answer[] = [];
        for (let i = 0; i < 4; i++) answers.push(await send(app, '/api', by(GUESS)));
        expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 429]);
        expect(answers[3].headers['retry-after']).toBe('59');
        expect(JSON.parse(answers[3].body)).toEqual({
          statusCode: 429,
          message: 'Too Many Requests',
          error: 'Too Many Requests',
        });
        // Nothing tells a guesser how far it may go.
        for (const { headers } of answers) {
          expect(Object.keys(headers).filter((name) => name.includes('limit'))).toEqual([]);
        }
        expect(await statuses(app, '/api', 1, by(GUESS, '198.51.100.1'))).toEqual([401]);
      });

      it('J16 a right key from a forbidden address is answered 403 and counts as a guess', async () => {
        const app = await startApi();
        expect(await statuses(app, '/api', 2, by('forbidden'))).toEqual([403, 403]);
        expect(await statuses(app, '/api', 2, by(GUESS))).toEqual([401, 429]);
        expect(await statuses(app, '/api', 1, by('forbidden'))).toEqual([429]);
      });

      it('a call without a credential is answered 401 for ever and counts nothing', async () => {
        const app = await startApi();
        expect(await statuses(app, '/api', 10, by(null))).toEqual(Array(10).fill(401));
        expect(app.store.size).toBe(0);
      });

      it('J05 a valid key passes from a network whose guesses are exhausted, with its own headers', async () => {
        const app = await startApi();
        expect(await statuses(app, '/api', 4, by(GUESS))).toEqual([401, 401, 401, 429]);
        const valid = await send(app, '/api', by('key:a'));
        expect(valid.status).toBe(200);
        expect(valid.headers).toMatchObject({
          'ratelimit-limit': '10',
          'ratelimit-remaining': '9',
          'ratelimit-reset': '59',
        });
        expect(await statuses(app, '/api', 1, by(GUESS))).toEqual([429]);
        // Each is asked about, whatever its network has done.
        expect(app.keys.asked).toEqual(Array(6).fill(NETWORK));
      });

      it('J07 what is answered 429 is not counted: the next minute begins afresh', async () => {
        const app = await startApi();
        expect(await statuses(app, '/api', 3, by(GUESS))).toEqual([401, 401, 401]);
        for (let i = 0; i < 4; i++) {
          app.clock.advance('14s');
          expect(await statuses(app, '/api', 50, by(GUESS))).toEqual(Array(50).fill(429));
        }
        app.clock.advance('3s');
        expect(await statuses(app, '/api', 4, by(GUESS))).toEqual([401, 401, 401, 429]);
      });

      it('J08 a valid key takes back none of its network’s failures', async () => {
        const app = await startApi();
        expect(await statuses(app, '/api', 2, by(GUESS))).toEqual([401, 401]);
        expect(await statuses(app, '/api', 1, by('key:a'))).toEqual([200]);
        expect(await statuses(app, '/api', 2, by(GUESS))).toEqual([401, 429]);
      });

      it('J06 valid keys are no failures, however many', async () => {
        const app = await startApi({ limits: { adminPreauthFailPerMin: 3, adminRatePerMin: 1_000 } });
        expect(await statuses(app, '/api', 100, by('key:a'))).toEqual(Array(100).fill(200));
        expect(await statuses(app, '/api', 4, by(GUESS))).toEqual([401, 401, 401, 429]);
      });

      it('J13 of 50 parallel guesses no more are answered than the limit', async () => {
        const app = await startApi();
        const answers = await Promise.all(Array.from({ length: 50 }, () => send(app, '/api', by(GUESS))));
        expect(answers.filter(({ status }) => status === 401)).toHaveLength(3);
        expect(answers.filter(({ status }) => status === 429)).toHaveLength(47);
      });
    });

    describe('what the Authenticator says', () => {
      it('guests pass, without units to pay', async () => {
        const app = await startApi();
        const answer = await send(app, '/api', by('guest'));
        expect([answer.status, JSON.parse(answer.body)]).toEqual([200, { actor: null }]);
        expect(await statuses(app, '/api', 15, by('guest'))).toEqual(Array(15).fill(200));
        // Throttled by network, as everywhere.
        expect(await statuses(app, '/api/throttled', 3, by('guest'))).toEqual([200, 200, 429]);
        expect(await statuses(app, '/api/throttled', 1, by('guest', '198.51.100.1'))).toEqual([200]);
      });

      it('J16 a 401 or 403 that it throws is a guess, answered as thrown; anything else counts nothing', async () => {
        const app = await startApi();
        expect(await statuses(app, '/api', 5, by('throw:500'))).toEqual(Array(5).fill(500));
        expect(await statuses(app, '/api', 5, by('throw:503'))).toEqual(Array(5).fill(503));
        expect((await send(app, '/api', by('throw:401'))).body).toContain('expired');
        expect((await send(app, '/api', by('throw:403'))).body).toContain('not from here');
        expect(await statuses(app, '/api', 2, by('throw:401'))).toEqual([401, 429]);
        expect(await statuses(app, '/api', 1, by('throw:403'))).toEqual([429]);
        expect(await statuses(app, '/api', 1, by('throw:500'))).toEqual([500]);
      });

      it.each([
        '{"key":""}',
        '{"key":5}',
        '{"key":null}',
        '{"user":""}',
        '{"user":["a"]}',
        '{"id":"a"}',
        '{}',
        '[]',
        'true',
        '1',
        '"admin"',
      ])('%s is no actor: 401, counted and reported', async (said) => {
        const app = await startApi();
        expect(await statuses(app, '/api', 4, by(`json:${said}`))).toEqual([401, 401, 401, 429]);
        expect(app.log.own('warn').filter((line) => !line.startsWith('too many failed'))).toEqual([
          'Authenticator: authenticate() gave neither an actor with a text for an id nor one of its words: taken for invalid',
        ]);
      });

      it('@CurrentActor() is what it gave, whatever else is in it', async () => {
        const app = await startApi();
        const actorOf = async (key: string): Promise<unknown> =>
          JSON.parse((await send(app, '/api', by(key))).body).actor;
        expect(await actorOf('key:a')).toEqual({ key: 'a', plan: 'gold' });
        expect(await actorOf('user:u')).toEqual({ user: 'u' });
      });

      it('a key with its owner beside it is a key', async () => {
        const app = await startApi();
        const owned = by('json:{"key":"a","user":{"id":7}}');
        expect(await statuses(app, '/api/throttled', 3, owned)).toEqual([200, 200, 429]);
        expect(await statuses(app, '/api', 10, owned)).toEqual([...Array(8).fill(200), 429, 429]);
        expect(await statuses(app, '/api', 1, by('key:a'))).toEqual([429]);
        const named = by('json:{"key":"b","user":"u"}');
        expect(await statuses(app, '/api/throttled', 3, named)).toEqual([200, 200, 429]);
        expect(await statuses(app, '/api/throttled', 1, by('user:u'))).toEqual([200]);
      });
    });

    describe('budgets', () => {
      it('I11 a call costs 1: of the key, or of the user over all sessions, each apart', async () => {
        const app = await startApi();
        expect(await statuses(app, '/api', 11, by('key:a'))).toEqual([...Array(10).fill(200), 429]);
        expect(await statuses(app, '/api', 1, by('key:a', '198.51.100.1'))).toEqual([429]);
        expect(await statuses(app, '/api', 1, by('key:b'))).toEqual([200]);
        expect(await statuses(app, '/api', 11, by('user:a'))).toEqual([...Array(10).fill(200), 429]);
        app.clock.advance('59s');
        expect(await statuses(app, '/api', 1, by('key:a'))).toEqual([200]);
      });

      it('C02 users, keys and networks of one name are throttled apart', async () => {
        const app = await startApi();
        for (const key of [`user:${NETWORK}`, `key:${NETWORK}`, 'guest']) {
          expect(await statuses(app, '/api/throttled', 3, by(key)), key).toEqual([200, 200, 429]);
        }
      });

      it('@Throttle counts by key and by user, and what is not let in not at all', async () => {
        const app = await startApi();
        expect(await statuses(app, '/api/throttled', 3, by(GUESS))).toEqual([401, 401, 401]);
        expect(await statuses(app, '/api/throttled', 3, by('key:a'))).toEqual([200, 200, 429]);
        expect(await statuses(app, '/api/throttled', 3, by('key:b'))).toEqual([200, 200, 429]);
        expect(await statuses(app, '/api/throttled', 3, by('user:a'))).toEqual([200, 200, 429]);
      });

      it('throttles and units are one step: a full one leaves the other alone', async () => {
        const app = await startApi();
        // 2 × 3 units; the third is refused by the throttle alone, and pays none.
        expect(await statuses(app, '/api/costly', 3, by('key:a'))).toEqual([200, 200, 429]);
        const refused = await send(app, '/api/costly', by('key:a'));
        expect(refused.headers).toMatchObject({ 'ratelimit-limit': '2', 'retry-after': '30' });
        expect(await statuses(app, '/api', 5, by('key:a'))).toEqual([200, 200, 200, 200, 429]);
        // What units refuse costs the throttle nothing, neither at once nor in the next minute of the clock.
        app.clock.advance('50s');
        expect(await statuses(app, '/api/heavy', 1, by('key:b'))).toEqual([200]);
        expect(await statuses(app, '/api/costly', 3, by('key:b'))).toEqual([429, 429, 429]);
        app.clock.advance('9s');
        expect(await statuses(app, '/api/costly', 3, by('key:b'))).toEqual([200, 200, 429]);
      });

      it('throttles and units are one call of the store', async () => {
        const steps: number[] = [];
        class Counting extends MemoryStore {
          override consume(buckets: readonly Bucket[]): Verdict[] {
            steps.push(buckets.length);
            return super.consume(buckets);
          }
        }
        const app = await startApi({ store: new Counting({ clock: new FakeClock() }) });
        expect(await statuses(app, '/api/costly', 1, by('key:a'))).toEqual([200]);
        expect(steps).toEqual([2]);
      });

      it('the headers are those of the tightest bucket', async () => {
        const app = await startApi();
        expect((await send(app, '/api/costly', by('key:a'))).headers).toMatchObject({
          'ratelimit-limit': '2',
          'ratelimit-remaining': '1',
        });
        await send(app, '/api/heavy', by('key:b'));
        expect((await send(app, '/api', by('key:b'))).headers).toMatchObject({
          'ratelimit-limit': '10',
          'ratelimit-remaining': '1',
        });
        const refused = await send(app, '/api/costly', by('key:b'));
        expect(refused.status).toBe(429);
        expect(refused.headers).toMatchObject({
          'ratelimit-limit': '10',
          'ratelimit-remaining': '1',
          'ratelimit-reset': '59',
          'retry-after': '59',
        });
      });

      it('on trial nothing is refused, and a call that skipIf names pays and counts nothing', async () => {
        const trial = await startApi({ dryRun: true });
        expect(await statuses(trial, '/api', 12, by('key:a'))).toEqual(Array(12).fill(200));
        expect(await statuses(trial, '/api', 5, by(GUESS))).toEqual(Array(5).fill(401));
        const skipped = await startApi({ skipIf: ({ address }) => address === NETWORK });
        expect(await statuses(skipped, '/api', 12, by('key:a'))).toEqual(Array(12).fill(200));
        expect(await statuses(skipped, '/api', 5, by(GUESS))).toEqual(Array(5).fill(401));
        expect(skipped.store.size).toBe(0);
      });
    });

    it('a request-scoped Authenticator works too', async () => {
      @Injectable({ scope: Scope.REQUEST })
      class Fresh extends Keys {}
      const app = await start({
        controllers: [api(bind)],
        providers: [{ provide: Authenticator, useClass: Fresh }],
      });
      expect(await statuses(app, '/api', 11, by('key:a'))).toEqual([...Array(10).fill(200), 429]);
      expect(await statuses(app, '/api', 4, by(GUESS))).toEqual([401, 401, 401, 429]);
    });

    it('C05 no key, user’s key or token is readable in the store, the log or the audit', async () => {
      const audited: AuditEntry[] = [];
      const app = await startApi({
        audit: new (class extends AuditSink {
          override write(entry: AuditEntry): void {
            audited.push(entry);
          }
        })(),
      });
      const secret = 'sk_test_SECRET';
      await statuses(app, '/api', 12, by(`key:${secret}`));
      await statuses(app, '/api/throttled', 3, by(`key:${secret}`, '198.51.100.1'));
      await statuses(app, '/api', 5, by(`${secret}_guess`));
      await statuses(app, `/api?token=${secret}`, 1, by('key:a'));
      await statuses(app, '/api', 1, by(`json:{"key":["${secret}"]}`));
      await statuses(app, '/api', 1, by('throw:500'));
      await new Promise(setImmediate);
      const everything = { maxStringLength: null, maxArrayLength: null, depth: null };
      const held = inspect(app.store, everything);
      // What is looked through has what may be there: it can find something.
      expect(held).toContain(NETWORK);
      expect(audited.map(({ details }) => details.limit)).toContain('api');
      expect(app.log.every('warn').join('\n')).toContain('exceeded');
      for (const text of [held, inspect(app.log.all, everything), inspect(audited, everything)]) {
        expect(text).not.toContain('SECRET');
      }
    });
  });

  describe('what only one of the two does', () => {
    it('J16 AuthInterceptor counts 401s of the handler, and nothing else that it throws', async () => {
      const app = await start({ controllers: [api(UseInterceptors(AuthInterceptor))] });
      for (const status of ['403', '409', '500']) {
        expect(await statuses(app, `/api/fails?with=${status}`, 4, by('guest'))).toEqual(
          Array(4).fill(Number(status)),
        );
      }
      const first = await send(app, '/api/fails?with=401', by('guest'));
      expect([first.status, JSON.parse(first.body).message]).toEqual([401, 'wrong password']);
      expect(await statuses(app, '/api/fails?with=401', 3, by('guest'))).toEqual([401, 401, 429]);
      // One bucket for both ways to fail.
      expect(await statuses(app, '/api', 1, by(GUESS))).toEqual([429]);
    });

    it('I10 it decides by the outcome, once: what succeeds, and closes, is no failure', async () => {
      const app = await start({ controllers: [api(UseInterceptors(AuthInterceptor))] });
      const closing: Sent = { headers: { ...by('guest').headers, connection: 'close' } };
      expect(await statuses(app, '/api', 5, closing)).toEqual(Array(5).fill(200));
      expect(app.store.size).toBe(0);
      expect(await statuses(app, '/api/fails?with=401', 4, closing)).toEqual([401, 401, 401, 429]);
    });

    it('ApiGuard tells the guards behind it who is calling, and leaves the handler’s 401 alone', async () => {
      const seen: unknown[] = [];
      class Roles implements CanActivate {
        canActivate(context: ExecutionContext): boolean {
          seen.push(context.switchToHttp().getRequest().headers['x-api-key']);
          return true;
        }
      }
      const app = await start({ controllers: [api(UseGuards(ApiGuard, Roles))] });
      expect(await statuses(app, '/api', 4, by(GUESS))).toEqual([401, 401, 401, 429]);
      expect(await statuses(app, '/api/fails?with=401', 4, by('guest'))).toEqual(Array(4).fill(401));
      expect(seen).toEqual(Array(4).fill('guest'));
    });
  });

  describe('bound in several places', () => {
    const BINDINGS: readonly [string, AppSetup][] = [
      [
        'APP_GUARD',
        { providers: [{ provide: APP_GUARD, useClass: ApiGuard }], controllers: [api(UseGuards())] },
      ],
      [
        'APP_INTERCEPTOR',
        {
          providers: [{ provide: APP_INTERCEPTOR, useClass: AuthInterceptor }],
          controllers: [api(UseGuards())],
        },
      ],
      [
        'both, and on the controller again',
        {
          providers: [
            { provide: APP_GUARD, useClass: ApiGuard },
            { provide: APP_INTERCEPTOR, useClass: AuthInterceptor },
          ],
          controllers: [
            api((target) => {
              UseGuards(ApiGuard)(target);
              UseInterceptors(AuthInterceptor)(target);
            }),
          ],
        },
      ],
    ];

    it.each(BINDINGS)('%s: asked, charged and counted once per request', async (_where, setup) => {
      const keys = new Keys();
      const app = await start({
        ...setup,
        providers: [...(setup.providers ?? []), { provide: Authenticator, useValue: keys }],
      });
      expect(await statuses(app, '/api', 11, by('key:a'))).toEqual([...Array(10).fill(200), 429]);
      expect(keys.asked).toHaveLength(11);
      expect(await statuses(app, '/api/throttled', 3, by('key:b'))).toEqual([200, 200, 429]);
      expect(await statuses(app, '/api', 4, by(GUESS))).toEqual([401, 401, 401, 429]);
    });

    it('other controllers of the app know no actor', async () => {
      @Controller('open')
      class Open {
        @Get()
        read(@CurrentActor() actor: Actor | null): { actor: Actor | null } {
          return { actor };
        }
      }
      const app = await start({ controllers: [api(UseGuards(ApiGuard)), Open] });
      expect((await send(app, '/open', by('key:a'))).body).toBe('{"actor":null}');
    });
  });

  it('a public tool of the API: keys pay from their own budget, guests by network and token', async () => {
    @Controller('tool')
    @UseGuards(ApiGuard)
    class Tool {
      @Post()
      @PublicTool(
        ({ request }) => (request as Requested & { headers: { 'x-client'?: string } }).headers['x-client'],
      )
      @Cost(4)
      run(): void {}
    }
    const app = await start(
      { controllers: [Tool] },
      { limits: { adminRatePerMin: 8, publicTokenRatePerMin: 4, publicIpRatePerMin: 100 } },
    );
    const guest = by('guest', NETWORK, 'POST');
    const client: Sent = { ...guest, headers: { ...guest.headers, 'x-client': 'c' } };
    expect(await statuses(app, '/tool', 2, client)).toEqual([201, 429]);
    const key = by('key:a', NETWORK, 'POST');
    expect(await statuses(app, '/tool', 3, { ...key, headers: { ...key.headers, 'x-client': 'c' } })).toEqual(
      [201, 201, 429],
    );
    // The network has paid for the guest alone: 4, and 1 for the refused call.
    const last = await send(app, '/tool', guest);
    expect(last.headers).toMatchObject({ 'ratelimit-limit': '100', 'ratelimit-remaining': '91' });
  });
});

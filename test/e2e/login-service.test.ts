import {
  Body,
  ConflictException,
  Controller,
  HttpCode,
  Injectable,
  Ip,
  Post,
  UnauthorizedException,
  type INestApplication,
} from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  ClientIp,
  LoginThrottle,
  MailThrottle,
  MemoryStore,
  RateLimitEvents,
  RateLimitException,
  SecondFactorThrottle,
  ThrottleLogin,
  type AttemptResult,
  type RateLimitOptions,
  type RefusalEvent,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { limitsOff } from '../../lib/testing/limits.js';
import { ADAPTERS, startApp, type RunningApp } from './support/app.js';
import { send } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

const A = 'user-a@x.example';
const RIGHT = 'right horse';
const CLIENT = '203.0.113.7';
const OTHER = '198.51.100.9';

interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** The operation itself, called by whatever transport. */
@Injectable()
class SignIn {
  verified = 0;

  constructor(private readonly throttle: LoginThrottle) {}

  signIn({ email, password }: Credentials, ip: string | null): Promise<AttemptResult<string>> {
    return this.throttle.attempt(email, ip, async () => {
      this.verified++;
      await Promise.resolve();
      return password === RIGHT ? 'session' : null;
    });
  }
}

@Controller()
class Routes {
  constructor(private readonly signIn: SignIn) {}

  @Post('login')
  @HttpCode(200)
  async login(@Body() credentials: Credentials, @ClientIp() ip: string | null): Promise<object> {
    const result = await this.signIn.signIn(credentials, ip);
    if (result.outcome === 'refused') throw new RateLimitException(result.decision, result.message);
    if (result.outcome === 'failed') throw new UnauthorizedException();
    return { session: result.value };
  }

  @Post('decorated')
  @HttpCode(200)
  @ThrottleLogin('email')
  decorated(@Body() { password }: Credentials, @Ip() _ip: string): object {
    if (password !== RIGHT) throw new UnauthorizedException();
    return {};
  }
}

checkNestVersion();

beforeEach(() => {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('RATE_LIMIT_')) vi.stubEnv(name, undefined);
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe.each(ADAPTERS)('on %s', (adapter) => {
  interface Login extends RunningApp {
    readonly clock: FakeClock;
    readonly store: MemoryStore;
    readonly refusals: RefusalEvent[];
    readonly login: LoginThrottle;
    readonly codes: SecondFactorThrottle;
    readonly mails: MailThrottle;
  }

  async function start(options: RateLimitOptions = {}): Promise<Login> {
    const clock = new FakeClock(new Date('2026-01-01T12:00:18Z'));
    const store = new MemoryStore({ clock });
    const running = await startApp(adapter, {
      controllers: [Routes],
      providers: [SignIn],
      rateLimit: { perIp: null, trustedProxies: ['127.0.0.1'], store, audit: null, ...options },
    });
    const refusals: RefusalEvent[] = [];
    const app: INestApplication = running.app;
    app.get(RateLimitEvents).all$.subscribe((event) => {
      if (event.type === 'refusal') refusals.push(event);
    });
    return {
      ...running,
      clock,
      store,
      refusals,
      login: app.get(LoginThrottle),
      codes: app.get(SecondFactorThrottle),
      mails: app.get(MailThrottle),
    };
  }

  function post(app: Login, path: string, body: object, client = CLIENT) {
    return send(app, path, {
      method: 'POST',
      headers: { 'x-forwarded-for': client, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  const wrong = () => null;
  const right = () => 'session';

  /** The outcomes of tries with a verification, one after the other. */
  async function outcomes(
    count: number,
    attempt: () => Promise<AttemptResult<unknown>>,
  ): Promise<AttemptResult<unknown>['outcome'][]> {
    const found: AttemptResult<unknown>['outcome'][] = [];
    for (let tried = 0; tried < count; tried++) found.push((await attempt()).outcome);
    return found;
  }

  const FAILED = ['failed', 'failed', 'failed', 'failed', 'failed'];

  describe('LoginThrottle.attempt()', () => {
    it('E09 failures over REST and over any other operation are counted together', async () => {
      const app = await start();
      const operation = app.app.get(SignIn);
      const guess = { email: A, password: 'wrong' };
      const byRest = async (path: string) => (await post(app, path, guess)).status;
      expect([await byRest('/login'), await byRest('/decorated'), await byRest('/login')]).toEqual([
        401, 401, 401,
      ]);
      expect(await outcomes(2, () => operation.signIn(guess, CLIENT))).toEqual(['failed', 'failed']);
      expect(await outcomes(1, () => operation.signIn(guess, CLIENT))).toEqual(['refused']);
      expect([await byRest('/login'), await byRest('/decorated')]).toEqual([429, 429]);
      expect(operation.verified).toBe(4);
      expect((await post(app, '/decorated', { email: A, password: RIGHT }, OTHER)).status).toBe(200);
    });

    it('E09 success by one way forgets what failed by the other', async () => {
      const app = await start();
      for (let tried = 0; tried < 4; tried++) await post(app, '/decorated', { email: A, password: 'wrong' });
      expect(await outcomes(1, () => app.login.attempt(A, CLIENT, right))).toEqual(['passed']);
      expect(await outcomes(6, () => app.login.attempt(A, CLIENT, wrong))).toEqual([...FAILED, 'refused']);
    });

    it('G11 a refusal has the message, the seconds and what a response needs', async () => {
      const app = await start();
      await outcomes(5, () => app.login.attempt(A, CLIENT, wrong));
      const verify = vi.fn(right);
      expect(await app.login.attempt(A, CLIENT, verify)).toEqual({
        outcome: 'refused',
        message: 'Too many login attempts. Please try again in 42 seconds.',
        decision: {
          allowed: false,
          policy: 'login',
          limit: 5,
          cost: 1,
          remaining: 0,
          resetAfter: 42,
          retryAfter: 42,
          reason: 'limit-exceeded',
          headers: { 'retry-after': '42', 'cache-control': 'no-store' },
        },
      });
      expect(verify).not.toHaveBeenCalled();
      const { status, headers, body } = await post(app, '/login', { email: A, password: RIGHT });
      expect([status, JSON.parse(body)]).toEqual([
        429,
        {
          statusCode: 429,
          message: 'Too many login attempts. Please try again in 42 seconds.',
          error: 'Too Many Requests',
        },
      ]);
      expect(Object.keys(headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
      app.clock.advance('41s');
      expect(await app.login.attempt(A, CLIENT, verify)).toMatchObject({
        message: 'Too many login attempts. Please try again in 1 second.',
        decision: { retryAfter: 1 },
      });
    });

    it.each([null, undefined, false] as const)('%s of verify is a failure', async (nothing) => {
      const app = await start();
      expect(await outcomes(6, () => app.login.attempt(A, CLIENT, () => nothing))).toEqual([
        ...FAILED,
        'refused',
      ]);
      expect(await outcomes(6, () => app.login.attempt(A, OTHER, async () => nothing))).toEqual([
        ...FAILED,
        'refused',
      ]);
    });

    it.each([0, '', true, Number.NaN, { id: 1 }])('%j of verify is a success', async (value) => {
      const app = await start();
      expect(await app.login.attempt<unknown>(A, CLIENT, () => value)).toEqual({ outcome: 'passed', value });
    });

    it('a 401 that verify throws is a failure, thrown on until it is refused', async () => {
      const app = await start();
      const thrown = new UnauthorizedException('wrong');
      const deny = () => {
        throw thrown;
      };
      for (let tried = 0; tried < 3; tried++)
        await expect(app.login.attempt(A, CLIENT, deny)).rejects.toBe(thrown);
      for (const error of [{ statusCode: 401 }, Object.assign(new Error('mine'), { status: 401 })]) {
        await expect(app.login.attempt(A, CLIENT, () => Promise.reject(error))).rejects.toBe(error);
      }
      expect((await app.login.attempt(A, CLIENT, deny)).outcome).toBe('refused');
    });

    it('J16 whatever else it throws counts nothing and forgets nothing', async () => {
      const app = await start();
      expect(await outcomes(4, () => app.login.attempt(A, CLIENT, wrong))).toEqual(FAILED.slice(1));
      for (const error of [new Error('a bug'), new ConflictException(), 'text', null, undefined]) {
        const failing = () => {
          throw error;
        };
        for (let tried = 0; tried < 6; tried++) {
          await expect(app.login.attempt(A, CLIENT, failing)).rejects.toBe(error);
        }
      }
      expect(await outcomes(2, () => app.login.attempt(A, CLIENT, wrong))).toEqual(['failed', 'refused']);
    });

    it('J13 of 50 parallel verifications that fail no more than five are answered so, and none later', async () => {
      const app = await start();
      let verified = 0;
      const slow = async () => {
        verified++;
        await new Promise((resolve) => setImmediate(resolve));
        return null;
      };
      const results = await Promise.all(Array.from({ length: 50 }, () => app.login.attempt(A, CLIENT, slow)));
      expect(results.filter(({ outcome }) => outcome === 'failed')).toHaveLength(5);
      expect(results.filter(({ outcome }) => outcome === 'refused')).toHaveLength(45);
      // Bound: the limit, and those that were on their way.
      expect(verified).toBeLessThanOrEqual(50);
      const before = verified;
      expect(await outcomes(10, () => app.login.attempt(A, CLIENT, slow))).toEqual(Array(10).fill('refused'));
      expect(verified).toBe(before);
    });

    it('J13 with ten on their way at a time no more than the limit and nine are verified', async () => {
      const app = await start();
      let verified = 0;
      let failed = 0;
      const worker = async (): Promise<void> => {
        for (let tried = 0; tried < 20; tried++) {
          const { outcome } = await app.login.attempt(A, CLIENT, async () => {
            verified++;
            await new Promise((resolve) => setImmediate(resolve));
            return false;
          });
          if (outcome === 'failed') failed++;
        }
      };
      await Promise.all(Array.from({ length: 10 }, worker));
      expect(failed).toBe(5);
      expect(verified).toBeLessThanOrEqual(5 + 9);
    });

    it('J03 identifiers that are unusable count per network; ids may be numbers', async () => {
      const app = await start();
      const unusable = [null, undefined, '', ' ', '\u200b', {} as never];
      for (const [tried, identifier] of unusable.entries()) {
        const [outcome] = await outcomes(1, () => app.login.attempt(identifier, CLIENT, wrong));
        expect(outcome).toBe(tried < 5 ? 'failed' : 'refused');
      }
      const ids = [7, '7', 7n, 7, '7', 7n];
      for (const [tried, id] of ids.entries()) {
        const [outcome] = await outcomes(1, () => app.login.attempt(id, CLIENT, wrong));
        expect(outcome).toBe(tried < 5 ? 'failed' : 'refused');
      }
    });

    it('A03 addresses count by network, in any spelling; all unknown ones are one client, and warned of', async () => {
      const app = await start();
      const from = (ip: string | null) => outcomes(1, () => app.login.attempt(A, ip, wrong));
      for (const ip of ['2001:db8:5:6::1', '2001:DB8:5:6::2', '2001:db8:5:6:0:0:0:3', '2001:db8:5:6::4'])
        await from(ip);
      expect([await from('2001:db8:5:6::5'), await from('2001:db8:5:6::6')]).toEqual([
        ['failed'],
        ['refused'],
      ]);
      expect(await from('2001:db8:5:7::1')).toEqual(['failed']);
      for (const ip of [null, 'junk', '', '010.0.0.1']) expect(await from(ip)).toEqual(['failed']);
      expect([await from('999.1.1.1'), await from(null)]).toEqual([['failed'], ['refused']]);
      expect(app.refusals.at(-1)).toMatchObject({ address: null, limit: 'login' });
      expect(app.log.own('warn')).toHaveLength(1);
    });

    it('is off with login: null, under limitsOff(), and on trial under dryRun', async () => {
      const off = await start({ login: null });
      expect(await outcomes(8, () => off.login.attempt(A, CLIENT, wrong))).toEqual(Array(8).fill('failed'));
      const tested = await start();
      limitsOff(tested.app);
      expect(await outcomes(8, () => tested.login.attempt(A, CLIENT, wrong))).toEqual(
        Array(8).fill('failed'),
      );
      const trial = await start({ dryRun: true });
      expect(await outcomes(8, () => trial.login.attempt(A, CLIENT, wrong))).toEqual(Array(8).fill('failed'));
      expect(trial.refusals.map(({ dryRun }) => dryRun)).toEqual([true, true, true]);
    });

    it('K11 without any shared store the sixth wrong sign-in is refused all the same', async () => {
      const app = await start({ store: new MemoryStore({ clock: new FakeClock() }) });
      expect(await outcomes(6, () => app.login.attempt(A, CLIENT, wrong))).toEqual([...FAILED, 'refused']);
    });
  });

  describe('what the pair does not cover', () => {
    const tenPerNetwork = { perNetwork: { limit: 10, per: '1h' } };
    const tenPerIdentifier = { perIdentifier: { limit: 10, per: '1h' } };

    it('J15 perNetwork: the eleventh wrong one is refused, a right one passes', async () => {
      const app = await start({ login: tenPerNetwork });
      const spray = async (name: number) =>
        (await outcomes(1, () => app.login.attempt(`user-${name}@x.example`, CLIENT, wrong)))[0];
      const sprayed = [];
      for (let name = 0; name < 12; name++) sprayed.push(await spray(name));
      expect(sprayed).toEqual([...Array<string>(10).fill('failed'), 'refused', 'refused']);
      expect(app.refusals[0]).toMatchObject({ decision: { policy: 'login-network', limit: 10 } });
      expect(await outcomes(1, () => app.login.attempt(A, CLIENT, right))).toEqual(['passed']);
      // Success forgets nothing of the network's.
      expect(await spray(20)).toBe('refused');
      expect(await outcomes(1, () => app.login.attempt(A, OTHER, wrong))).toEqual(['failed']);
      app.clock.advance('1h');
      expect(await spray(21)).toBe('failed');
    });

    it('J15 perNetwork: what it refuses still counts for the pair, so that verifications end', async () => {
      const app = await start({ login: { perNetwork: { limit: 1, per: '1h' } } });
      await app.login.attempt('nobody', CLIENT, wrong);
      const verify = vi.fn(wrong);
      expect(await outcomes(8, () => app.login.attempt(A, CLIENT, verify))).toEqual(Array(8).fill('refused'));
      expect(verify).toHaveBeenCalledTimes(5);
    });

    it('J15 perNetwork by the decorator: the failure itself is answered 429, a right one 200', async () => {
      const app = await start({ login: { perNetwork: { limit: 2, per: '1h' } } });
      const tries = [];
      for (const [email, password] of [
        ['a', 'wrong'],
        ['b', 'wrong'],
        ['c', 'wrong'],
        ['c', RIGHT],
        ['d', 'wrong'],
      ]) {
        tries.push((await post(app, '/decorated', { email, password })).status);
      }
      expect(tries).toEqual([401, 401, 429, 200, 429]);
    });

    it('J15 perIdentifier: a botnet is stopped before anything is verified', async () => {
      const app = await start({ login: tenPerIdentifier });
      const verify = vi.fn(wrong);
      const bot = async (number: number, email = A) =>
        (await outcomes(1, () => app.login.attempt(email, `198.51.100.${number}`, verify)))[0];
      const answers = [];
      for (let number = 0; number < 14; number++) answers.push(await bot(number));
      expect(answers).toEqual([...Array<string>(10).fill('failed'), ...Array<string>(4).fill('refused')]);
      expect(verify).toHaveBeenCalledTimes(10);
      expect(app.refusals[0]).toMatchObject({ decision: { policy: 'login-identifier', limit: 10 } });
      expect(await bot(200, 'user-b@x.example')).toBe('failed');
      // Nobody else's: a network that never signed in waits, right or wrong.
      expect(await outcomes(1, () => app.login.attempt(A, CLIENT, right))).toEqual(['refused']);
      app.clock.advance('1h');
      expect(await outcomes(1, () => app.login.attempt(A, CLIENT, right))).toEqual(['passed']);
    });

    it('J15 perIdentifier never stops a network that has signed in to the account before', async () => {
      const app = await start({ login: tenPerIdentifier });
      expect(await outcomes(1, () => app.login.attempt(A, CLIENT, right))).toEqual(['passed']);
      for (let number = 0; number < 14; number++) await app.login.attempt(A, `198.51.100.${number}`, wrong);
      expect(await outcomes(3, () => app.login.attempt(A, CLIENT, right))).toEqual([
        'passed',
        'passed',
        'passed',
      ]);
      expect((await post(app, '/decorated', { email: ` ${A.toUpperCase()}`, password: RIGHT })).status).toBe(
        200,
      );
      // Its own failures count for the pair alone.
      expect(await outcomes(6, () => app.login.attempt(A, CLIENT, wrong))).toEqual([...FAILED, 'refused']);
      expect(await outcomes(1, () => app.login.attempt(A, OTHER, right))).toEqual(['refused']);
      // Known there, and nowhere else.
      for (let number = 0; number < 14; number++) await app.login.attempt('b', `198.51.100.${number}`, wrong);
      expect(await outcomes(1, () => app.login.attempt('b', CLIENT, right))).toEqual(['refused']);
    });

    it('J15 a network is known for 30 days from its last sign-in', async () => {
      const app = await start({ login: { perIdentifier: { limit: 1, per: '1h' } } });
      await app.login.attempt(A, CLIENT, right);
      app.clock.advance('696h');
      await app.login.attempt(A, CLIENT, right);
      app.clock.advance('719h');
      await app.login.attempt(A, OTHER, wrong);
      expect(await outcomes(1, () => app.login.attempt(A, CLIENT, () => undefined))).toEqual(['failed']);
      app.clock.advance('2h');
      await app.login.attempt(A, OTHER, wrong);
      expect(await outcomes(1, () => app.login.attempt(A, CLIENT, right))).toEqual(['refused']);
    });

    it('J15 both are set by settings, live', async () => {
      vi.stubEnv('RATE_LIMIT_LOGIN_PER_NETWORK', '3/1h');
      const app = await start();
      const spray = async (name: string) =>
        (await outcomes(1, () => app.login.attempt(name, CLIENT, wrong)))[0];
      expect([await spray('a'), await spray('b'), await spray('c'), await spray('d')]).toEqual([
        'failed',
        'failed',
        'failed',
        'refused',
      ]);
      const config = app.app.get(ConfigService, { strict: false });
      config.set('rateLimit.login.perNetwork', null);
      config.set('rateLimit.login.perIdentifier', '1/1h');
      expect(await spray('e')).toBe('failed');
      expect(await spray('e')).toBe('refused');
    });
  });

  describe('SecondFactorThrottle.attempt()', () => {
    it('J09 counts per account from anywhere, apart from sign-ins; only a right code clears it', async () => {
      const app = await start();
      const sequence = [];
      for (let tried = 0; tried < 6; tried++) {
        const ip = `198.51.100.${tried}`;
        sequence.push(
          (await app.login.attempt(A, ip, right)).outcome,
          (await app.codes.attempt(A, ip, wrong)).outcome,
        );
      }
      expect(sequence.filter((_outcome, index) => index % 2 === 0)).toEqual(Array(6).fill('passed'));
      expect(sequence.filter((_outcome, index) => index % 2 === 1)).toEqual([...FAILED, 'refused']);
      expect(await app.codes.attempt(` ${A.toUpperCase()}`, OTHER, right)).toMatchObject({
        outcome: 'refused',
        message: 'Too many wrong codes. Please try again in 42 seconds.',
        decision: { policy: 'second-factor', limit: 5 },
      });
      expect(await outcomes(1, () => app.codes.attempt('another', OTHER, wrong))).toEqual(['failed']);
      app.clock.advance('42s');
      expect(await outcomes(4, () => app.codes.attempt(A, CLIENT, wrong))).toEqual(FAILED.slice(1));
      expect(await outcomes(1, () => app.codes.attempt(A, OTHER, right))).toEqual(['passed']);
      expect(await outcomes(6, () => app.codes.attempt(A, CLIENT, wrong))).toEqual([...FAILED, 'refused']);
    });

    it('J09 has numbers of its own', async () => {
      vi.stubEnv('RATE_LIMIT_LOGIN_CODES', '2/1h');
      const app = await start();
      expect(await outcomes(3, () => app.codes.attempt(1, CLIENT, wrong))).toEqual([
        'failed',
        'failed',
        'refused',
      ]);
      expect(await outcomes(6, () => app.login.attempt(A, CLIENT, wrong))).toEqual([...FAILED, 'refused']);
    });

    it('J09 a right password leaves the network’s own limits and other accounts as they were', async () => {
      const app = await start({
        login: { perNetwork: { limit: 1, per: '1h' }, perIdentifier: { limit: 1, per: '1h' } },
      });
      expect(await outcomes(6, () => app.codes.attempt(A, CLIENT, wrong))).toEqual([...FAILED, 'refused']);
      expect(await outcomes(1, () => app.login.attempt(A, CLIENT, wrong))).toEqual(['failed']);
    });

    it('without an account counts per network', async () => {
      const app = await start();
      expect(await outcomes(6, () => app.codes.attempt(null, CLIENT, wrong))).toEqual([...FAILED, 'refused']);
      expect(await outcomes(1, () => app.codes.attempt(null, OTHER, wrong))).toEqual(['failed']);
    });
  });

  describe('MailThrottle.attempt()', () => {
    it('J17 one mail per address and 60 seconds, in any spelling, known or not', async () => {
      const app = await start();
      const sent: string[] = [];
      const mail = (address: string, ip: string | null = CLIENT) =>
        app.mails.attempt(address, ip, () => void sent.push(address));
      expect([await mail(A), await mail(` ${A.toUpperCase()}`, OTHER)]).toEqual([true, false]);
      expect(await mail('user-b@x.example')).toBe(true);
      app.clock.advance('59999ms');
      expect(await mail(A)).toBe(false);
      app.clock.advance('1ms');
      expect([await mail(A), await mail(A)]).toEqual([true, false]);
      expect(sent).toEqual([A, 'user-b@x.example', A]);
      expect(app.refusals.map(({ limit, network }) => [limit, network])).toEqual([
        ['mail', OTHER],
        ['mail', CLIENT],
        ['mail', CLIENT],
      ]);
      expect(app.log.every('warn')[0]).toBe(`mail throttle exceeded: policy=mail network=${OTHER}`);
    });

    it('J17 the pause is no minute of the clock', async () => {
      const app = await start();
      expect(await app.mails.attempt(A, CLIENT, () => 1)).toBe(true);
      app.clock.advance('42s');
      expect(await app.mails.attempt(A, CLIENT, () => 1)).toBe(false);
      app.clock.advance('18s');
      expect(await app.mails.attempt(A, CLIENT, () => 1)).toBe(true);
    });

    it('J17 of parallel requests one sends', async () => {
      const app = await start();
      const send_ = vi.fn(async () => new Promise((resolve) => setImmediate(resolve)));
      const ran = await Promise.all(Array.from({ length: 20 }, () => app.mails.attempt(A, CLIENT, send_)));
      expect(ran.filter(Boolean)).toHaveLength(1);
      expect(send_).toHaveBeenCalledTimes(1);
    });

    it('J17 a mail that could not be sent was none: the error is thrown on, the next try sends', async () => {
      const app = await start();
      const down = new Error('no mail server');
      const failing = () => {
        throw down;
      };
      await expect(app.mails.attempt(A, CLIENT, failing)).rejects.toBe(down);
      await expect(app.mails.attempt(A, CLIENT, () => Promise.reject(down))).rejects.toBe(down);
      expect(await app.mails.attempt(A, CLIENT, () => 1)).toBe(true);
      await app.mails.attempt(A, CLIENT, failing);
      expect(await app.mails.attempt(A, CLIENT, failing)).toBe(false);
    });

    it('J17 a mail that fails on trial or with limits off gives nothing back that was not taken', async () => {
      const app = await start({ dryRun: true });
      const failing = () => Promise.reject(new Error('down'));
      await app.mails.attempt(A, CLIENT, () => 1);
      await expect(app.mails.attempt(A, CLIENT, failing)).rejects.toThrow('down');
      await app.mails.attempt(A, CLIENT, () => 1);
      expect(app.refusals).toHaveLength(2);
      limitsOff(app.app);
      await expect(app.mails.attempt(A, CLIENT, failing)).rejects.toThrow('down');
    });

    it('J17 an address that is unusable counts per network', async () => {
      const app = await start();
      const mail = (address: string | null, ip: string) => app.mails.attempt(address, ip, () => 1);
      expect([await mail('', CLIENT), await mail(null, CLIENT), await mail(' ', CLIENT)]).toEqual([
        true,
        false,
        false,
      ]);
      expect(await mail(null, OTHER)).toBe(true);
      expect(await mail(A, CLIENT)).toBe(true);
    });

    it('J17 the pause is a setting, and off with null', async () => {
      vi.stubEnv('RATE_LIMIT_LOGIN_MAILS', '1/10s');
      const app = await start();
      const mail = () => app.mails.attempt(A, CLIENT, () => 1);
      expect([await mail(), await mail()]).toEqual([true, false]);
      app.clock.advance('10s');
      expect(await mail()).toBe(true);
      app.app.get(ConfigService, { strict: false }).set('rateLimit.login.mails', null);
      expect([await mail(), await mail()]).toEqual([true, true]);
      const off = await start({ login: null });
      expect([
        await off.mails.attempt(A, CLIENT, () => 1),
        await off.mails.attempt(A, CLIENT, () => 1),
      ]).toEqual([true, true]);
    });
  });
});

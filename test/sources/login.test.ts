import { Body, Controller, Get, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import {
  ClientIp,
  MailThrottle,
  MemoryStore,
  RateLimitStore,
  Throttle,
  ThrottleLogin,
  ThrottleSecondFactor,
  type Bucket,
  type RateLimitOptions,
  type Verdict,
} from '../../lib/index.js';
import { clearLimits, FakeClock } from '../../lib/testing/index.js';
import { ADAPTERS, startApp, type RunningApp } from '../e2e/support/app.js';
import { send } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';

interface Input {
  readonly email: string;
  readonly password?: string;
  readonly code?: string;
}

/** What the handlers did, over all apps of a test. */
const done: { verified: number; mails: string[] } = { verified: 0, mails: [] };

@Controller('api/auth')
class Auth {
  constructor(private readonly mails: MailThrottle) {}

  @Post('login')
  @HttpCode(200)
  @ThrottleLogin('email')
  login(@Body() { password }: Input): string {
    done.verified++;
    if (password !== 'right') throw new UnauthorizedException();
    return 'welcome';
  }

  @Post('code')
  @HttpCode(200)
  @ThrottleSecondFactor('email')
  code(@Body() { code }: Input): string {
    if (code !== '123456') throw new UnauthorizedException();
    return 'welcome';
  }

  @Post('reset')
  @HttpCode(200)
  async reset(@Body() { email }: Input, @ClientIp() ip: string | null): Promise<string> {
    await this.mails.attempt(email, ip, () => done.mails.push(email));
    return 'a mail is on its way';
  }

  @Get('sessions')
  @Throttle({ limit: 2, per: '1m' })
  sessions(): void {}
}

const ADA = 'ada@example.org';
const BOB = 'bob@example.org';
const FIVE_WRONG = Array<number>(5).fill(401);

checkNestVersion();

describe.each(ADAPTERS)('the login throttle on %s', (adapter) => {
  async function start(options: RateLimitOptions = {}) {
    const clock = new FakeClock(new Date('2026-03-01T12:00:18Z'));
    const running = await startApp(adapter, {
      controllers: [Auth],
      rateLimit: { store: new MemoryStore({ clock }), ...options },
    });
    done.verified = 0;
    done.mails = [];
    return { running, clock };
  }

  function post(running: RunningApp, path: string, input: Input, from = '127.0.0.1') {
    const headers = { 'content-type': 'application/json' };
    return send(running, `/api/auth/${path}`, { method: 'POST', headers, body: JSON.stringify(input), from });
  }

  async function logins(running: RunningApp, count: number, email: string, password: string, from?: string) {
    const answers: number[] = [];
    for (let tried = 0; tried < count; tried++) {
      answers.push((await post(running, 'login', { email, password }, from)).status);
    }
    return answers;
  }

  it('SB-05 adds to the two other limits one for failed sign-ins, which those who succeed never meet', async () => {
    const { running } = await start({ perIp: { limit: 20, per: '1m' } });
    expect(await logins(running, 8, BOB, 'right')).toEqual(Array(8).fill(200));
    expect(await logins(running, 6, ADA, 'wrong')).toEqual([...FIVE_WRONG, 429]);
    const sessions = async () => (await send(running, '/api/auth/sessions')).status;
    expect([await sessions(), await sessions(), await sessions()]).toEqual([200, 200, 429]);
    // Three more are left of the 20 of this address.
    expect(await logins(running, 4, BOB, 'right')).toEqual([200, 200, 200, 429]);
  });

  it('SB-31 five failures of one e-mail from one address, then the seconds of the minute that are left', async () => {
    const { running, clock } = await start();
    expect(await logins(running, 5, ADA, 'wrong')).toEqual(FIVE_WRONG);
    const refused = await post(running, 'login', { email: ADA, password: 'right' });
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '42']);
    expect(JSON.parse(refused.body)).toEqual({
      statusCode: 429,
      message: 'Too many login attempts. Please try again in 42 seconds.',
      error: 'Too Many Requests',
    });
    // Refused before the password was looked at.
    expect(done.verified).toBe(5);
    expect(await logins(running, 1, BOB, 'wrong')).toEqual([401]);
    expect(await logins(running, 1, ADA, 'right', '127.0.0.2')).toEqual([200]);
    clock.advance('41999ms');
    expect(await logins(running, 1, ADA, 'right')).toEqual([429]);
    clock.advance('1ms');
    expect(await logins(running, 1, ADA, 'right')).toEqual([200]);
    const { running: strict } = await start({ login: { failures: { limit: 2, per: '1m' } } });
    expect(await logins(strict, 3, ADA, 'wrong')).toEqual([401, 401, 429]);
  });

  it('SB-32 a sign-in that succeeds makes the failures before it forgotten', async () => {
    const { running } = await start();
    for (let round = 0; round < 3; round++) {
      expect(await logins(running, 4, ADA, 'wrong')).toEqual(FIVE_WRONG.slice(1));
      expect(await logins(running, 1, ADA, 'right')).toEqual([200]);
    }
    expect(await logins(running, 6, ADA, 'wrong')).toEqual([...FIVE_WRONG, 429]);
  });

  it('SB-33 wrong codes and reset mails have limits of their own, per account and per address of the mail', async () => {
    const { running, clock } = await start({
      login: { codes: { limit: 2, per: '1m' }, mails: { limit: 1, per: '10m' } },
    });
    const codes: number[] = [];
    for (const from of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
      codes.push((await post(running, 'code', { email: ADA, code: '000000' }, from)).status);
    }
    expect(codes).toEqual([401, 401, 429]);
    expect(await logins(running, 1, ADA, 'right')).toEqual([200]);
    expect((await post(running, 'code', { email: BOB, code: '123456' })).status).toBe(200);

    const bodies = new Set<string>();
    for (const email of [ADA, ADA, BOB, ADA]) {
      const { status, body } = await post(running, 'reset', { email });
      bodies.add(`${status} ${body}`);
    }
    expect(done.mails).toEqual([ADA, BOB]);
    expect([...bodies]).toEqual(['200 a mail is on its way']);
    clock.advance('599s');
    await post(running, 'reset', { email: ADA });
    expect(done.mails).toEqual([ADA, BOB]);
    clock.advance('1s');
    await post(running, 'reset', { email: ADA });
    expect(done.mails).toEqual([ADA, BOB, ADA]);
  });

  it('SB-34 their counters are in the store of the module, and nobody can read there who tried', async () => {
    const asked: Bucket[] = [];
    class Watched extends MemoryStore {
      override consume(buckets: readonly Bucket[]): Verdict[] {
        asked.push(...buckets);
        return super.consume(buckets);
      }
    }
    const { running } = await start({ perIp: null, store: new Watched() });
    expect(running.app.get(RateLimitStore)).toBeInstanceOf(Watched);
    expect(await logins(running, 6, ADA, 'wrong')).toEqual([...FIVE_WRONG, 429]);
    await post(running, 'code', { email: ADA, code: '000000' });
    await post(running, 'reset', { email: ADA });
    expect(new Set(asked.map(({ policy }) => policy))).toEqual(new Set(['login', 'second-factor', 'mail']));
    expect(asked.map(({ key }) => key).join()).not.toMatch(/ada|example/);
    // Whoever empties that store forgets them.
    clearLimits(running.app);
    expect(await logins(running, 1, ADA, 'wrong')).toEqual([401]);
  });

  it('SB-57 with the memory store they are per process; processes with one store in common share them', async () => {
    const alone = [(await start()).running, (await start()).running];
    for (const running of alone) {
      expect(await logins(running, 6, ADA, 'wrong')).toEqual([...FIVE_WRONG, 429]);
    }
    const store = new MemoryStore({ clock: new FakeClock() });
    const [one, other] = [(await start({ store })).running, (await start({ store })).running];
    expect(await logins(one, 3, ADA, 'wrong')).toEqual([401, 401, 401]);
    expect(await logins(other, 3, ADA, 'wrong')).toEqual([401, 401, 429]);
    expect(await logins(one, 1, ADA, 'right')).toEqual([429]);
  });
});

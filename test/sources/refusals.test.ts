import { Controller, Get, Post, UnauthorizedException, UseGuards } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import {
  AuditSink,
  Throttle,
  ThrottleLogin,
  type AuditEntry,
  type RateLimitOptions,
} from '../../lib/index.js';
import { ADAPTERS, startApp, type AppSetup } from '../e2e/support/app.js';
import { send, statuses, via, type Answer, type Sent } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { as, HeaderAuth, timed } from './support/http.js';

@Controller()
@UseGuards(HeaderAuth)
class Routes {
  @Get('free')
  free(): string {
    return 'free';
  }

  @Get('tight')
  @Throttle({ limit: 1, per: '1m' })
  tight(): string {
    return 'tight';
  }

  @Get('seven')
  @Throttle({ limit: 7, per: '1m' })
  seven(): string {
    return 'seven';
  }

  @Post('login')
  @ThrottleLogin('email')
  login(): never {
    throw new UnauthorizedException();
  }
}

class Rows extends AuditSink {
  readonly rows: AuditEntry[] = [];

  override write(entry: AuditEntry): void {
    this.rows.push(entry);
  }
}

const PROXY = ['127.0.0.1'];
const START = Date.UTC(2026, 0, 1);
const CLIENT = '203.0.113.7';

/** Names of headers that speak of limits. */
function limitHeaders({ rawHeaders }: Answer): string[] {
  return rawHeaders.filter((name, index) => index % 2 === 0 && /rate-?limit|retry/i.test(name));
}

checkNestVersion();

describe.each(ADAPTERS)('refusals on %s', (adapter) => {
  async function start(options: RateLimitOptions = {}, more: AppSetup = {}) {
    const { clock, rateLimit } = timed({ trustedProxies: PROXY, authGuard: HeaderAuth, ...options });
    const running = await startApp(adapter, { controllers: [Routes], rateLimit, ...more });
    return { running, clock };
  }

  it('SB-04 of the address and of a route are both 429 with the wait', async () => {
    const { running } = await start({ perIp: { limit: 2, per: '1m' } });
    expect(await statuses(running, '/tight', 1)).toEqual([200]);
    const byRoute = await send(running, '/tight');
    const byAddress = await send(running, '/tight');
    expect([byRoute.status, byRoute.headers['retry-after']]).toEqual([429, '60']);
    expect([byAddress.status, byAddress.headers['retry-after']]).toEqual([429, '30']);
    expect(byRoute.body).toBe(byAddress.body);
  });

  it('SB-13 by the per-IP limit are warnings in the log, one each, under one name', async () => {
    const { running } = await start({ perIp: { limit: 1, per: '1m' } });
    expect(await statuses(running, '/free', 4, via(CLIENT))).toEqual([200, 429, 429, 429]);
    expect(await statuses(running, '/nope', 2, via('2001:db8:1:2::3'))).toEqual([404, 429]);
    const line = (network: string) => `per-IP rate limit exceeded: policy=per-ip network=${network}`;
    expect(running.log.every('warn')).toEqual([...Array(3).fill(line(CLIENT)), line('2001:db8:1:2::/64')]);
  });

  it('SB-14 reach the audit trail once per address and minute', async () => {
    const audit = new Rows();
    const { running, clock } = await start({ audit, perIp: { limit: 1, per: '1h' } });
    for (const client of [CLIENT, '198.51.100.9']) {
      expect(await statuses(running, '/free', 4, via(client))).toEqual([200, 429, 429, 429]);
    }
    clock.advance('59s');
    expect(await statuses(running, '/free', 1, via(CLIENT))).toEqual([429]);
    clock.advance('1s');
    expect(await statuses(running, '/free', 2, via(CLIENT))).toEqual([429, 429]);
    expect(audit.rows.map(({ action, ip, at }) => [action, ip, at - START])).toEqual([
      ['http.rate_limited', CLIENT, 0],
      ['http.rate_limited', '198.51.100.9', 0],
      ['http.rate_limited', CLIENT, 60_000],
    ]);
    expect(audit.rows[0].details).toMatchObject({ limit: 'ip', policy: 'per-ip' });
  });

  it('SB-30 by a route are logged and audited as those', async () => {
    const audit = new Rows();
    const { running } = await start({ audit });
    const ada = { headers: { ...as('ada').headers, 'x-forwarded-for': CLIENT } };
    expect(await statuses(running, '/tight', 3, ada)).toEqual([200, 429, 429]);
    const line = `route throttle exceeded: policy=GET /tight network=${CLIENT}`;
    expect(running.log.every('warn')).toEqual([line, line]);
    expect(audit.rows).toEqual([
      {
        action: 'http.rate_limited',
        at: START,
        ip: CLIENT,
        network: CLIENT,
        user: 'ada',
        details: { limit: 'route', policy: 'GET /tight', retryAfter: 60, dryRun: false },
      },
    ]);
  });

  it('SB-36 carry the whole seconds to wait, rounded up, whatever refused', async () => {
    const { running, clock } = await start({ perIp: { limit: 1, per: '500ms' } });
    const wait = async (path: string, sent: Sent = {}) => {
      const { status, headers } = await send(running, path, sent);
      expect(status).toBe(429);
      return headers['retry-after'];
    };
    const next = () => clock.advance('500ms');
    expect(await statuses(running, '/free', 1)).toEqual([200]);
    // Half a second.
    expect(await wait('/free')).toBe('1');
    for (let call = 0; call < 7; call++) {
      next();
      expect(await statuses(running, '/seven', 1)).toEqual([200]);
    }
    next();
    // 60 / 7 = 8.571 seconds after the first of them, 3.5 seconds ago.
    expect(await wait('/seven')).toBe('6');
    const post = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.org' }),
    };
    for (let tried = 0; tried < 5; tried++) {
      next();
      expect(await statuses(running, '/login', 1, post)).toEqual([401]);
    }
    next();
    // Of the minute of the clock 7 seconds are over, then 7.5.
    expect(await wait('/login', post)).toBe('53');
    next();
    expect(await wait('/login', post)).toBe('53');
  });

  it("SB-37 can say nothing but that, where an app wants no other header: headers: 'retry-after'", async () => {
    const { running } = await start({ headers: 'retry-after', perIp: { limit: 3, per: '1m' } });
    const answers = [];
    for (const path of ['/tight', '/tight', '/free', '/free']) answers.push(await send(running, path));
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200, 429]);
    const names = answers.map((answer) => limitHeaders(answer).map((name) => name.toLowerCase()));
    expect(names).toEqual([[], ['retry-after'], [], ['retry-after']]);
    // By default the three of draft 6 are there as well, and never any with X-.
    const { running: byDefault } = await start();
    const told = limitHeaders(await send(byDefault, '/free')).join();
    expect(told).toMatch(/^ratelimit-limit,ratelimit-remaining,ratelimit-reset$/i);
  });

  it('SB-38 can be read by pages of another origin', async () => {
    const origin = 'https://app.example';
    const { running } = await start({ perIp: { limit: 2, per: '1m' } }, { enableCors: { origin: [origin] } });
    const answers = [];
    for (const path of ['/tight', '/tight', '/free']) {
      answers.push(await send(running, path, { headers: { origin } }));
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 429]);
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe(origin);
      const exposed = String(headers['access-control-expose-headers']).toLowerCase().split(', ');
      expect(exposed).toContain('retry-after');
    }
  });
});

import { Body, Controller, Get, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { ClientIp, ThrottleLogin, type RateLimitOptions } from '../../lib/index.js';
import { ADAPTERS, startApp } from '../e2e/support/app.js';
import { send, statuses, via, type Target } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { startProxy, startRenderer } from './support/frontend.js';
import { timed } from './support/http.js';

@Controller()
class Api {
  @Get('whoami')
  whoami(@ClientIp() ip: string | null): string | null {
    return ip;
  }

  @Post('login')
  @HttpCode(200)
  @ThrottleLogin('email')
  login(@Body() { password }: { password?: string }): string {
    if (password !== 'right') throw new UnauthorizedException();
    return 'welcome';
  }
}

const LOOPBACK = ['127.0.0.1', '::1'];
/** Two browsers, and an address that a third one makes up. */
const ADA = { from: '127.0.0.21' };
const BOB = { from: '127.0.0.22' };
const FORGED = '203.0.113.66';

function login(from: string, password: string) {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'shared@example.org', password }),
    from,
  };
}

checkNestVersion();

describe.each(ADAPTERS)('an API on %s behind a server that renders pages', (adapter) => {
  async function startApi(options: RateLimitOptions = {}): Promise<Target> {
    const { rateLimit } = timed({ trustedProxies: LOOPBACK, ...options });
    return startApp(adapter, { controllers: [Api], rateLimit });
  }

  const seen = async (target: Target, sent: Parameters<typeof send>[2]) =>
    (await send(target, '/whoami', sent)).body;

  it('SB-20 a gateway may have limits of its own on top: what it refuses costs the app nothing', async () => {
    const api = await startApi({ perIp: { limit: 10, per: '1m' } });
    const gateway = await startProxy(api, 3);
    expect(await statuses(gateway, '/whoami', 8, ADA)).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    // Of the app's 10 the three that came through are gone, and this one.
    const { headers } = await send(api, '/whoami', via(ADA.from));
    expect([headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual(['10', '6']);
  });

  it('SB-45 that lists the addresses of its own machine, the server there can name its visitor', async () => {
    const api = await startApi();
    const site = await startProxy(await startRenderer(api, 1));
    expect([await seen(site, ADA), await seen(site, BOB)]).toEqual([ADA.from, BOB.from]);
    // An API that lists nobody sees the server alone.
    const wary = await startApi({ trustedProxies: [] });
    const same = await startProxy(await startRenderer(wary, 1));
    expect([await seen(same, ADA), await seen(same, BOB)]).toEqual(['127.0.0.1', '127.0.0.1']);
  });

  it('SB-46 the number of proxies in front of that server decides whether it names one, and which entry', async () => {
    const api = await startApi();
    const forged = { ...ADA, ...via(FORGED) };
    const none = await startProxy(await startRenderer(api, 0));
    expect(await seen(none, forged)).toBe('127.0.0.1');
    const one = await startProxy(await startRenderer(api, 1));
    expect(await seen(one, forged)).toBe(ADA.from);
    const two = await startProxy(await startProxy(await startRenderer(api, 2)));
    expect(await seen(two, forged)).toBe(ADA.from);
  });

  it('SB-47 without a proxy no entry is worth anything: with 0 hops a browser cannot choose its address', async () => {
    const api = await startApi({ perIp: { limit: 3, per: '1m' } });
    const site = await startRenderer(api, 0);
    const answers: number[] = [];
    for (const last of [1, 2, 3, 4]) {
      answers.push(...(await statuses(site, '/whoami', 1, { ...ADA, ...via(`203.0.113.${last}`) })));
    }
    expect(answers).toEqual([200, 200, 200, 429]);
    // With one hop and no proxy every header that a browser makes up would be a fresh limit.
    const careless = await startRenderer(api, 1);
    expect(await seen(careless, { ...ADA, ...via(FORGED) })).toBe(FORGED);
  });

  it('SB-48 so all browsers share its limits, until a proxy stands in front and the hop is counted', async () => {
    const shared = await startRenderer(await startApi({ perIp: { limit: 8, per: '1m' } }), 0);
    expect(await statuses(shared, '/login', 5, login(ADA.from, 'wrong'))).toEqual(Array(5).fill(401));
    // Bob, who knows the password, has to wait for Ada's failures; and for her requests too.
    expect(await statuses(shared, '/login', 1, login(BOB.from, 'right'))).toEqual([429]);
    expect(await statuses(shared, '/whoami', 3, BOB)).toEqual([200, 200, 429]);

    const api = await startApi({ perIp: { limit: 8, per: '1m' } });
    const apart = await startProxy(await startRenderer(api, 1));
    expect(await statuses(apart, '/login', 6, login(ADA.from, 'wrong'))).toEqual([
      ...Array<number>(5).fill(401),
      429,
    ]);
    expect(await statuses(apart, '/login', 1, login(BOB.from, 'right'))).toEqual([200]);
    expect(await statuses(apart, '/whoami', 8, BOB)).toEqual([...Array<number>(7).fill(200), 429]);
    expect(await statuses(apart, '/whoami', 3, ADA)).toEqual([200, 200, 429]);
  });
});

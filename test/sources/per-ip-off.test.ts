import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { RateLimitModule, TollgateError, type RateLimitOptions } from '../../lib/index.js';
import { limitsOff } from '../../lib/testing/index.js';
import { ADAPTERS, failedBoot, startApp } from '../e2e/support/app.js';
import { send, statuses } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { timed } from './support/http.js';

@Controller()
class Routes {
  @Get('free')
  free(): string {
    return 'free';
  }
}

afterEach(() => {
  vi.unstubAllEnvs();
});

checkNestVersion();

describe.each(ADAPTERS)('turning the per-IP limit off, on %s', (adapter) => {
  it('SB-15 null does it and nothing else: undefined and false leave it on or fail', async () => {
    const off = await startApp(adapter, { controllers: [Routes], rateLimit: { perIp: null } });
    const { status, headers } = await send(off, '/free');
    expect([status, headers['ratelimit-limit']]).toEqual([200, undefined]);
    const unsaid = await startApp(adapter, { controllers: [Routes], rateLimit: { perIp: undefined } });
    expect((await send(unsaid, '/free')).headers['ratelimit-limit']).toBe('600');
    for (const perIp of [false, '', 'off', -1]) {
      const { message } = await failedBoot(adapter, { rateLimit: { perIp } as unknown as RateLimitOptions });
      expect(message).toContain('perIp');
    }
  });

  it('SB-16 0 fails the boot, and a variable has no word for off: it is turned off in code', async () => {
    const zero = await failedBoot(adapter, { rateLimit: { perIp: { limit: 0, per: '1m' } } });
    expect(zero).toBeInstanceOf(TollgateError);
    expect(zero.message).toMatch(/perIp: limit is 0: give a whole number above 0 \(null turns a limit off/);
    for (const value of ['0/1m', '', 'null', 'none', 'off']) {
      vi.stubEnv('RATE_LIMIT_PER_IP', value);
      const { message } = await failedBoot(adapter, {});
      expect(message).toContain('RATE_LIMIT_PER_IP');
    }
    vi.stubEnv('RATE_LIMIT_PER_IP', '1/1m');
    const limited = await startApp(adapter, { controllers: [Routes] });
    expect(await statuses(limited, '/free', 2)).toEqual([200, 429]);
    const off = await startApp(adapter, { controllers: [Routes], rateLimit: { perIp: null } });
    expect(await statuses(off, '/free', 5)).toEqual(Array(5).fill(200));
  });

  it('SB-17 options that a factory makes may say so too', async () => {
    const module = RateLimitModule.forRootAsync({
      useFactory: async (): Promise<RateLimitOptions> => ({ perIp: null }),
    });
    const running = await startApp(adapter, { controllers: [Routes], rateLimit: null, imports: [module] });
    const answers = await Promise.all(Array.from({ length: 700 }, () => send(running, '/free')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('SB-18 so may a testing module, or a test after it is made', async () => {
    const byOption = await startApp(adapter, {
      testing: true,
      controllers: [Routes],
      rateLimit: { perIp: null },
    });
    expect((await send(byOption, '/free')).headers).not.toHaveProperty('ratelimit-limit');
    const { rateLimit } = timed({ perIp: { limit: 1, per: '1m' } });
    const switched = await startApp(adapter, { testing: true, controllers: [Routes], rateLimit });
    expect(await statuses(switched, '/free', 2)).toEqual([200, 429]);
    limitsOff(switched.app);
    expect(await statuses(switched, '/free', 20)).toEqual(Array(20).fill(200));
  });
});

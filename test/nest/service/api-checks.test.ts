import 'reflect-metadata';
import { inspect } from 'node:util';
import { Module } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryStore, RateLimitModule, RateLimitService, type RateLimitOptions } from '../../../lib/index.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

const NETWORK = '203.0.113.7';

async function start(options: RateLimitOptions = {}) {
  const clock = new FakeClock(new Date('2026-03-01T12:00:18Z'));
  const store = new MemoryStore({ clock });
  @Module({ imports: [RateLimitModule.forRoot({ store, audit: null, ...options })] })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  onTestFinished(() => app.close());
  return { app, clock, store, service: app.get(RateLimitService) };
}

describe('the checks of a machine API', () => {
  it('SA-23 SA-24 SA-36 answer with the headers to send, lower case, and the wait of a refusal', async () => {
    const { service } = await start({ limits: { adminRatePerMin: 5 } });
    expect((await service.checkAdmin('key-1', 3)).headers).toEqual({
      'ratelimit-limit': '5',
      'ratelimit-remaining': '2',
      'ratelimit-reset': '42',
    });
    const refused = await service.checkAdmin('key-1', 3);
    expect(refused).toMatchObject({ allowed: false, retryAfter: 42, receipt: null });
    expect(refused.headers).toMatchObject({ 'ratelimit-remaining': '2', 'retry-after': '42' });
  });

  it('I01 a cost above the limit can never pass and says so', async () => {
    const { service } = await start({ limits: { adminRatePerMin: 10 } });
    const never = await service.checkAdmin('key-1', 11);
    expect(never).toMatchObject({
      allowed: false,
      reason: 'cost-exceeds-limit',
      retryAfter: null,
      cost: 11,
      limit: 10,
    });
    expect(never.headers).not.toHaveProperty('retry-after');
    expect((await service.checkAdmin('key-1', 10)).allowed).toBe(true);
  });

  it('SA-14 addresses are counted by network, in whatever spelling; no address is one shared bucket', async () => {
    const { service } = await start({ limits: { publicIpRatePerMin: 2 } });
    const passes = async (ip: string | null) => (await service.checkPublic(ip, null, 1)).allowed;
    expect([await passes('2001:db8:5:6::1'), await passes('2001:DB8:5:6:0::2')]).toEqual([true, true]);
    expect(await passes('2001:db8:5:6::3')).toBe(false);
    expect(await passes('2001:db8:5:7::1')).toBe(true);
    expect([await passes(null), await passes('junk'), await passes(null)]).toEqual([true, true, false]);
    expect(await passes('::ffff:192.0.2.1')).toBe(true);
  });

  it('C05 SA-15 no client token and no long key is readable in the store’s keys', async () => {
    const { service, store } = await start();
    await service.checkPublic(NETWORK, 'sk_test_SECRET', 1);
    await service.checkAdmin('k'.repeat(1_000), 1);
    expect(store.size).toBe(3);
    expect(inspect(store, { depth: Infinity, showHidden: true })).not.toMatch(/SECRET|kkkkk/);
  });

  it('J05 SA-18 SA-19 a valid key passes from an address that is exhausted by failures', async () => {
    const { service } = await start({ limits: { adminPreauthFailPerMin: 3 } });
    const failures = [];
    for (let i = 0; i < 4; i++) failures.push((await service.recordAuthFailure(NETWORK)).allowed);
    expect(failures).toEqual([true, true, true, false]);
    expect(await service.checkPreauth(NETWORK)).toMatchObject({ allowed: false, retryAfter: 42 });
    expect((await service.checkAdmin('valid', 1)).allowed).toBe(true);
  });

  it('J13 fifty failures at once are answered 401 no more often than the limit', async () => {
    const { service } = await start({ limits: { adminPreauthFailPerMin: 3 } });
    const answers = await Promise.all(Array.from({ length: 50 }, () => service.recordAuthFailure(NETWORK)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(3);
  });

  it('G09 what is left of the failures is nobody’s business', async () => {
    const { service } = await start();
    expect((await service.recordAuthFailure(NETWORK)).headers).toEqual({});
  });

  it('SA-05 ConfigService.set() takes effect with the next call', async () => {
    const { app, service } = await start();
    const config = app.get(ConfigService, { strict: false });
    await service.checkUser('ada', 500);
    config.set('rateLimit.limits.adminRatePerMin', 100);
    expect(await service.checkUser('ada', 1)).toMatchObject({ allowed: false, limit: 100, remaining: 0 });
    config.set('rateLimit.limits.adminRatePerMin', 0);
    expect((await service.checkUser('ada', 1)).limit).toBe(100);
    config.set('rateLimit.limits.adminRatePerMin', 700);
    expect(await service.checkUser('ada', 1)).toMatchObject({ allowed: true, remaining: 199 });
  });

  it('I04 a wrong cost or id throws RangeError and charges nothing', async () => {
    const { service, store } = await start();
    for (const cost of [0, -1, 0.5, Number.NaN, Infinity, 2 ** 53, '5', null]) {
      await expect(service.checkAdmin('key', cost as never)).rejects.toThrow(RangeError);
      await expect(service.checkPublic(NETWORK, 'hash', cost as never)).rejects.toThrow(RangeError);
    }
    await expect(service.checkPublic(NETWORK, 'hash', 1, -1)).rejects.toThrow(RangeError);
    for (const id of ['', null, 5])
      await expect(service.checkUser(id as never, 1)).rejects.toThrow(RangeError);
    expect(store.size).toBe(0);
  });

  it('wrong numbers fail the boot by name, in code and in the environment', async () => {
    await expect(start({ limits: { adminRatePerMin: 0 } })).rejects.toThrow(
      /limits\.adminRatePerMin: limit is 0/,
    );
    process.env.RATE_LIMIT_PUBLIC_IP_RATE_PER_MIN = '12O';
    onTestFinished(() => void delete process.env.RATE_LIMIT_PUBLIC_IP_RATE_PER_MIN);
    await expect(start()).rejects.toThrow(/RATE_LIMIT_PUBLIC_IP_RATE_PER_MIN \(setting .*\): limit is "12O"/);
  });
});

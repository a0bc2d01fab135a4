import { Controller, Get, HttpException, Res } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { MemoryStore, RateLimitService } from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/index.js';
import { ADAPTERS, startApp } from '../e2e/support/app.js';
import { send } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { ONE, startService } from './support/service.js';

checkNestVersion();

describe('what a check of a machine API answers', () => {
  it('SA-23 a success tells the limit, what is left of it, and the seconds until its window ends', async () => {
    const { service, clock } = await startService({ adminRatePerMin: 5 });
    const lines = (remaining: string, reset: string) => ({
      'ratelimit-limit': '5',
      'ratelimit-remaining': remaining,
      'ratelimit-reset': reset,
    });
    expect((await service.checkAdmin('k', 3)).headers).toEqual(lines('2', '42'));
    clock.advance('41500ms');
    // Half a second is left, and seconds are whole.
    expect((await service.checkAdmin('k', 1)).headers).toEqual(lines('1', '1'));
    clock.advance('500ms');
    expect((await service.checkAdmin('k', 1)).headers).toEqual(lines('4', '60'));
  });

  it('SA-24 a refusal adds the seconds to wait, after which the same call passes', async () => {
    const { service, clock } = await startService({ adminRatePerMin: 5 });
    await service.checkAdmin('k', 3);
    const { headers } = await service.checkAdmin('k', 3);
    expect(headers).toMatchObject({
      'ratelimit-remaining': '2',
      'ratelimit-reset': '42',
      'retry-after': '42',
    });
    clock.advance('41s');
    expect((await service.checkAdmin('k', 3)).headers).toMatchObject({ 'retry-after': '1' });
    clock.advance('1s');
    expect((await service.checkAdmin('k', 3)).headers).not.toHaveProperty('retry-after');
  });

  it('SA-36 a check is a value either way: the headers, and the wait of a refusal', async () => {
    const { service } = await startService({ adminRatePerMin: 5 });
    expect(await service.checkAdmin('k', 5)).toMatchObject({
      allowed: true,
      reason: null,
      retryAfter: 0,
      headers: { 'ratelimit-remaining': '0' },
    });
    expect(await service.checkAdmin('k', 5)).toMatchObject({
      allowed: false,
      reason: 'limit-exceeded',
      retryAfter: 42,
      headers: { 'ratelimit-remaining': '0', 'retry-after': '42' },
    });
    for (const { headers } of [await service.checkUser('u', 1), await service.checkPublic(ONE, 't', 1)]) {
      expect(Object.keys(headers)).toEqual(['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']);
    }
  });
});

/** What Express's response and Fastify's reply have in common. */
interface Reply {
  header(name: string, value: string): unknown;
}

@Controller()
class ByHand {
  constructor(private readonly rateLimit: RateLimitService) {}

  @Get('export')
  async export(@Res({ passthrough: true }) reply: Reply): Promise<string> {
    const { allowed, headers } = await this.rateLimit.checkAdmin('k', 3);
    for (const [name, value] of Object.entries(headers)) reply.header(name, value);
    if (!allowed) throw new HttpException('Too Many Requests', 429);
    return 'exported';
  }
}

describe.each(ADAPTERS)('headers that a handler passes on, on %s', (adapter) => {
  it('SA-25 are lower case, in the value and on the wire', async () => {
    const { app, ...running } = await startApp(adapter, {
      controllers: [ByHand],
      rateLimit: {
        perIp: null,
        limits: { adminRatePerMin: 5 },
        store: new MemoryStore({ clock: new FakeClock() }),
      },
    });
    const answers = [await send(running, '/export'), await send(running, '/export')];
    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    const ours = (rawHeaders: readonly string[]) =>
      rawHeaders.filter((name, index) => index % 2 === 0 && /^(ratelimit|retry)-/i.test(name));
    const three = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];
    expect(answers.map(({ rawHeaders }) => ours(rawHeaders))).toEqual([three, [...three, 'retry-after']]);
    const { headers } = await app.get(RateLimitService).checkAdmin('k', 3);
    expect(Object.keys(headers)).toEqual([...three, 'retry-after', 'cache-control']);
  });
});

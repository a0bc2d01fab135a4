// What the app's own code throws for a decision of the service reaches the client with its headers.
import { BadRequestException, Controller, Get, HttpException } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { MemoryStore, RateLimitException, RateLimitService } from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp } from './support/app.js';
import { checkNestVersion } from './support/nest-version.js';

@Controller()
class Exports {
  constructor(private readonly rateLimit: RateLimitService) {}

  @Get('exports')
  async create(): Promise<string> {
    const decision = await this.rateLimit.consume('exports', 'all');
    if (!decision.allowed) throw new RateLimitException(decision, 'One export at a time');
    return 'queued';
  }

  @Get('own')
  own(): never {
    throw new HttpException({ message: 'mine' }, 429);
  }

  @Get('bad')
  bad(): never {
    throw new BadRequestException();
  }
}

checkNestVersion();

describe.each(ADAPTERS)('a refusal that a handler throws, on %s', (adapter) => {
  const start = () =>
    startApp(adapter, {
      controllers: [Exports],
      enableCors: { origin: 'https://app.example' },
      rateLimit: {
        policies: { exports: { limit: 1, per: '1m' } },
        store: new MemoryStore({ clock: new FakeClock() }),
      },
    });

  it('has the wait, the limit and its message', async () => {
    const { port } = await start();
    const get = () =>
      fetch(`http://127.0.0.1:${port}/exports`, { headers: { origin: 'https://app.example' } });
    expect((await get()).headers.get('retry-after')).toBeNull();
    const refused = await get();
    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({
      statusCode: 429,
      message: 'One export at a time',
      error: 'Too Many Requests',
    });
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      'retry-after': '60',
      'ratelimit-limit': '1',
      'ratelimit-remaining': '0',
      'cache-control': 'no-store',
      'access-control-allow-origin': 'https://app.example',
    });
  });

  it('leaves every other error as it is', async () => {
    const { port } = await start();
    for (const [path, status] of [
      ['own', 429],
      ['bad', 400],
    ] as const) {
      const answer = await fetch(`http://127.0.0.1:${port}/${path}`);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, null]);
    }
  });
});

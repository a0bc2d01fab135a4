import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { MemoryStore, RateLimitStore, Throttle, type RateLimitOptions } from '../../lib/index.js';
import { ADAPTERS, startApp, type RunningApp } from '../e2e/support/app.js';
import { send, statuses } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { timed } from './support/http.js';

@Controller()
class Routes {
  @Get('free')
  free(): void {}

  @Get('tight')
  @Throttle({ limit: 2, per: '1h' })
  tight(): void {}
}

checkNestVersion();

describe.each(ADAPTERS)('the built-in store on %s', (adapter) => {
  const start = (rateLimit: RateLimitOptions) => startApp(adapter, { controllers: [Routes], rateLimit });

  /** How many of `count` requests pass that a load balancer deals out to the instances in turn. */
  async function passed(instances: readonly RunningApp[], count: number): Promise<number> {
    let passing = 0;
    for (let sent = 0; sent < count; sent++) {
      const { status } = await send(instances[sent % instances.length], '/free');
      if (status === 200) passing++;
    }
    return passing;
  }

  it('SB-53 holds what was counted in memory, one entry per client and limit, without any set-up', async () => {
    const running = await start({});
    const store = running.app.get(RateLimitStore);
    expect(store).toBeInstanceOf(MemoryStore);
    if (!(store instanceof MemoryStore)) return;
    expect(store.size).toBe(0);
    for (const from of ['127.0.0.1', '127.0.0.2']) await statuses(running, '/tight', 3, { from });
    // Each has one per-IP bucket and one of the route.
    expect(store.size).toBe(4);
  });

  it('SB-54 each instance counts by itself, so that a client of n instances has n times the limit', async () => {
    const limit = { limit: 4, per: '1m' };
    const make = () => start(timed({ perIp: limit }).rateLimit);
    const instances = [await make(), await make(), await make()];
    expect(await passed(instances, 30)).toBe(12);
    // Unless they are given one store.
    const { rateLimit } = timed({ perIp: limit });
    const sharing = [await start(rateLimit), await start(rateLimit), await start(rateLimit)];
    expect(await passed(sharing, 30)).toBe(4);
  });

  it('SB-56 a restart forgets what was counted', async () => {
    const options: RateLimitOptions = { perIp: { limit: 5, per: '24h' } };
    for (let boot = 0; boot < 3; boot++) {
      const running = await start(options);
      expect(await statuses(running, '/tight', 3)).toEqual([200, 200, 429]);
      expect(await statuses(running, '/free', 3)).toEqual([200, 200, 429]);
      await running.app.close();
    }
  });
});

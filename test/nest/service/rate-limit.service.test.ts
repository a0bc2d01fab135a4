import { afterEach, describe, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import type { RateLimitOptions } from '../../../lib/index.js';
import { RateLimitRuntime } from '../../../lib/nest/rate-limit.runtime.js';
import { RateLimitService } from '../../../lib/nest/service/rate-limit.service.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

const opened: RateLimitRuntime[] = [];
afterEach(async () => {
  for (const runtime of opened.splice(0)) await runtime.close();
});

function setup(options: RateLimitOptions = {}) {
  const runtime = new RateLimitRuntime(
    {
      store: new MemoryStore({ clock: new FakeClock() }),
      policies: { exports: { limit: 2, per: '1m' }, daily: { limit: 100, per: '24h' } },
      ...options,
    },
    {},
  );
  opened.push(runtime);
  const events: RateLimitEvent[] = [];
  runtime.events.all$.subscribe((event) => events.push(event));
  return { service: new RateLimitService(runtime), events };
}

describe('decisions of the service', () => {
  it('carry the lines that tell a client about them, of a refusal with the wait', async () => {
    const { service } = setup();
    expect((await service.consume('exports', 'a')).headers).toEqual({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
      'ratelimit-reset': '30',
    });
    await service.consume('exports', 'a');
    expect((await service.consume('exports', 'a')).headers).toEqual({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '60',
      'retry-after': '30',
      'cache-control': 'no-store',
    });
  });

  it('carry them in the formats of the app, about all buckets of the step', async () => {
    const { service } = setup({ headers: ['draft-11', 'retry-after'] });
    const both = ['exports', 'daily'].map((policy) => ({ policy, key: 'a' }));
    for (const decision of [await service.peek(both), await service.charge(both)]) {
      expect(decision.headers).toEqual({
        ratelimit: `"exports";r=${decision.remaining};t=${decision.resetAfter}`,
        'ratelimit-policy': '"exports";q=2;w=60, "daily";q=100;w=86400',
      });
    }
    const { service: silent } = setup({ headers: null });
    expect((await silent.consume('exports', 'a')).headers).toEqual({});
  });

  it('are values: no event, and no refusal is thrown, also in a dry run', async () => {
    for (const dryRun of [false, true]) {
      const { service, events } = setup({ dryRun });
      const allowed: boolean[] = [];
      for (let call = 0; call < 3; call++) allowed.push((await service.consume('exports', 'a')).allowed);
      expect(allowed).toEqual([true, true, false]);
      expect(events).toEqual([]);
    }
  });
});

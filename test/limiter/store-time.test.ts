import { expect, it } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import type { Bucket } from '../../lib/algorithms/verdict.js';
import { Limiter } from '../../lib/limiter/limiter.js';
import { StoreTime } from '../../lib/limiter/store-time.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { RateLimitStore } from '../../lib/stores/store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';

const bucket: Bucket = { policy: 'p', namespace: 'n', key: 'k', rate: createRate('fixed', 9, 60e6), cost: 1 };

it('K08 the steps of one request share its time, another request has its own', async () => {
  const clock = new FakeClock();
  const memory = new MemoryStore({ clock });
  const given: number[] = [];
  /** Takes 40 ms for each answer. */
  const slowly = async <T>(timeout: number, step: () => T): Promise<T> => {
    given.push(timeout);
    clock.advance('40ms');
    return step();
  };
  class Shared extends RateLimitStore {
    override readonly clock = clock;
    override consume: RateLimitStore['consume'] = (asked, timeout) =>
      slowly(timeout, () => memory.consume(asked));
    override peek: RateLimitStore['peek'] = (asked, timeout) => slowly(timeout, () => memory.peek(asked));
    override charge: RateLimitStore['charge'] = (asked, timeout) =>
      slowly(timeout, () => memory.charge(asked));
    override refund: RateLimitStore['refund'] = (asked, timeout) =>
      slowly(timeout, () => memory.refund(asked));
    override clear: RateLimitStore['clear'] = (asked, timeout) => slowly(timeout, () => memory.clear(asked));
    override lease: RateLimitStore['lease'] = (asked, timeout) => slowly(timeout, () => memory.lease(asked));
    override close = () => {};
  }
  const limiter = new Limiter(new Shared(), 100);
  const time = new StoreTime();
  await limiter.consume([bucket], time);
  await limiter.peek([bucket], time);
  await limiter.charge([bucket], time);
  await limiter.clear([bucket], time);
  expect(given).toEqual([100, 60, 20, 0]);
  await limiter.consume([bucket], new StoreTime());
  expect(given.at(-1)).toBe(100);
});

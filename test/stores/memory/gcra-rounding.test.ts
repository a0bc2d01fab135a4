import { expect, it } from 'vitest';
import { createRate } from '../../../lib/algorithms/rate.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

it('a look under another limit of the same window leaves a full bucket as it is, rounding included', () => {
  const store = new MemoryStore({ clock: new FakeClock() });
  const bucket = (limit: number, cost: number) => ({
    policy: 'p',
    namespace: 'p',
    key: 'k',
    rate: createRate('gcra', limit, 60e6),
    cost,
  });
  const [{ until }] = store.consume([bucket(11, 11)]);
  store.peek([bucket(1, 0)]);
  expect(store.peek([bucket(11, 0)])[0].until).toBe(until);
  store.close();
});

import { describe, expect, it } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import type { Bucket } from '../../lib/algorithms/verdict.js';
import { Limiter } from '../../lib/limiter/limiter.js';
import { Policy } from '../../lib/limiter/policy.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import type { RateLimitStore } from '../../lib/stores/store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';

const policy = new Policy('exports');
const rate = createRate('fixed', 2, 60e6);

function bucket(key: string, cost = 1): Bucket {
  return policy.bucket('user', key, rate, cost);
}

function setup() {
  const store = new MemoryStore({ clock: new FakeClock() });
  return { store, limiter: new Limiter(store, 100) };
}

/** A store that answers later, and remembers what it was asked and with how much time. */
function askedStore() {
  const asked: [string, unknown][] = [];
  const store = new Proxy<RateLimitStore>(new MemoryStore(), {
    get: (target, operation) => {
      const method: unknown = Reflect.get(target, operation);
      if (typeof method !== 'function') return method;
      return (...given: unknown[]) => {
        asked.push([String(operation), given.at(-1)]);
        return Promise.resolve(method.apply(target, given));
      };
    },
  });
  return { asked, store };
}

describe('Limiter', () => {
  it('answers at once where the store does', () => {
    const { limiter } = setup();
    const verdicts = limiter.consume([bucket('a')]);
    expect(verdicts).not.toBeInstanceOf(Promise);
    expect(verdicts).toMatchObject([{ allowed: true, remaining: 1, taken: 1 }]);
  });

  it('M07 lets exactly the limit pass when 100 calls arrive at once', async () => {
    const { limiter } = setup();
    const tens = createRate('gcra', 10, 60e6);
    const calls = Array.from({ length: 100 }, async () =>
      limiter.consume([policy.bucket('user', 'a', tens, 1)]),
    );
    const verdicts = (await Promise.all(calls)).flat();
    expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(10);
  });

  it('passes every operation on, each with the time the store has', async () => {
    const { asked, store } = askedStore();
    const limiter = new Limiter(store, 70);
    await limiter.consume([bucket('a')]);
    await limiter.peek([bucket('a')]);
    await limiter.charge([bucket('a')]);
    await limiter.refund([]);
    await limiter.clear([]);
    expect(asked).toEqual([
      ['consume', 70],
      ['peek', 70],
      ['charge', 70],
      ['refund', 70],
      ['clear', 70],
    ]);
  });

  it('peeks without charging and clears what was charged', () => {
    const { limiter } = setup();
    void limiter.consume([bucket('a', 2)]);
    expect(limiter.peek([bucket('a')])).toMatchObject([{ allowed: false, remaining: 0 }]);
    void limiter.clear([bucket('a')]);
    for (let look = 0; look < 100; look++) void limiter.peek([bucket('a')]);
    expect(limiter.peek([bucket('a')])).toMatchObject([{ allowed: true, remaining: 2 }]);
  });

  it('refunds a charge that went beyond the limit', () => {
    const { limiter } = setup();
    const verdicts = limiter.charge([bucket('a', 5)]);
    if (verdicts instanceof Promise) throw new Error('a memory store answers at once');
    expect(verdicts).toMatchObject([{ allowed: false, remaining: 0 }]);
    void limiter.refund([{ charge: verdicts[0], cost: 4 }]);
    expect(limiter.peek([bucket('a')])).toMatchObject([{ allowed: true, remaining: 1 }]);
  });

  it('while switched off lets everything pass, counts nothing and touches no store', async () => {
    const { asked, store } = askedStore();
    const limiter = new Limiter(store, 100);
    limiter.setEnabled(false);
    for (const verdicts of [
      await limiter.consume([bucket('a', 50)]),
      await limiter.charge([bucket('a', 50)]),
    ]) {
      expect(verdicts).toMatchObject([{ allowed: true, remaining: 2, retryAfter: 0, taken: 0 }]);
    }
    expect(asked).toEqual([]);
  });

  it('goes on from what was counted when it is switched on again', () => {
    const { limiter } = setup();
    void limiter.consume([bucket('a')]);
    limiter.setEnabled(false);
    void limiter.consume([bucket('a')]);
    limiter.setEnabled(true);
    expect(limiter.consume([bucket('a')])).toMatchObject([{ allowed: true, remaining: 0 }]);
    expect(limiter.consume([bucket('a')])).toMatchObject([{ allowed: false }]);
  });
});

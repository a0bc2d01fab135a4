import { describe, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import { StoreTime } from '../../../lib/limiter/store-time.js';
import { Limiter } from '../../../lib/limiter/limiter.js';
import { Attempts, type AttemptKind } from '../../../lib/nest/login/attempts.js';
import { LoginRates } from '../../../lib/policies/login-rates.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

function attemptsOf(fold: ((text: string) => string) | null = null) {
  const events: RateLimitEvent[] = [];
  const report = (event: RateLimitEvent): void => void events.push(event);
  const limiter = new Limiter(new MemoryStore({ clock: new FakeClock() }), 100);
  const once = { limit: 1, per: '1m' };
  const rates = new LoginRates({ failures: once, codes: once }, () => ({}), report);
  const attempts = new Attempts(limiter, rates, fold, report);
  return {
    events,
    fail: (kind: AttemptKind, identifier: unknown, network: string): void =>
      void attempts.begin(kind, identifier, network, new StoreTime()).fail(),
    isFull: (kind: AttemptKind, identifier: unknown, network: string) =>
      attempts.begin(kind, identifier, network, new StoreTime()).open() !== null,
  };
}

describe('Attempts', () => {
  it('J04 sign-ins count per identifier and network, J09 codes per identifier from anywhere', () => {
    const { fail, isFull } = attemptsOf();
    fail('login', 'a', 'n');
    expect([isFull('login', 'A ', 'n'), isFull('login', 'a', 'm'), isFull('login', 'b', 'n')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(isFull('second-factor', 'a', 'n')).toBe(false);
    fail('second-factor', 'a', 'n');
    expect([isFull('second-factor', 'A', 'm'), isFull('second-factor', 'b', 'n')]).toEqual([true, false]);
  });

  it.each(['login', 'second-factor'] as const)(
    'J03 %s without a usable identifier counts per network',
    (kind) => {
      const { fail, isFull } = attemptsOf();
      fail(kind, undefined, 'n');
      expect([isFull(kind, { $ne: null }, 'n'), isFull(kind, '', 'm'), isFull(kind, 'a', 'n')]).toEqual([
        true,
        false,
        false,
      ]);
    },
  );

  it('C01 an account that is called like the place of codes is no such place', () => {
    const { fail, isFull } = attemptsOf();
    fail('second-factor', '', 'anywhere');
    expect(isFull('second-factor', 'anywhere', 'n')).toBe(false);
    fail('second-factor', 'anywhere', 'n');
    expect(isFull('second-factor', '', 'n')).toBe(false);
  });

  it('J01 folds as the app does, and by itself where that fails', () => {
    const { fail, isFull, events } = attemptsOf((text) => {
      if (text === 'bad') throw new Error('no');
      return text.slice(0, 1);
    });
    fail('login', 'alice', 'n');
    expect([isFull('login', 'anna', 'n'), isFull('login', 'bob', 'n')]).toEqual([true, false]);
    fail('login', 'bad', 'n');
    expect(isFull('login', 'bad', 'n')).toBe(true);
    expect(events[0]).toMatchObject({ type: 'unusable-key', policy: 'login.fold' });
  });
});

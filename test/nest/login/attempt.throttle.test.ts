import { UnauthorizedException } from '@nestjs/common';
import { describe, expect, it, vi } from 'vitest';
import { MemoryStore, type RateLimitOptions } from '../../../lib/index.js';
import { LoginThrottle, SecondFactorThrottle } from '../../../lib/nest/login/attempt.throttle.js';
import { RateLimitRuntime } from '../../../lib/nest/rate-limit.runtime.js';
import type { Verdict } from '../../../lib/algorithms/verdict.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

const CLIENT = '203.0.113.7';

function runtimeOf(options: RateLimitOptions = {}): RateLimitRuntime {
  return new RateLimitRuntime(
    { store: new MemoryStore({ clock: new FakeClock() }), audit: null, ...options },
    {},
  );
}

/** A store that is down, from the call on that a test says. */
class Failing extends MemoryStore {
  down: 'peek' | 'consume' | null = null;

  override peek(...given: Parameters<MemoryStore['peek']>): Verdict[] {
    if (this.down === 'peek') throw new Error('down');
    return super.peek(...given);
  }

  override consume(...given: Parameters<MemoryStore['consume']>): Verdict[] {
    if (this.down === 'consume') throw new Error('down');
    return super.consume(...given);
  }
}

describe('AttemptThrottle', () => {
  it('K11 where a try can’t be counted nothing is verified, and no failure is answered as one', async () => {
    const store = new Failing({ clock: new FakeClock() });
    const throttle = new LoginThrottle(runtimeOf({ store }));
    const verify = vi.fn(() => null);
    store.down = 'peek';
    await expect(throttle.attempt('a', CLIENT, verify)).rejects.toThrow('down');
    expect(verify).not.toHaveBeenCalled();
    store.down = 'consume';
    await expect(throttle.attempt('a', CLIENT, verify)).rejects.toThrow('down');
    expect(verify).toHaveBeenCalledTimes(1);
  });

  it('verify may answer at once or later; what it found comes back as it is', async () => {
    const throttle = new LoginThrottle(runtimeOf());
    const account = { id: 1 };
    const passed = await throttle.attempt('a', CLIENT, () => account);
    expect(passed).toEqual({ outcome: 'passed', value: account });
    if (passed.outcome === 'passed') expect(passed.value).toBe(account);
    expect(await throttle.attempt('a', CLIENT, async () => account)).toEqual(passed);
  });

  it('a 401 that comes too late among parallel ones is a refusal', async () => {
    const throttle = new LoginThrottle(runtimeOf({ login: { failures: { limit: 1, per: '1m' } } }));
    const deny = async (): Promise<null> => {
      await new Promise((resolve) => setImmediate(resolve));
      throw new UnauthorizedException();
    };
    const [first, second] = await Promise.allSettled([
      throttle.attempt('a', CLIENT, deny),
      throttle.attempt('a', CLIENT, deny),
    ]);
    expect(first).toMatchObject({ status: 'rejected', reason: expect.any(UnauthorizedException) });
    expect(second).toMatchObject({ status: 'fulfilled', value: { outcome: 'refused' } });
  });

  it('sign-ins and codes are two limits of one app, shared by all their instances', async () => {
    const runtime = runtimeOf({
      login: { failures: { limit: 1, per: '1m' }, codes: { limit: 1, per: '1m' } },
    });
    const wrong = () => false as const;
    expect((await new LoginThrottle(runtime).attempt('a', CLIENT, wrong)).outcome).toBe('failed');
    expect((await new LoginThrottle(runtime).attempt('a', CLIENT, wrong)).outcome).toBe('refused');
    expect((await new SecondFactorThrottle(runtime).attempt('a', CLIENT, wrong)).outcome).toBe('failed');
    expect((await new SecondFactorThrottle(runtime).attempt('a', null, wrong)).outcome).toBe('refused');
  });
});

// The contract of `RateLimitStore` as executable sentences, for the authors of stores and for any test runner.

import type { MaybePromise, RateLimitStore } from '../stores/store.js';
import { Bench, type Specify } from './contract/bench.js';
import { clockSteps } from './contract/clock-steps.js';
import { counting } from './contract/counting.js';
import { debts } from './contract/debts.js';
import { leases } from './contract/leases.js';
import { lists } from './contract/lists.js';
import { liveLimits } from './contract/live-limits.js';
import { names } from './contract/names.js';
import { numbers } from './contract/numbers.js';
import { refunds } from './contract/refunds.js';
import { waits } from './contract/waits.js';
import { windows } from './contract/windows.js';
import { FakeClock } from './fake-clock.js';

export interface StoreContractOptions<Store extends RateLimitStore> {
  /** The runner's own `test` or `it`: of vitest, jest, mocha, node:test. A few seconds per test are ample. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;

  /**
   * Makes a store without any buckets that tells the time by `clock`; called once per test, which closes it.
   *
   * A store in process reads both clocks. A store shared by servers takes `clock.wall()` for the time of its server in
   * every call. The clock stands still between the steps of a test and then jumps, so expiry must be relative: a key
   * lives as long as its window from when it was written, whatever date the test is at.
   */
  readonly create: (clock: FakeClock) => MaybePromise<Store>;

  /** How many buckets the store holds. Absent: what a call creates is judged by its answers alone. */
  readonly count?: (store: Store) => MaybePromise<number>;
}

/**
 * Defines the tests that every store passes. They assert with node:assert and depend on no runner:
 *
 * ```ts
 * import { test } from 'vitest';
 * storeContract({ test, create: (clock) => new MemoryStore({ clock }), count: (store) => store.size });
 * ```
 */
export function storeContract<Store extends RateLimitStore>(options: StoreContractOptions<Store>): void {
  const { test, create, count } = options;
  const specify: Specify = (title, run) => {
    test(title, async () => {
      const clock = new FakeClock(new Date('2026-03-01T12:00:00Z'));
      const store = await create(clock);
      try {
        await run(new Bench(store, clock, count === undefined ? null : () => count(store)));
      } finally {
        await store.close();
      }
    });
  };
  counting(specify);
  leases(specify);
  lists(specify);
  debts(specify);
  refunds(specify);
  windows(specify);
  waits(specify);
  liveLimits(specify);
  clockSteps(specify);
  names(specify);
  numbers(specify);
}

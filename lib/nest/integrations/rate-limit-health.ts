// Whether the store answers, in the shape that `@nestjs/terminus` reads. It is not needed for it.

import { Injectable } from '@nestjs/common';
import { createRate } from '../../algorithms/rate.js';
import type { Bucket } from '../../algorithms/verdict.js';
import { problemOf } from '../../errors.js';
import { RateLimitRuntime } from '../rate-limit.runtime.js';

/** What an indicator says, by its key. */
export type StoreHealth = Readonly<
  Record<string, { readonly status: 'up' } | { readonly status: 'down'; readonly problem: string }>
>;

/** A bucket that nobody counts in: looking costs nothing and creates nothing. */
const NOBODY: Bucket = {
  policy: 'health',
  namespace: 'service:health',
  key: 'nobody',
  rate: createRate('fixed', 1, 60e6),
  cost: 0,
};

@Injectable()
export class RateLimitHealth {
  constructor(private readonly runtime: RateLimitRuntime) {}

  /**
   * Asks the store itself, for at most `storeTimeout`: `health.check([() => this.rateLimitHealth.check()])`. A store that
   * is down fails no request where limits are local or open, so think twice before a load balancer asks this.
   */
  async check(key = 'rateLimit'): Promise<StoreHealth> {
    const { store, storeTimeout } = this.runtime;
    try {
      await store.peek([NOBODY], storeTimeout);
      return { [key]: { status: 'up' } };
    } catch (error) {
      return { [key]: { status: 'down', problem: problemOf(error) } };
    }
  }
}

// The per-IP limit: every request of a client network, whatever the route. Source B, SB-02, SB-06 to SB-12.

import type { Rate } from '../algorithms/rate.js';
import type { Verdict } from '../algorithms/verdict.js';
import type { Limiter } from '../limiter/limiter.js';
import { Policy } from '../limiter/policy.js';
import type { MaybePromise } from '../stores/store.js';

export class PerIpPolicy {
  private readonly policy = new Policy('per-ip');

  /** `rate` is read on every call; null turns the limit off. */
  constructor(
    private readonly limiter: Limiter,
    readonly rate: () => Rate | null,
  ) {}

  /** Charges one request to the network; null when the limit is off. */
  consume(network: string): MaybePromise<Verdict[]> | null {
    const rate = this.rate();
    if (rate === null) return null;
    return this.limiter.consume([this.policy.bucket('network', network, rate, 1)]);
  }
}

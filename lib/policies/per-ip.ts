// The per-IP limit: every request of a client network, whatever the route. Source B, SB-02, SB-06 to SB-12.

import type { Rate } from '../algorithms/rate.js';
import type { Bucket, OnStoreError } from '../algorithms/verdict.js';
import { Policy, whileDown } from '../limiter/policy.js';

export class PerIpPolicy {
  private readonly policy: Policy;

  /** `rate` is read on every call; null turns the limit off. */
  constructor(
    readonly rate: () => Rate | null,
    /** Counted and reported, refusing nothing. */
    readonly dryRun: boolean,
    onStoreError?: OnStoreError,
  ) {
    this.policy = new Policy('per-ip', 'per-ip', false, whileDown(onStoreError, dryRun));
  }

  /** The bucket that one request of a network is counted in; null when the limit is off. */
  bucket(network: string): Bucket | null {
    const rate = this.rate();
    return rate === null ? null : this.policy.bucket('network', network, rate, 1);
  }
}

// A named limit, with the namespaces of its buckets made once and not per call.

import type { Rate } from '../algorithms/rate.js';
import type { Bucket, OnStoreError } from '../algorithms/verdict.js';
import type { IdentityKind } from './partition-key.js';

/** What holds for a limit while a shared store is down: on trial it refuses nothing even then. */
export function whileDown(onStoreError: OnStoreError | undefined, dryRun: boolean): OnStoreError | undefined {
  return dryRun && onStoreError !== 'open' ? 'local' : onStoreError;
}

export class Policy {
  private readonly namespaces: Readonly<Record<IdentityKind, string>>;

  /**
   * `counter` names the buckets: policies that share one share their buckets. A `hidden` policy tells clients how
   * long to wait, never what is left. `onStoreError` is what holds while a shared store is down; absent: as elsewhere.
   */
  constructor(
    readonly name: string,
    counter: string = name,
    private readonly hidden: boolean = false,
    private readonly onStoreError?: OnStoreError,
  ) {
    // The kind comes first and has no colon, so no two pairs of kind and counter make the same namespace.
    this.namespaces = {
      user: `user:${counter}`,
      network: `network:${counter}`,
      key: `key:${counter}`,
      token: `token:${counter}`,
      all: `all:${counter}`,
      custom: `custom:${counter}`,
      service: `service:${counter}`,
    };
  }

  bucket(kind: IdentityKind, key: string, rate: Rate, cost: number): Bucket {
    const { name, hidden, onStoreError } = this;
    return { policy: name, namespace: this.namespaces[kind], key, rate, cost, hidden, onStoreError };
  }
}

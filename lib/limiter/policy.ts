// A named limit, with the namespaces of its buckets made once and not per call.

import type { Rate } from '../algorithms/rate.js';
import type { Bucket } from '../algorithms/verdict.js';
import type { IdentityKind } from './partition-key.js';

export class Policy {
  private readonly namespaces: Readonly<Record<IdentityKind, string>>;

  /** `counter` names the buckets and defaults to the name; policies that share a counter share their buckets. */
  constructor(
    readonly name: string,
    counter: string = name,
  ) {
    // The kind comes first and has no colon, so no two pairs of kind and counter make the same namespace.
    this.namespaces = {
      user: `user:${counter}`,
      network: `network:${counter}`,
      custom: `custom:${counter}`,
      service: `service:${counter}`,
    };
  }

  bucket(kind: IdentityKind, key: string, rate: Rate, cost: number): Bucket {
    return { policy: this.name, namespace: this.namespaces[kind], key, rate, cost };
  }
}

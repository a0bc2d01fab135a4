// Which buckets a call of the service means, checked and made ready for the limiter.

import type { Rate } from '../../algorithms/rate.js';
import type { Bucket } from '../../algorithms/verdict.js';
import { show } from '../../algorithms/rate.js';
import { badConfiguration, TollgateError } from '../../errors.js';
import type { Report } from '../../events/event.js';
import { partitionKey } from '../../limiter/partition-key.js';
import { Policy } from '../../limiter/policy.js';
import { UNKNOWN_NETWORK } from '../../network/network.js';
import type { Call } from '../call.js';
import { checkQuota, rateOf, type NamedQuota, type Quota } from '../quota.js';

/** One bucket of a call: a policy of the module by name, or a quota with a name of its own. */
export interface BucketRequest {
  readonly policy: string | NamedQuota;
  /** Whose bucket: any text; over 64 bytes, or unprintable, only its digest is kept. */
  readonly key: string;
  /** Cost units, a whole number above 0, or 0 to look only. Default 1. */
  readonly cost?: number;
}

/** A policy as the service counts it. */
interface Countable {
  readonly policy: Policy;
  readonly rate: (call: Call) => Rate;
}

/** What a limit's function is given outside of any request. */
const NO_CALL: Call = {
  transport: 'service',
  address: null,
  network: UNKNOWN_NETWORK,
  user: null,
  key: null,
  context: null,
  request: null,
};

export class BucketRequests {
  private readonly named = new Map<string, Countable>();
  private readonly inline = new WeakMap<NamedQuota, Countable>();

  /** `policies` are looked at when they are first asked for: at construction the boot has not checked them. */
  constructor(
    private readonly policies: ReadonlyMap<string, Quota>,
    private readonly report: Report,
  ) {}

  /** @throws RangeError on a wrong cost or two requests of one bucket; TollgateError on an unknown policy. */
  buckets(requests: readonly BucketRequest[]): Bucket[] {
    if (requests.length === 0) throw new RangeError('no bucket is named: give at least one policy and key');
    const buckets = requests.map(({ policy, key, cost = 1 }) => this.bucket(policy, key, cost));
    for (const [index, { namespace, key }] of buckets.entries()) {
      const first = buckets.findIndex((other) => other.namespace === namespace && other.key === key);
      if (first !== index)
        throw new RangeError(`the bucket of ${show(requests[index].key)} is named twice: add up its costs`);
    }
    return buckets;
  }

  /** The one bucket of the short form. */
  bucket(policy: string | NamedQuota, key: string, cost: number): Bucket {
    checkCost(cost);
    if (typeof key !== 'string' || key === '') throw new RangeError(`key is ${show(key)}: give a text`);
    const countable = typeof policy === 'string' ? this.ofName(policy) : this.ofQuota(policy);
    return countable.policy.bucket('service', partitionKey(key), countable.rate(NO_CALL), cost);
  }

  private ofName(name: string): Countable {
    const known = this.named.get(name);
    if (known !== undefined) return known;
    const quota = this.policies.get(name);
    if (quota === undefined) {
      const declared = [...this.policies.keys()].join(', ') || 'none';
      throw new TollgateError(
        'TOLLGATE_UNKNOWN_POLICY',
        `no policy is called '${name}': policies declares ${declared}`,
      );
    }
    const countable = this.countable(name, quota);
    this.named.set(name, countable);
    return countable;
  }

  private ofQuota(quota: NamedQuota): Countable {
    const known = this.inline.get(quota);
    if (known !== undefined) return known;
    const findings: string[] = [];
    checkQuota(quota, 'quota', findings);
    if (findings.length === 0 && quota.name === undefined)
      findings.push('quota.name is missing: buckets go by it');
    if (findings.length > 0) throw badConfiguration('RateLimitService', findings);
    const countable = this.countable(quota.name, quota);
    this.inline.set(quota, countable);
    return countable;
  }

  private countable(name: string, quota: Quota): Countable {
    return {
      policy: new Policy(quota.name ?? name, name, false, quota.onStoreError),
      rate: rateOf(quota, `${name}.limit`, this.report),
    };
  }
}

/** @throws RangeError unless the cost is a whole number, at least 0. */
export function checkCost(cost: unknown): void {
  if (typeof cost !== 'number' || !Number.isSafeInteger(cost) || cost < 0) {
    throw new RangeError(`cost is ${show(cost)}: give a whole number above 0, or 0 to look only`);
  }
}

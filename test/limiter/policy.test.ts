import { describe, expect, it } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import type { IdentityKind } from '../../lib/limiter/partition-key.js';
import { Policy } from '../../lib/limiter/policy.js';

const RATE = createRate('gcra', 10, 60e6);
const KINDS: readonly IdentityKind[] = ['user', 'network', 'custom', 'service'];

describe('a policy', () => {
  it('makes a bucket of what it is given', () => {
    expect(new Policy('per-ip').bucket('network', '203.0.113.5', RATE, 3)).toEqual({
      policy: 'per-ip',
      namespace: 'network:per-ip',
      key: '203.0.113.5',
      rate: RATE,
      cost: 3,
      hidden: false,
    });
  });

  it('C02 keeps kinds of identity apart, whatever their keys are', () => {
    const policy = new Policy('reports');
    const namespaces = KINDS.map((kind) => policy.bucket(kind, 'same', RATE, 1).namespace);
    expect(new Set(namespaces).size).toBe(KINDS.length);
  });

  it('C01 no two pairs of kind and counter share a namespace', () => {
    const counters = ['a', 'user:a', ':a', 'user', 'network:user:a', ''];
    const namespaces = counters.flatMap((counter) =>
      KINDS.map((kind) => new Policy('p', counter).bucket(kind, 'k', RATE, 1).namespace),
    );
    expect(new Set(namespaces).size).toBe(counters.length * KINDS.length);
  });

  it('C08 policies of one counter share buckets, whatever their names and numbers are', () => {
    const one = new Policy('one', 'shared').bucket('user', 'k', RATE, 1);
    const other = new Policy('other', 'shared').bucket('user', 'k', createRate('gcra', 5, 1e6), 1);
    expect(other.namespace).toBe(one.namespace);
    expect(other.policy).not.toBe(one.policy);
  });
});

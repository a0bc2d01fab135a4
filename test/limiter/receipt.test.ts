import { describe, expect, it } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import type { Verdict } from '../../lib/algorithms/verdict.js';
import { Receipt } from '../../lib/limiter/receipt.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';

function charges(...costs: number[]): Verdict[] {
  const rate = createRate('gcra', 100, 60e6);
  const buckets = costs.map((cost, index) => ({ policy: 'p', namespace: `n${index}`, key: 'k', rate, cost }));
  return new MemoryStore().consume(buckets);
}

const ISSUER = {};

describe('a receipt', () => {
  it('gives back what each bucket took', () => {
    const made = charges(3, 7);
    expect(new Receipt(made, ISSUER).take(null)).toEqual([
      { charge: made[0], cost: 3 },
      { charge: made[1], cost: 7 },
    ]);
  });

  it('or a part of it, in each bucket', () => {
    expect(new Receipt(charges(3, 7), ISSUER).take(2).map(({ cost }) => cost)).toEqual([2, 2]);
  });

  it('gives back nothing for a part of nothing, which uses it up', () => {
    const receipt = new Receipt(charges(3), ISSUER);
    expect(receipt.take(0).map(({ cost }) => cost)).toEqual([0]);
    expect(receipt.used).toBe(true);
  });

  it('I06 works once', () => {
    const receipt = new Receipt(charges(3), ISSUER);
    expect(receipt.used).toBe(false);
    expect(receipt.take(1)).toHaveLength(1);
    expect(receipt.used).toBe(true);
    expect(receipt.take(null)).toEqual([]);
    expect(receipt.take(1)).toEqual([]);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decisionOf, waitOf } from '../../lib/algorithms/decision.js';
import { createRate } from '../../lib/algorithms/rate.js';
import type { Verdict } from '../../lib/algorithms/verdict.js';

const bucket = {
  policy: 'reports',
  namespace: 'reports|user',
  key: '7',
  cost: 1,
  rate: createRate('gcra', 30, 60e6),
};

const HEADERS = { 'ratelimit-limit': '30' };

function verdict(part: Partial<Verdict>): Verdict {
  return {
    bucket,
    allowed: true,
    remaining: 29,
    resetAfter: 2e6,
    retryAfter: 0,
    taken: 2e6,
    until: 3e6,
    ...part,
  };
}

describe('decisionOf', () => {
  it('says who answered and what is left', () => {
    expect(decisionOf(verdict({}), HEADERS)).toEqual({
      allowed: true,
      policy: 'reports',
      limit: 30,
      cost: 1,
      remaining: 29,
      resetAfter: 2,
      retryAfter: 0,
      reason: null,
      headers: HEADERS,
    });
  });

  it('I01 tells "not now" from "never"', () => {
    expect(decisionOf(verdict({ allowed: false, retryAfter: 2e6 }), HEADERS)).toMatchObject({
      retryAfter: 2,
      reason: 'limit-exceeded',
    });
    expect(decisionOf(verdict({ allowed: false, retryAfter: Infinity }), HEADERS)).toMatchObject({
      retryAfter: null,
      reason: 'cost-exceeds-limit',
    });
  });

  it('G03 waits at least one second when refused, whatever a store answers', () => {
    for (const retryAfter of [1, 1_000, 500_000, 999_999, 1_000_000, 0, -5_000]) {
      expect(decisionOf(verdict({ allowed: false, retryAfter }), HEADERS).retryAfter).toBe(1);
    }
  });

  it('G02 G04 rounds seconds up', () => {
    const seconds = (retryAfter: number) =>
      decisionOf(verdict({ allowed: false, retryAfter }), HEADERS).retryAfter;
    expect([35_000_000, 1_400_000, 12_345_000, 1_000_001].map(seconds)).toEqual([35, 2, 13, 2]);
    expect(decisionOf(verdict({ resetAfter: 42_000_000 }), HEADERS).resetAfter).toBe(42);
    expect(decisionOf(verdict({ resetAfter: 41_001_000 }), HEADERS).resetAfter).toBe(42);
    expect(decisionOf(verdict({ resetAfter: 0 }), HEADERS).resetAfter).toBe(0);
  });

  it('is made of whole numbers that a header can show, up to ten years', () => {
    const microseconds = fc.integer({ min: 0, max: 315_360_000_000_000 });
    fc.assert(
      fc.property(microseconds, microseconds, fc.boolean(), (resetAfter, wait, allowed) => {
        const decision = decisionOf(
          verdict({ resetAfter, allowed, retryAfter: allowed ? 0 : wait + 1 }),
          HEADERS,
        );
        expect(String(decision.resetAfter)).toMatch(/^(0|[1-9][0-9]*)$/);
        expect(String(decision.retryAfter)).toMatch(allowed ? /^0$/ : /^[1-9][0-9]*$/);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('waitOf', () => {
  it('SB-12 is what the decision says: 0 when allowed, whole seconds when refused, null when waiting never helps', () => {
    for (const [part, wait] of [
      [{}, 0],
      [{ allowed: false, retryAfter: 1 }, 1],
      [{ allowed: false, retryAfter: 19_000_001 }, 20],
      [{ allowed: false, retryAfter: Infinity }, null],
    ] as const) {
      expect(waitOf(verdict(part))).toBe(wait);
      expect(decisionOf(verdict(part), HEADERS).retryAfter).toBe(wait);
    }
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import { allAllowed, tighter, tightest, type Verdict } from '../../lib/algorithms/verdict.js';

const bucket = { policy: 'p', namespace: 'p', key: 'k', cost: 1, rate: createRate('fixed', 10, 60e6) };

function passes(remaining: number, resetAfter = 1): Verdict {
  return { bucket, allowed: true, remaining, resetAfter, retryAfter: 0, taken: 1, until: 1 };
}

function refuses(retryAfter: number, remaining = 0, resetAfter = 1): Verdict {
  return { bucket, allowed: false, remaining, resetAfter, retryAfter, taken: 0, until: 1 };
}

describe('allAllowed', () => {
  it('is true only when every bucket has room', () => {
    expect(allAllowed([passes(1), passes(0)])).toBe(true);
    expect(allAllowed([passes(1), refuses(1), passes(1)])).toBe(false);
    expect(allAllowed([refuses(1)])).toBe(false);
    expect(allAllowed([])).toBe(true);
  });
});

describe('tightest', () => {
  const found = (verdicts: Verdict[]) => verdicts.indexOf(tightest(verdicts));

  it('SA-45 reports the bucket with the least room left', () => {
    expect(found([passes(5), passes(2), passes(9)])).toBe(1);
  });

  it('reports a refusal rather than any room', () => {
    expect(found([passes(0), refuses(1, 9), passes(0)])).toBe(1);
  });

  it('reports of several refusals the one with the longest wait, for ever before all', () => {
    expect(found([refuses(5), refuses(50, 9), refuses(7)])).toBe(1);
    expect(found([refuses(5e15), refuses(Infinity, 9), refuses(7)])).toBe(1);
  });

  it('reports among equals the one that takes longest to empty, then the first', () => {
    expect(found([passes(2, 10), passes(2, 30), passes(2, 20)])).toBe(1);
    expect(found([refuses(5, 1, 10), refuses(5, 1, 30)])).toBe(1);
    expect(found([refuses(5, 2), refuses(5, 1)])).toBe(1);
    expect(found([passes(2, 10), passes(2, 10)])).toBe(0);
  });

  it('is the same bucket whatever the order, and no other is tighter', () => {
    const small = fc.integer({ min: 0, max: 3 });
    const verdicts = fc.oneof(
      fc.tuple(small, small).map(([remaining, resetAfter]) => passes(remaining, resetAfter)),
      fc
        .tuple(fc.constantFrom(1, 2, 3, Infinity), small, small)
        .map(([wait, remaining, resetAfter]) => refuses(wait, remaining, resetAfter)),
    );
    fc.assert(
      fc.property(fc.array(verdicts, { minLength: 1, maxLength: 6 }), (list) => {
        const best = tightest(list);
        expect(list.some((verdict) => tighter(verdict, best))).toBe(false);
        expect(tightest(list.toReversed())).toEqual(best);
        for (const a of list) for (const b of list) expect(tighter(a, b) && tighter(b, a)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });
});

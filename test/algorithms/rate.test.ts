import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRate, rateProblem, show } from '../../lib/algorithms/rate.js';

const MINUTE = 60_000_000;

describe('createRate', () => {
  it('counts a fixed window in cost units', () => {
    expect(createRate('fixed', 100, MINUTE)).toEqual({
      algorithm: 'fixed',
      limit: 100,
      window: MINUTE,
      unit: 1,
      capacity: 100,
    });
  });

  it('counts GCRA in emission intervals of whole microseconds, rounded up', () => {
    expect(createRate('gcra', 600, MINUTE)).toMatchObject({ unit: 100_000, capacity: MINUTE });
    expect(createRate('gcra', 7, MINUTE)).toMatchObject({ unit: 8_571_429, capacity: 60_000_003 });
  });

  it('never lets GCRA be faster than asked, nor slower by more than 1 %', () => {
    const quotas = fc.record({
      limit: fc.integer({ min: 1, max: 10_000_000 }),
      window: fc.integer({ min: 1_000, max: 3e12 }),
    });
    fc.assert(
      fc.property(quotas, ({ limit, window }) => {
        fc.pre(rateProblem('gcra', limit, window) === null);
        const { capacity, unit } = createRate('gcra', limit, window);
        expect(Number.isSafeInteger(unit)).toBe(true);
        expect(capacity).toBeGreaterThanOrEqual(window);
        expect(capacity).toBeLessThanOrEqual(window * 1.01);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('rateProblem', () => {
  it('P01 P02 takes whole numbers above 0 only, and says what to write', () => {
    for (const limit of [
      0,
      -1,
      1.5,
      NaN,
      Infinity,
      2 ** 53,
      '10',
      '6O',
      '',
      ' ',
      true,
      null,
      undefined,
      [10],
      {},
    ]) {
      for (const algorithm of ['gcra', 'fixed'] as const) {
        expect(rateProblem(algorithm, limit, MINUTE), show(limit)).toMatch(
          /^limit is .*: give a whole number above 0/,
        );
      }
    }
  });

  it('takes what can be spaced in whole microseconds', () => {
    expect(rateProblem('gcra', 1, 1_000)).toBeNull();
    expect(rateProblem('gcra', 600, MINUTE)).toBeNull();
    expect(rateProblem('gcra', 120_000, MINUTE)).toBeNull();
    expect(rateProblem('gcra', 1, 315_360_000_000_000)).toBeNull();
    expect(rateProblem('fixed', 2 ** 40, MINUTE)).toBeNull();
  });

  it('names a way out where whole microseconds would slow a quota by over 1 %', () => {
    for (const limit of [30_001, 700_000, 2_000_000]) {
      expect(rateProblem('gcra', limit, 1_000_000)).toMatch(/lower limit, or algorithm: 'fixed'/);
      expect(rateProblem('fixed', limit, 1_000_000)).toBeNull();
    }
    expect(rateProblem('gcra', 999_999, MINUTE)).toMatch(/within 1 %/);
  });
});

describe('show', () => {
  it('shows any value on one short line', () => {
    expect(show('1d')).toBe('"1d"');
    expect(show('a\nb')).toBe('"a\\nb"');
    expect(show('x'.repeat(200))).toBe(`"${'x'.repeat(60)}…"`);
    expect(show([1, 2])).toBe('a list');
    expect(show({ secret: 1 })).toBe('an object');
    expect(show(() => 1)).toBe('a function');
    expect([show(0), show(NaN), show(null), show(undefined), show(true)]).toEqual([
      '0',
      'NaN',
      'null',
      'undefined',
      'true',
    ]);
  });
});

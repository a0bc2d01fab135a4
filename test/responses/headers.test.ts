import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Decision } from '../../lib/algorithms/decision.js';
import { EXPOSED_HEADERS, exposeList, headersOf } from '../../lib/responses/headers.js';

const PASSED: Decision = {
  allowed: true,
  policy: 'per-ip',
  limit: 10,
  cost: 1,
  remaining: 7,
  resetAfter: 40,
  retryAfter: 0,
  reason: null,
};
const REFUSED: Decision = {
  ...PASSED,
  allowed: false,
  remaining: 0,
  retryAfter: 20,
  reason: 'limit-exceeded',
};

describe('header lines', () => {
  it('SA-23, G10 of a call that passed are limit, remaining and reset', () => {
    expect(headersOf(PASSED)).toEqual({
      'ratelimit-limit': '10',
      'ratelimit-remaining': '7',
      'ratelimit-reset': '40',
    });
  });

  it('SB-36, G08 of a refusal have the wait, and forbid caching', () => {
    expect(headersOf(REFUSED)).toEqual({
      'ratelimit-limit': '10',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '40',
      'retry-after': '20',
      'cache-control': 'no-store',
    });
  });

  it('have no wait where waiting never helps', () => {
    const lines = headersOf({ ...REFUSED, retryAfter: null, reason: 'cost-exceeds-limit' });
    expect(lines).not.toHaveProperty('retry-after');
    expect(lines).toHaveProperty('cache-control', 'no-store');
  });

  it('G04 are whole numbers, however large, with lower-case names', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.nat({ max: 400 * 86_400 }), (limit, seconds) => {
        const lines = headersOf({ ...REFUSED, limit, resetAfter: seconds, retryAfter: seconds + 1 });
        for (const [name, value] of Object.entries(lines)) {
          expect(name).toBe(name.toLowerCase());
          if (name !== 'cache-control') expect(value).toMatch(/^(0|[1-9][0-9]*)$/);
        }
      }),
    );
  });
});

describe('what browsers on another origin may read', () => {
  it.each([
    [undefined, EXPOSED_HEADERS.join(', ')],
    ['', EXPOSED_HEADERS.join(', ')],
    [' ', EXPOSED_HEADERS.join(', ')],
    ['X-Total', `X-Total, ${EXPOSED_HEADERS.join(', ')}`],
    ['X-Total,X-Page', `X-Total,X-Page, ${EXPOSED_HEADERS.join(', ')}`],
    ['*', '*'],
    ['X-Total, *', 'X-Total, *'],
    ['retry-after', 'retry-after, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset'],
    [EXPOSED_HEADERS.join(','), EXPOSED_HEADERS.join(',')],
  ])('G07 is appended to %o', (current, expected) => {
    expect(exposeList(current)).toBe(expected);
  });

  it('G07 is the same when it is appended again', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('X-A', 'x-b', 'Retry-After', 'RATELIMIT-LIMIT')), (names) => {
        const once = exposeList(names.join(', '));
        expect(exposeList(once)).toBe(once);
        for (const name of [...names, ...EXPOSED_HEADERS]) {
          expect(once.toLowerCase().split(', ')).toContain(name.toLowerCase());
        }
      }),
    );
  });

  it('names every header that a decision has', () => {
    const sent = Object.keys(headersOf(REFUSED)).filter((name) => name !== 'cache-control');
    expect(sent.toSorted()).toEqual(EXPOSED_HEADERS.map((name) => name.toLowerCase()).toSorted());
  });
});

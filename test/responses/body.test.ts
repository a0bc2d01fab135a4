import { describe, expect, it } from 'vitest';
import type { Decision } from '../../lib/algorithms/decision.js';
import { bodyOf, messageOf } from '../../lib/responses/body.js';

const REFUSED: Decision = {
  allowed: false,
  policy: 'per-ip',
  limit: 10,
  cost: 1,
  remaining: 0,
  resetAfter: 60,
  retryAfter: 20,
  reason: 'limit-exceeded',
  headers: {},
};

describe('the body of a refusal', () => {
  it('SB-11 is source B’s, in its order', () => {
    expect(JSON.stringify(bodyOf(messageOf(REFUSED)))).toBe(
      '{"statusCode":429,"message":"Too Many Requests","error":"Too Many Requests"}',
    );
  });

  it('says both numbers where waiting never helps', () => {
    const never: Decision = { ...REFUSED, cost: 11, retryAfter: null, reason: 'cost-exceeds-limit' };
    expect(bodyOf(messageOf(never))).toEqual({
      statusCode: 429,
      message: 'Too Many Requests: the call costs 11, the limit is 10',
      error: 'Too Many Requests',
    });
  });

  it.each([
    [42, 'Too many login attempts. Please try again in 42 seconds.'],
    [1, 'Too many login attempts. Please try again in 1 second.'],
    [null, 'Too Many Requests'],
  ])('SB-31 names what was tried too often, and the wait: %s', (retryAfter, message) => {
    expect(messageOf({ ...REFUSED, retryAfter }, 'login attempts')).toBe(message);
  });
});

import { HttpException } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import type { Decision } from '../../../lib/algorithms/decision.js';
import { RateLimitException } from '../../../lib/nest/http/rate-limit.exception.js';

describe('the exception of a refusal', () => {
  it('is Nest’s, with status, body and decision', () => {
    const decision: Decision = {
      allowed: false,
      policy: 'per-ip',
      limit: 3,
      cost: 1,
      remaining: 0,
      resetAfter: 60,
      retryAfter: 20,
      reason: 'limit-exceeded',
      headers: {},
    };
    const exception = new RateLimitException(decision);
    expect(exception).toBeInstanceOf(HttpException);
    expect(exception.getStatus()).toBe(429);
    expect(exception.getResponse()).toEqual({
      statusCode: 429,
      message: 'Too Many Requests',
      error: 'Too Many Requests',
    });
    expect(exception.decision).toBe(decision);
  });
});

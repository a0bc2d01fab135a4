import { ForbiddenException, UnauthorizedException } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { RateLimitException } from '../../../lib/index.js';
import { statusOf } from '../../../lib/nest/auth/auth-failures.js';
import type { FrameworkRequest } from '../../../lib/nest/http/request-state.js';
import { makeLimits, rawRequestFrom } from '../http/support.js';
import { contextOf, MESSAGE, thrownBy } from './support.js';

const guess = (): FrameworkRequest => rawRequestFrom('203.0.113.5', { authorization: 'bad' });

describe('failures of a guard', () => {
  it('answer at once where the store does, and are counted', () => {
    const { limits, store } = makeLimits(null);
    expect(limits.failures.ofGuard(contextOf(guess()), null)).toBe(true);
    expect(store.size).toBe(1);
  });

  it('are counted to 10 a minute by default, then refused by an exception with the wait', async () => {
    const { limits, events } = makeLimits(null);
    const fail = (): unknown =>
      limits.failures.ofGuard(contextOf(guess()), { error: new UnauthorizedException() });
    for (let i = 0; i < 10; i++) expect(fail()).toBe(true);
    const refused = await thrownBy(fail);
    expect(refused).toBeInstanceOf(RateLimitException);
    expect((refused as RateLimitException).decision).toMatchObject({
      policy: 'pre-auth',
      limit: 10,
      retryAfter: 60,
    });
    expect(events).toMatchObject([
      { type: 'refusal', limit: 'pre-auth', network: '203.0.113.5', user: null },
    ]);
  });

  it('count once per request, and are refused again where they were', async () => {
    const { limits, store } = makeLimits(null);
    const one = contextOf(guess());
    for (let i = 0; i < 30; i++) expect(limits.failures.ofGuard(one, null)).toBe(true);
    for (let i = 0; i < 9; i++) expect(limits.failures.ofGuard(contextOf(guess()), null)).toBe(true);
    const last = contextOf(guess());
    const refusal = await thrownBy(() => limits.failures.ofGuard(last, null));
    expect(await thrownBy(() => limits.failures.ofGuard(last, null))).toBe(refusal);
    expect(store.size).toBe(1);
  });

  it('are none of calls that are no HTTP requests', () => {
    const { limits, store } = makeLimits(null);
    expect(limits.failures.ofGuard(MESSAGE, { error: new UnauthorizedException() })).toBe(true);
    expect(store.size).toBe(0);
  });

  it('are none of requests that came to another app', () => {
    const own = makeLimits(null);
    const other = makeLimits(null);
    const request = guess();
    other.limits.capture(request);
    expect(own.limits.failures.ofGuard(contextOf(request), null)).toBe(true);
    expect([own.store.size, other.store.size]).toEqual([0, 0]);
  });
});

describe('statusOf', () => {
  it.each<[unknown, unknown]>([
    [new UnauthorizedException(), 401],
    [new ForbiddenException(), 403],
    [Object.assign(new Error('x'), { statusCode: 401, status: 500 }), 401],
    [{ status: 401 }, undefined],
    [{ getStatus: 401, statusCode: 403 }, 403],
    [new Error('x'), undefined],
    ['401', undefined],
    [401, undefined],
    [null, undefined],
    [undefined, undefined],
  ])('of %o is %o', (error, status) => {
    expect(statusOf(error)).toBe(status);
  });
});

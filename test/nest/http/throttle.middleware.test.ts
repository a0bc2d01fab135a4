import { describe, expect, it, vi } from 'vitest';
import { TollgateError } from '../../../lib/errors.js';
import { RateLimitException } from '../../../lib/nest/http/rate-limit.exception.js';
import { throttle } from '../../../lib/nest/http/throttle.middleware.js';
import type { NamedQuota } from '../../../lib/nest/quota.js';
import { FakeResponse, makeLimits, rawRequestFrom, type Made } from './support.js';

function ask(
  middleware: ReturnType<typeof throttle>,
  { limits }: Made,
  address: string,
  user?: object,
): unknown {
  const request = { ...rawRequestFrom(address), ...(user === undefined ? {} : { user }) };
  limits.capture(request);
  const next = vi.fn();
  middleware(request, new FakeResponse(), next);
  expect(next).toHaveBeenCalledTimes(1);
  return next.mock.calls[0][0];
}

describe('throttle() for routes written by hand', () => {
  it('SB-25 counts each request it sees, by network', () => {
    const app = makeLimits();
    const middleware = throttle({ name: 'exports', limit: 2, per: '1m' });
    const asked = [1, 2, 3].map(() => ask(middleware, app, '203.0.113.5'));
    expect(asked).toEqual([undefined, undefined, expect.any(RateLimitException)]);
    expect(ask(middleware, app, '203.0.113.6')).toBeUndefined();
  });

  it('by user where something set it before', () => {
    const app = makeLimits();
    const middleware = throttle({ name: 'exports', limit: 1, per: '1m' });
    expect(ask(middleware, app, '203.0.113.5', { id: 'a' })).toBeUndefined();
    expect(ask(middleware, app, '203.0.113.6', { id: 'a' })).toBeInstanceOf(RateLimitException);
    expect(ask(middleware, app, '203.0.113.5', { id: 'b' })).toBeUndefined();
  });

  it('shares a counter with middleware of the same name, in the same app', () => {
    const [app, other] = [makeLimits(), makeLimits()];
    const one = throttle({ name: 'exports', limit: 1, per: '1m' });
    const two = throttle({ name: 'exports', limit: 1, per: '1m' });
    expect(ask(one, app, '203.0.113.5')).toBeUndefined();
    expect(ask(two, app, '203.0.113.5')).toBeInstanceOf(RateLimitException);
    expect(ask(one, other, '203.0.113.5')).toBeUndefined();
  });

  it('says so where the module is not part of the app', () => {
    const next = vi.fn();
    throttle({ name: 'exports', limit: 1, per: '1m' })(
      rawRequestFrom('203.0.113.5'),
      new FakeResponse(),
      next,
    );
    expect(next.mock.calls[0][0]).toBeInstanceOf(TollgateError);
    expect(next.mock.calls[0][0]).toHaveProperty('code', 'TOLLGATE_NOT_INSTALLED');
  });

  it.each([
    [{ name: 'x', limit: 0, per: '1m' }, /limit is 0/],
    [{ name: 'x', limit: 5, per: '1 m' }, /per is "1 m"/],
    [{ limit: 5, per: '1m' }, /name is missing/],
    [{ name: '', limit: 5, per: '1m' }, /name/],
    [{ name: 'x', limit: 5, per: '1m', ttl: 3 }, /ttl is unknown/],
  ])('P02, P03 refuses %j at once', (quota, problem) => {
    expect(() => throttle(quota as NamedQuota)).toThrow(problem);
  });

  it('on trial counts and reports, and refuses nothing', () => {
    const app = makeLimits();
    const middleware = throttle({ name: 'exports', limit: 1, per: '1m', dryRun: true });
    expect([1, 2, 3].map(() => ask(middleware, app, '203.0.113.5'))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(app.events).toHaveLength(2);
    expect(app.events[0]).toMatchObject({
      type: 'refusal',
      limit: 'route',
      dryRun: true,
      decision: { policy: 'exports', retryAfter: 60 },
    });
  });
});

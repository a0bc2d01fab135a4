import type { ExecutionContext } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { PerIpGuard } from '../../../lib/nest/http/per-ip.guard.js';
import { RateLimitException } from '../../../lib/nest/http/rate-limit.exception.js';
import { FakeResponse, makeLimits, rawRequestFrom } from './support.js';

function contextOf(type: string, request = rawRequestFrom('203.0.113.5')): ExecutionContext {
  const response = new FakeResponse();
  return {
    getType: () => type,
    switchToHttp: () => ({ getRequest: () => request, getResponse: () => response }),
  } as unknown as ExecutionContext;
}

describe('PerIpGuard', () => {
  it('charges a request that nothing charged before, once', () => {
    const { limits } = makeLimits();
    const guard = new PerIpGuard(limits);
    const context = contextOf('http');
    for (let asked = 0; asked < 3; asked++) expect(guard.canActivate(context)).toBe(true);
    expect(guard.canActivate(contextOf('http'))).toBe(true);
    expect(() => guard.canActivate(contextOf('http'))).toThrow(RateLimitException);
  });

  it.each(['rpc', 'ws', 'graphql'])('O04 leaves %s alone', (type) => {
    const { limits, store } = makeLimits();
    const guard = new PerIpGuard(limits);
    for (let asked = 0; asked < 5; asked++) expect(guard.canActivate(contextOf(type))).toBe(true);
    expect(store.size).toBe(0);
  });
});

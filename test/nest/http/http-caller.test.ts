import { describe, expect, it } from 'vitest';
import { decisionOf } from '../../../lib/algorithms/decision.js';
import { createRate } from '../../../lib/algorithms/rate.js';
import { HttpCaller } from '../../../lib/nest/http/http-caller.js';
import { RateLimitException } from '../../../lib/nest/http/rate-limit.exception.js';
import { FakeResponse, makeLimits, rawRequestFrom } from './support.js';

describe('the caller of a request', () => {
  it('is what functions of the app see', () => {
    const { limits } = makeLimits();
    const request = rawRequestFrom('2001:db8::7');
    const caller = new HttpCaller(limits.capture(request), request, new FakeResponse(), '42', null);
    const { transport, address, network, user, context } = caller;
    expect({ transport, address, network, user, context }).toEqual({
      transport: 'http',
      address: '2001:db8::7',
      network: '2001:db8::/64',
      user: '42',
      context: null,
    });
    expect(caller.request).toBe(request);
  });

  it('SA-24 is told of the tightest bucket, over all steps of a request', () => {
    const { limits, store } = makeLimits();
    const request = rawRequestFrom('203.0.113.5');
    const response = new FakeResponse();
    const caller = new HttpCaller(limits.capture(request), request, response, null, null);
    const tell = (limit: number): void => {
      const bucket = {
        policy: 'p',
        namespace: `n${limit}`,
        key: 'k',
        rate: createRate('gcra', limit, 60e6),
        cost: 1,
      };
      caller.tell(store.consume([bucket])[0]);
    };
    tell(10);
    tell(100);
    expect(response.lines.get('ratelimit-limit')).toBe('10');
    tell(5);
    expect(response.lines.get('ratelimit-limit')).toBe('5');
  });

  it('refuses by the exception of HTTP', () => {
    const { limits, store } = makeLimits();
    const request = rawRequestFrom('203.0.113.5');
    const bucket = { policy: 'p', namespace: 'n', key: 'k', rate: createRate('gcra', 1, 60e6), cost: 1 };
    store.consume([bucket]);
    const decision = decisionOf(store.consume([bucket])[0]);
    const caller = new HttpCaller(limits.capture(request), request, new FakeResponse(), null, null);
    expect(caller.refusal(decision)).toBeInstanceOf(RateLimitException);
  });
});

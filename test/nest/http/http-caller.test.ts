import { describe, expect, it } from 'vitest';
import { decisionOf } from '../../../lib/algorithms/decision.js';
import { createRate } from '../../../lib/algorithms/rate.js';
import { HttpCaller } from '../../../lib/nest/http/http-caller.js';
import { RateLimitException } from '../../../lib/nest/http/rate-limit.exception.js';
import type { HeaderFormat } from '../../../lib/responses/headers.js';
import type { Verdict } from '../../../lib/algorithms/verdict.js';
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
      caller.tell(store.consume([bucket]), null);
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
    const decision = decisionOf(store.consume([bucket])[0], {});
    const caller = new HttpCaller(limits.capture(request), request, new FakeResponse(), null, null);
    expect(caller.refusal({ decision, message: 'slow down' })).toMatchObject({
      constructor: RateLimitException,
      decision,
      message: 'slow down',
    });
  });

  /** A caller, what it was answered so far, and one use of a bucket as a verdict. */
  function setup(formats: HeaderFormat[]) {
    const { limits, store } = makeLimits(undefined, null, [], { formats });
    const request = rawRequestFrom('203.0.113.5');
    const response = new FakeResponse();
    const caller = new HttpCaller(limits.capture(request), request, response, null, null);
    const use = (policy: string, limit: number, hidden = false): Verdict => {
      const rate = createRate('gcra', limit, 60e6);
      return store.consume([{ policy, namespace: policy, key: 'k', rate, cost: 1, hidden }])[0];
    };
    return { caller, use, lines: () => Object.fromEntries(response.lines) };
  }

  it('is told of every policy it met where the format lists them, also of those that are not the tightest', () => {
    const { caller, use, lines } = setup(['draft-11']);
    caller.tell([use('a', 5)], null);
    const told = caller.tell([use('b', 9), use('c', 99)], null);
    expect(lines()).toEqual({
      ratelimit: '"a";r=4;t=12',
      'ratelimit-policy': '"a";q=5;w=60, "b";q=9;w=60, "c";q=99;w=60',
    });
    expect(told).toEqual(lines());
  });

  it('returns what the client knows by now, also where a step changed nothing', () => {
    const { caller, use, lines } = setup(['draft-6']);
    caller.tell([use('a', 5)], null);
    expect(caller.tell([use('b', 9)], null)).toEqual(lines());
    expect(lines()).toMatchObject({ 'ratelimit-limit': '5' });
  });

  it('G09 is told nothing of a bucket against guessing, and still of those that come behind it', () => {
    const { caller, use, lines } = setup(['draft-6']);
    caller.tell([use('per-ip', 99)], null);
    expect(caller.tell([use('login', 3, true)], null)).toMatchObject({ 'ratelimit-limit': '99' });
    caller.tell([use('route', 10)], null);
    expect(lines()).toEqual({
      'ratelimit-limit': '10',
      'ratelimit-remaining': '9',
      'ratelimit-reset': '6',
    });
  });

  it('is told of a refusal by the one that refuses, whatever on trial would have refused before', () => {
    const { caller, use, lines } = setup(['draft-6']);
    use('trial', 1);
    caller.tell([use('trial', 1)], null);
    for (let call = 0; call < 2; call++) use('route', 2);
    const refused = use('route', 2);
    expect(caller.tell([refused], refused)).toEqual(lines());
    expect(lines()).toEqual({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '60',
      'retry-after': '30',
      'cache-control': 'no-store',
    });
  });
});

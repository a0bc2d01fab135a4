import { describe, expect, it } from 'vitest';
import { decisionOf } from '../../../lib/algorithms/decision.js';
import { createRate } from '../../../lib/algorithms/rate.js';
import { RateLimitException } from '../../../lib/nest/http/rate-limit.exception.js';
import { ServiceCaller } from '../../../lib/nest/service/service-caller.js';
import { createAddressResolver } from '../../../lib/network/client-address.js';
import { Policy } from '../../../lib/limiter/policy.js';
import { ResponseHeaders } from '../../../lib/responses/headers.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

function callerOf(address: string | null): ServiceCaller {
  const client = createAddressResolver({}).fromText(address);
  return new ServiceCaller(client, new ResponseHeaders(['draft-6']));
}

/** The answers to the first and the second call of a bucket of one. */
function verdictsOf(hidden: boolean) {
  const store = new MemoryStore({ clock: new FakeClock() });
  const bucket = new Policy('p', 'p', hidden).bucket('custom', 'k', createRate('fixed', 1, 60e6), 1);
  return [...store.consume([bucket]), ...store.consume([bucket])];
}

describe('the caller of a service method', () => {
  it('is an address and its network, and nobody more', () => {
    const { transport, address, network, user, key, context, request } = callerOf('2001:DB8::7');
    expect({ transport, address, network, user, key, context, request }).toEqual({
      transport: 'service',
      address: '2001:db8::7',
      network: '2001:db8::/64',
      user: null,
      key: null,
      context: null,
      request: null,
    });
    expect(callerOf(null).address).toBeNull();
  });

  it('is told in lines that its app may send', () => {
    const caller = callerOf('203.0.113.5');
    const [first, second] = verdictsOf(false);
    expect(caller.tell([first], null)).toEqual({
      'ratelimit-limit': '1',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '60',
    });
    expect(caller.tell([second], second)).toMatchObject({ 'ratelimit-remaining': '0', 'retry-after': '60' });
  });

  it('refuses by the exception of HTTP', () => {
    const [, verdict] = verdictsOf(false);
    const decision = decisionOf(verdict, {});
    const error = callerOf('203.0.113.5').refusal({ decision, message: 'Too many' });
    expect(error).toBeInstanceOf(RateLimitException);
    expect(error).toMatchObject({ decision, message: 'Too many' });
  });
});

import { NotFoundException, UnauthorizedException } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { Authenticator, type Authentication } from '../../../lib/index.js';
import { ApiEntry } from '../../../lib/nest/auth/api-entry.js';
import { ThrottleEnforcer } from '../../../lib/nest/throttle/throttle.enforcer.js';
import { ThrottlePlans } from '../../../lib/nest/throttle/throttle-plans.js';
import { stateOf } from '../../../lib/nest/http/request-state.js';
import { ApiPolicies } from '../../../lib/policies/api.js';
import { ApiRates } from '../../../lib/policies/api-rates.js';
import { makeLimits, rawRequestFrom } from '../http/support.js';
import { contextOf, MESSAGE, thrownBy } from './support.js';

class Says extends Authenticator {
  asked: (string | null)[] = [];
  enabled: unknown = true;

  constructor(private readonly said: unknown) {
    super();
  }

  override isEnabled(): boolean {
    return this.enabled as boolean;
  }

  authenticate(_request: unknown, address: string | null): Authentication {
    this.asked.push(address);
    return this.said as Authentication;
  }
}

function make() {
  const made = makeLimits(null);
  const api = new ApiPolicies(
    new ApiRates(
      {},
      () => ({}),
      () => {},
    ),
  );
  return {
    ...made,
    entry: new ApiEntry(made.limits, new ThrottleEnforcer(made.limits, new ThrottlePlans(), api)),
  };
}

describe('the entry of an API', () => {
  it('lets in nothing but HTTP requests', async () => {
    const { entry } = make();
    const says = new Says('guest');
    expect(await thrownBy(() => entry.admit(MESSAGE, says))).toBeInstanceOf(UnauthorizedException);
    expect(says.asked).toEqual([]);
  });

  it('asks once per request and Authenticator, by the client’s address, and keeps the answer', async () => {
    const { entry } = make();
    const request = rawRequestFrom('203.0.113.5');
    const actor = { key: 'a', plan: 'gold' };
    const says = new Says(actor);
    expect(await entry.admit(contextOf(request), says)).toBe(true);
    expect(await entry.admit(contextOf(request), says)).toBe(true);
    expect(says.asked).toEqual(['203.0.113.5']);
    expect(stateOf(request)?.actor).toBe(actor);
    const unknown = new Says('guest');
    await entry.admit(contextOf(rawRequestFrom(undefined)), unknown);
    expect(unknown.asked).toEqual([null]);
  });

  it.each([false, null, undefined, 0])('is off when isEnabled() gives %j', async (enabled) => {
    const { entry } = make();
    const says = new Says('guest');
    says.enabled = enabled;
    const answer = await thrownBy(() => entry.admit(contextOf(), says));
    expect(answer).toBeInstanceOf(NotFoundException);
    expect((answer as NotFoundException).message).toBe('Cannot GET /');
    expect(says.asked).toEqual([]);
  });

  it('throws what a handler threw as it is, and counts a 401 of it', async () => {
    const { entry, store } = make();
    const errors = [new NotFoundException(), new Error('a bug'), 'a text', undefined];
    for (const error of errors) {
      expect(await thrownBy(() => entry.refuse(contextOf(), error))).toBe(error);
    }
    expect(store.size).toBe(0);
    const error = new UnauthorizedException();
    expect(await thrownBy(() => entry.refuse(contextOf(), error))).toBe(error);
    expect(store.size).toBe(1);
    expect(await thrownBy(() => entry.refuse(MESSAGE, error))).toBe(error);
  });
});

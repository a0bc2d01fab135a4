import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { PublicToolInterceptor } from '../../../lib/nest/auth/public-tool.interceptor.js';
import type { ThrottleEnforcer } from '../../../lib/nest/throttle/throttle.enforcer.js';
import type { MaybePromise } from '../../../lib/stores/store.js';
import { contextOf, thrownBy } from './support.js';

function make(charge: () => MaybePromise<true>) {
  const enforcer: Pick<ThrottleEnforcer, 'chargeRest'> = { chargeRest: charge };
  const handled = of('handled');
  const interceptor = new PublicToolInterceptor(enforcer as ThrottleEnforcer);
  return { handled, run: () => interceptor.intercept(contextOf(), { handle: () => handled }) };
}

describe('the interceptor of a public tool', () => {
  it('hands over at once where the store answers at once', () => {
    const { handled, run } = make(() => true);
    expect(run()).toBe(handled);
  });

  it('waits for the store where it must', async () => {
    const { handled, run } = make(() => Promise.resolve(true));
    expect(run()).toBeInstanceOf(Promise);
    expect(await run()).toBe(handled);
  });

  it('hands nothing over when the rest can’t be paid', async () => {
    const refusal = new Error('refused');
    const { run } = make(() => {
      throw refusal;
    });
    expect(await thrownBy(run)).toBe(refusal);
    expect(await thrownBy(make(() => Promise.reject(refusal)).run)).toBe(refusal);
  });
});

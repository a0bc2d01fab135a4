// `@Throttle`: limits the calls of a handler, or of each handler of a controller. Source B, SB-21 to SB-24.

import type { Duration, PositiveInteger } from '../../algorithms/duration.js';
import { badConfiguration } from '../../errors.js';
import { checkQuota, type Quota } from '../quota.js';
import { setOnce, targetName } from './metadata.js';

/** What a handler is limited by: quotas of its own and names of policies. */
export type Throttles = readonly (Quota | string)[];

export const THROTTLE_KEY = 'tollgate:throttle';

/** A quota whose literal limit and duration the compiler checks. */
type Checked<Q> = Q extends { readonly limit: infer L; readonly per: infer P }
  ? Q & {
      readonly limit: L extends number ? PositiveInteger<L> : L;
      readonly per: P extends string ? Duration<P> : P;
    }
  : Q;

/**
 * Limits calls, per user, and per client network for guests; a handler's own replaces the controller's, and both
 * replace the module's `throttle`. Every limit of a list must have room. A string names a policy of the module.
 *
 * @throws TollgateError when a number, a duration or a field is wrong, or when a target is decorated twice.
 */
export function Throttle<const Q extends Quota | string | Throttles>(
  quota: Q extends readonly unknown[] ? { readonly [I in keyof Q]: Checked<Q[I]> } : Checked<Q>,
): MethodDecorator & ClassDecorator;
export function Throttle(quota: Quota | string | Throttles): MethodDecorator & ClassDecorator {
  const throttles: Throttles = isList(quota) ? [...quota] : [quota];
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => {
    const where = `@Throttle() on ${targetName(target, key)}`;
    const findings: string[] = [];
    if (throttles.length === 0) findings.push('the list is empty: use @SkipThrottle() to lift a limit');
    for (const [index, throttle] of throttles.entries()) {
      const name = throttles.length === 1 ? 'quota' : `quota[${index}]`;
      if (typeof throttle !== 'string') checkQuota(throttle, name, findings);
    }
    if (findings.length > 0) throw badConfiguration(where, findings);
    setOnce(THROTTLE_KEY, throttles, target, descriptor, where);
  };
}

function isList(quota: Quota | string | Throttles): quota is Throttles {
  return Array.isArray(quota);
}

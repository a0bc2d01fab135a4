// `@Throttle`: limits the calls of a handler, or of each handler of a controller. Source B, SB-21 to SB-24.

import type { Duration, PositiveInteger } from '../../algorithms/duration.js';
import { badConfiguration } from '../../errors.js';
import { checkQuota, type Quota } from '../quota.js';
import { setOnce, targetName } from './metadata.js';

/** What a handler is limited by: quotas of its own and names of policies. */
export type Throttles = readonly (Quota | string)[];

export const THROTTLE_KEY = 'tollgate:throttle';

/** What the compiler checks of each quota: literals by their value, names by whether a quota has such a field. */
type Checked<Q> = Q extends string
  ? Q
  : Q extends readonly unknown[]
    ? { readonly [I in keyof Q]: Checked<Q[I]> }
    : { readonly [K in keyof Q]: CheckedField<K, Q[K]> };

type CheckedField<K, V> = K extends 'limit'
  ? V extends number
    ? PositiveInteger<V>
    : V
  : K extends 'per'
    ? V extends string
      ? Duration<V>
      : V
    : K extends keyof Quota
      ? V
      : 'a quota has no such field';

/**
 * Limits calls, per user, and per client network for guests; a handler's own replaces the controller's, and both
 * replace the module's `throttle`. Every limit of a list must have room. A string names a policy of the module.
 *
 * @throws TollgateError when a number, a duration or a field is wrong, or when a target is decorated twice.
 */
export function Throttle<const Q extends Quota | string | Throttles>(
  quota: Q & Checked<Q>,
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

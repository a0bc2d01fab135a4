// `@SkipThrottle`: lifts route throttles of a handler or a controller. Never the per-IP limit, costs or sign-in limits.

import { show } from '../../algorithms/rate.js';
import { badConfiguration } from '../../errors.js';
import { setOnce, targetName } from './metadata.js';

/** True: all; false: none, against the controller's; by name: those that are true. */
export type SkippedThrottles = boolean | Readonly<Record<string, boolean>>;

export const SKIP_THROTTLE_KEY = 'tollgate:skip-throttle';

/**
 * Without an argument every route throttle is skipped; `false` takes back what the controller skips; an object names
 * policies or quotas one by one, as in `@SkipThrottle({ burst: true })`. A method's word beats its class's.
 *
 * @throws TollgateError when it is given something else, or when a target is decorated twice.
 */
export function SkipThrottle(skip: SkippedThrottles = true): MethodDecorator & ClassDecorator {
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => {
    const where = `@SkipThrottle() on ${targetName(target, key)}`;
    if (!isSkipped(skip)) {
      throw badConfiguration(where, [`it is given ${show(skip)}: give nothing, false, or { name: true }`]);
    }
    setOnce(SKIP_THROTTLE_KEY, skip, target, descriptor, where);
  };
}

export function isSkipped(value: unknown): value is SkippedThrottles {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return typeof value === 'boolean';
  return Object.values(value).every((skip) => typeof skip === 'boolean');
}

// `@SkipThrottle`: lifts route throttles of a handler or a controller. Never the per-IP limit, costs or sign-in limits.

import { setOnce, targetName } from './metadata.js';

/** True: all; false: none, against the controller's; by name: those that are true. */
export type SkippedThrottles = boolean | Readonly<Record<string, boolean>>;

export const SKIP_THROTTLE_KEY = 'tollgate:skip-throttle';

/**
 * Without an argument every route throttle is skipped; `false` takes back what the controller skips; an object names
 * policies or quotas one by one, as in `@SkipThrottle({ burst: true })`. A method's word beats its class's.
 */
export function SkipThrottle(skip: SkippedThrottles = true): MethodDecorator & ClassDecorator {
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => {
    setOnce(SKIP_THROTTLE_KEY, skip, target, descriptor, `@SkipThrottle() on ${targetName(target, key)}`);
  };
}

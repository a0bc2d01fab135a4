// `@Cost`: how many units a call takes from the buckets that count units.

import type { PositiveInteger } from '../../algorithms/duration.js';
import { badConfiguration } from '../../errors.js';
import { costProblem } from '../../policies/cost.js';
import type { Call } from '../call.js';
import { setOnce, targetName } from './metadata.js';

/** A flat cost, or one that depends on the call. */
export type Cost = number | ((call: Call) => number);

export const COST_KEY = 'tollgate:cost';

/**
 * Cost units of a handler, or of each handler of a controller; without it a call costs 1. They are charged to the API
 * key or user that an `Authenticator` found, or to the buckets of a `@PublicTool()`. Throttles count calls, whatever
 * they cost.
 *
 * A number is a whole one above 0. A function is asked on every call and must answer at once: a fraction is rounded
 * up; when it gives nothing usable the call costs 1, and the log says so.
 *
 * @throws TollgateError when the cost is wrong, or when a target is decorated twice.
 */
export function Cost<const C extends Cost>(
  cost: C & (C extends number ? PositiveInteger<C> : C),
): MethodDecorator & ClassDecorator;
export function Cost(cost: Cost): MethodDecorator & ClassDecorator {
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => {
    const where = `@Cost() on ${targetName(target, key)}`;
    const problem = typeof cost === 'function' ? null : costProblem(cost);
    if (problem !== null) throw badConfiguration(where, [problem]);
    setOnce(COST_KEY, cost, target, descriptor, where);
  };
}

export function isCost(value: unknown): value is Cost {
  return typeof value === 'number' || typeof value === 'function';
}

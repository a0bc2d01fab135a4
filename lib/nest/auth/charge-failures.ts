// `ChargeFailures(X)`: an app's guard whose failures are counted, on the routes that list it.

import { TollgateError } from '../../errors.js';
import type { MaybePromise } from '../../stores/store.js';
import { stateOf, rawRequest, type FrameworkRequest } from '../http/request-state.js';
import type { GuardType } from '../options.js';
import { hookGuard, type GuardSteps, type Rejection } from '../throttle/guard-hook.js';
import type { ExecutionContext } from '@nestjs/common';

const made = new WeakMap<GuardType, GuardType>();

/**
 * The guard for `@UseGuards(ChargeFailures(X))`: decides as X does, and each 401, 403 or false of X counts as a failed
 * authentication of the client network. Once that is exhausted failures are answered 429; who authenticates passes.
 * It extends X, so `authGuard: X` finds it too; always the same class for the same X, for `overrideGuard()` in tests.
 */
export function ChargeFailures(guard: GuardType): GuardType {
  const known = made.get(guard);
  if (known !== undefined) return known;
  const charging = class extends guard {
    constructor(...dependencies: ConstructorParameters<GuardType>) {
      super(...dependencies);
      hookGuard(this, STEPS);
    }
  };
  Object.defineProperty(charging, 'name', { value: `ChargeFailures(${guard.name})` });
  made.set(guard, charging);
  return charging;
}

const STEPS: GuardSteps = { failed };

function failed(context: ExecutionContext, rejection: Rejection): MaybePromise<true> {
  if (context.getType() !== 'http') return true;
  const state = stateOf(rawRequest(context.switchToHttp().getRequest<FrameworkRequest>()));
  if (state !== undefined) return state.limits.failures.ofGuard(context, rejection);
  throw new TollgateError(
    'TOLLGATE_NOT_INSTALLED',
    'ChargeFailures() needs RateLimitModule.forRoot() in the app',
  );
}

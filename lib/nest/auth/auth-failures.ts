// Counts failed authentications per client network: a full bucket turns a 401 or 403 into a 429 and nothing else.
// A guard or an `Authenticator` always decides first, so a valid key passes from an exhausted network. SA-17 to SA-22.

import type { ExecutionContext } from '@nestjs/common';
import { nameOf } from '../../errors.js';
import { ignoreLate } from '../../limiter/late-answer.js';
import type { ApiPolicies } from '../../policies/api.js';
import type { MaybePromise } from '../../stores/store.js';
import type { HttpCaller } from '../http/http-caller.js';
import type { HttpLimits } from '../http/http-limits.js';
import type { Rejection } from '../throttle/guard-hook.js';
import { carriesCredential } from './credentials.js';

export class AuthFailures {
  /** `hasCredential` tells a guess from a call that sends no credential; null: by what its parts are called. */
  constructor(
    private readonly http: HttpLimits,
    private readonly api: ApiPolicies,
    private readonly hasCredential: ((context: ExecutionContext) => boolean) | null,
  ) {}

  /** What a guard rejected: counted when it is a failed authentication. Throws the 429 that is answered instead. */
  ofGuard(context: ExecutionContext, rejection: Rejection): MaybePromise<true> {
    if (rejection !== null && !isAuthFailure(rejection.error)) return true;
    const caller = this.http.callerOf(context);
    return caller === null || !this.isGuess(context, caller) ? true : this.count(caller);
  }

  /** Counts a failure, once per request. Throws the 429 when the network has failed too often already. */
  count(caller: HttpCaller): MaybePromise<true> {
    return caller.state.once(this, () => {
      if (this.http.skips(caller)) return true;
      return this.http.gate.passOne(caller, 'pre-auth', this.api.ofFailure(caller.network), false);
    });
  }

  private isGuess(context: ExecutionContext, caller: HttpCaller): boolean {
    if (this.hasCredential === null) return carriesCredential(caller.request);
    try {
      const has: unknown = this.hasCredential(context);
      ignoreLate(has);
      // Only false spares a failure: a function that is async by mistake must not.
      return has !== false;
    } catch (error) {
      this.http.report({
        type: 'unusable-key',
        policy: 'hasCredential',
        problem: `hasCredential() threw ${nameOf(error)}: the failure is counted`,
      });
      return true;
    }
  }
}

/** The HTTP status that Nest answers an error with; undefined for any other error, which is a 500. */
export function statusOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('getStatus' in error && typeof error.getStatus === 'function') {
    const status: unknown = error.getStatus();
    return status;
  }
  return 'statusCode' in error ? error.statusCode : undefined;
}

/** 401, or 403 for a key used from a forbidden address. */
function isAuthFailure(error: unknown): boolean {
  const status = statusOf(error);
  return status === 401 || status === 403;
}

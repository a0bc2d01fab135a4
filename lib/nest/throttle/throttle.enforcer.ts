// Runs a handler's throttles, once per request, at the one place of the guard chain that its plan names.

import type { ExecutionContext } from '@nestjs/common';
import type { Bucket } from '../../algorithms/verdict.js';
import { chain } from '../../stores/chain.js';
import type { MaybePromise } from '../../stores/store.js';
import { HttpCaller } from '../http/http-caller.js';
import type { HttpLimits } from '../http/http-limits.js';
import { rawRequest, stateIn, stateOf, type FrameworkRequest } from '../http/request-state.js';
import type { FrameworkResponse } from '../http/response.js';
import type { ThrottlePlans } from './throttle-plans.js';
import type { ThrottlePlan, ThrottlePosition } from './throttle-plan.js';

export class ThrottleEnforcer {
  constructor(
    private readonly http: HttpLimits,
    private readonly plans: ThrottlePlans,
  ) {}

  /**
   * Runs the throttles if this is the place for them; `names` are those of the guard behind which it is. True when the
   * call may pass; throws the transport's refusal. Synchronous where nothing needs I/O.
   */
  enforce(
    context: ExecutionContext,
    position: ThrottlePosition,
    names: ReadonlySet<unknown> | null = null,
  ): MaybePromise<boolean> {
    // Apps call guards with contexts of their own making too.
    if (typeof context.getType !== 'function' || context.getType() !== 'http') return true;
    const plan = this.plans.of(context.getClass(), context.getHandler());
    if (plan.position !== position || plan.limits.length === 0) return true;
    if (position === 'auth' && names?.has(plan.behind) !== true) return true;
    return this.enforceOnce(context, plan);
  }

  private enforceOnce(context: ExecutionContext, plan: ThrottlePlan): MaybePromise<boolean> {
    // Once: Nest makes its functions anew for every call of switchToHttp().
    const http = context.switchToHttp();
    const request = http.getRequest<FrameworkRequest>();
    const raw = rawRequest(request);
    // Guards can be shared by several apps: only those that the request came to count it.
    if (stateOf(raw) !== undefined && stateIn(raw, this.http) === undefined) return true;
    const state = this.http.capture(raw);
    return state.once(plan, () => {
      const response = http.getResponse<FrameworkResponse>();
      return chain(this.http.identities.of(context), (user) =>
        this.throttle(plan, new HttpCaller(state, request, response, user, context)),
      );
    });
  }

  private throttle(plan: ThrottlePlan, caller: HttpCaller): MaybePromise<true> {
    if (this.http.skips(caller)) return true;
    const buckets: Bucket[] = [];
    const trials: Bucket[] = [];
    for (const limit of plan.limits) {
      const bucket = limit.bucket(caller);
      if (bucket !== null) (limit.dryRun ? trials : buckets).push(bucket);
    }
    return this.http.gate.pass(caller, 'route', buckets, trials);
  }
}

// Runs a handler's throttles, once per request, at the one place of the guard chain that its plan names.

import type { ExecutionContext } from '@nestjs/common';
import type { Bucket } from '../../algorithms/verdict.js';
import type { MaybePromise } from '../../stores/store.js';
import { HttpCaller } from '../http/http-caller.js';
import type { HttpLimits } from '../http/http-limits.js';
import { rawRequest, type FrameworkRequest } from '../http/request-state.js';
import type { FrameworkResponse } from '../http/response.js';
import { admit } from './gate.js';
import type { ThrottlePlans } from './throttle-plans.js';
import type { ThrottlePlan, ThrottlePosition } from './throttle-plan.js';

export class ThrottleEnforcer {
  constructor(
    private readonly http: HttpLimits,
    private readonly plans: ThrottlePlans,
  ) {}

  /** True when the call may pass; throws the transport's refusal. Synchronous where nothing needs I/O. */
  enforce(context: ExecutionContext, position: ThrottlePosition): MaybePromise<boolean> {
    if (context.getType() !== 'http') return true;
    const plan = this.plans.of(context.getClass(), context.getHandler());
    if (plan.position !== position || plan.limits.length === 0) return true;
    // Once: Nest makes its functions anew for every call of switchToHttp().
    const http = context.switchToHttp();
    const request = http.getRequest<FrameworkRequest>();
    const state = this.http.capture(rawRequest(request));
    // Guards can be shared by several apps: only the one that the request came to counts it.
    if (state.throttled || state.limits !== this.http) return true;
    state.throttled = true;
    const user = this.http.identities.of(context);
    const response = http.getResponse<FrameworkResponse>();
    if (user instanceof Promise) {
      return user.then((id) => this.throttle(plan, new HttpCaller(state, request, response, id, context)));
    }
    return this.throttle(plan, new HttpCaller(state, request, response, user, context));
  }

  private throttle(plan: ThrottlePlan, caller: HttpCaller): MaybePromise<true> {
    if (this.http.skips(caller)) return true;
    const buckets: Bucket[] = [];
    for (const limit of plan.limits) {
      const bucket = limit.bucket(caller);
      if (bucket !== null) buckets.push(bucket);
    }
    return buckets.length === 0 ? true : admit(caller, this.http.limiter.consume(buckets));
  }
}

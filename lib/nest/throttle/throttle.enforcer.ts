// Runs a handler's throttles, once per request, at the one place of the guard chain that its plan names; and its cost.

import type { ExecutionContext } from '@nestjs/common';
import type { Bucket } from '../../algorithms/verdict.js';
import type { ApiPolicies } from '../../policies/api.js';
import { chain } from '../../stores/chain.js';
import type { MaybePromise } from '../../stores/store.js';
import { HttpCaller } from '../http/http-caller.js';
import type { HttpLimits } from '../http/http-limits.js';
import { readInput } from '../http/input-field.js';
import { rawRequest, stateIn, stateOf, type FrameworkRequest } from '../http/request-state.js';
import type { FrameworkResponse } from '../http/response.js';
import type { ThrottlePlans } from './throttle-plans.js';
import type { ThrottlePlan, ThrottlePosition } from './throttle-plan.js';
import type { Units } from './units.js';

const NOTHING: readonly Bucket[] = [];

export class ThrottleEnforcer {
  constructor(
    private readonly http: HttpLimits,
    private readonly plans: ThrottlePlans,
    private readonly api: ApiPolicies,
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
    if (plan.position !== position || (plan.limits.length === 0 && plan.units === null)) return true;
    if (position === 'auth' && names?.has(plan.behind) !== true) return true;
    return this.enforceOnce(context, plan);
  }

  /** Charges throttles and cost of a call that an `Authenticator` has let in. Throws the refusal. */
  charge(context: ExecutionContext, user: string | null): MaybePromise<true> {
    const plan = this.plans.of(context.getClass(), context.getHandler());
    const caller = this.http.callerOf(context, user);
    return caller === null ? true : caller.state.once(plan, () => this.throttle(plan, caller));
  }

  /** Charges what a public tool costs beyond its first unit, to callers without a key. Throws the refusal. SA-42. */
  chargeRest(context: ExecutionContext): MaybePromise<true> {
    const { units } = this.plans.of(context.getClass(), context.getHandler());
    const known = this.http.callerOf(context);
    if (units === null || known === null || known.state.actor !== null) return true;
    return known.state.once(units, () =>
      chain(this.http.identities.of(context), (user) => this.chargeTool(units, known.as(user))),
    );
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
    const units = plan.units === null ? NOTHING : this.unitsOf(plan.units, caller);
    return this.http.gate.pass(caller, 'route', buckets, trials, units);
  }

  /** Where this step counts cost: the caller's key or user; of a public tool its network's first unit. */
  private unitsOf({ cost, token }: Units, caller: HttpCaller): readonly Bucket[] {
    const { actor } = caller.state;
    if (actor === null) return token === null ? NOTHING : this.api.ofPublic(caller.network, null, 1, 1);
    const units = cost.of(caller);
    return ['key' in actor ? this.api.ofKey(actor.key, units) : this.api.ofUser(actor.user, units)];
  }

  private chargeTool({ cost, token }: Units, caller: HttpCaller): MaybePromise<true> {
    if (token === null || this.http.skips(caller)) return true;
    const units = cost.of(caller);
    const given = readInput(token, caller, '@PublicTool', this.http.report);
    const text = typeof given === 'string' && given !== '' ? given : null;
    const rest = this.api.ofPublic(caller.network, text, units, units - 1);
    // With the unit that is paid already it is more than the network ever has: refused as what can never pass.
    const never = units > rest[0].rate.limit;
    const buckets = never ? this.api.ofPublic(caller.network, text, units, units) : rest;
    return this.http.gate.pass(caller, 'api', [], [], buckets);
  }
}

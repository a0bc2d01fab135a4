// The course of a try that is an HTTP request: opened before a guard or the handler verifies it, then settled once.

import { Injectable, type ExecutionContext } from '@nestjs/common';
import type { Verdict } from '../../algorithms/verdict.js';
import { chain } from '../../stores/chain.js';
import { ignoreLate } from '../../limiter/late-answer.js';
import type { Attempt } from '../../policies/attempts.js';
import type { MaybePromise } from '../../stores/store.js';
import { statusOf } from '../auth/auth-failures.js';
import type { HttpCaller } from '../http/http-caller.js';
import { HttpLimits } from '../http/http-limits.js';
import { readInput, type InputSource } from '../http/input-field.js';
import type { Gate } from '../throttle/gate.js';
import type { GuardSteps } from '../throttle/guard-hook.js';
import { ThrottlePlans } from '../throttle/throttle-plans.js';
import { Attempts, type AttemptKind } from './attempts.js';

/** What a handler's decorator says: what is guessed at, and where the account is named. */
export interface AttemptPlan {
  readonly kind: AttemptKind;
  readonly source: InputSource;
}

@Injectable()
export class AttemptEntry {
  /** Around every guard of a handler that is a try: a guard may be what verifies it, as Passport's are. */
  readonly aroundGuards: GuardSteps = {
    before: (context) => this.open(context),
    failed: (context, rejection) =>
      rejection === null || statusOf(rejection.error) === 401 ? this.fail(context) : true,
  };

  constructor(
    private readonly http: HttpLimits,
    private readonly plans: ThrottlePlans,
    private readonly attempts: Attempts,
  ) {}

  /** Once per request. Throws the refusal. */
  open(context: ExecutionContext): MaybePromise<true> {
    const caller = this.http.callerOf(context);
    const plan = caller === null ? null : this.plans.of(context.getClass(), context.getHandler()).attempt;
    if (caller === null || plan === null) return true;
    return caller.state.once(plan, () => this.begin(plan, caller));
  }

  /** Counts a failure. Throws the refusal that is answered instead. */
  fail(context: ExecutionContext): MaybePromise<true> {
    const caller = this.http.callerOf(context);
    const attempt = caller?.state.attempt ?? null;
    const plan = this.plans.of(context.getClass(), context.getHandler()).attempt;
    if (caller === null || attempt === null || plan === null) return true;
    return chain(attempt.fail(), (verdict) => this.judge(plan.kind, caller, verdict));
  }

  /** What a handler threw: a 401 is a failure. Throws it, or the refusal in its place. */
  async refuse(context: ExecutionContext, error: unknown): Promise<never> {
    if (statusOf(error) === 401) await this.fail(context);
    throw error;
  }

  /** What a handler has done without an error: it may have written a 401 by itself. */
  async settle(context: ExecutionContext): Promise<void> {
    const response = context.switchToHttp().getResponse<{ readonly statusCode?: unknown }>();
    if (response.statusCode === 401) await this.fail(context);
  }

  private begin({ kind, source }: AttemptPlan, caller: HttpCaller): MaybePromise<true> {
    if (this.http.skips(caller)) return true;
    const identifier = readInput(source, caller, kind, this.http.report);
    const attempt = this.attempts.begin(kind, identifier, caller.network, caller.time);
    caller.state.attempt = attempt;
    return chain(attempt.open(), (verdict) => {
      this.judge(kind, caller, verdict);
      // Who answers last decides: a filter may make a 401 of any error, a handler may send by itself, and later.
      caller.whenAnswered((status) => ignoreLate(settleBy(status, attempt)));
      return true;
    });
  }

  private judge(kind: AttemptKind, caller: HttpCaller, verdict: Verdict | null): true {
    const gate: Gate = this.http.gate;
    const refusal = verdict === null ? null : gate.refuse(caller, kind, verdict);
    if (refusal !== null) throw caller.refusal(refusal);
    return true;
  }
}

/** What wasn't settled before: too late for another answer, in time for the next try. */
async function settleBy(status: number, attempt: Attempt): Promise<void> {
  if (status === 401) await attempt.fail();
  else if (status < 400) await attempt.succeed();
}

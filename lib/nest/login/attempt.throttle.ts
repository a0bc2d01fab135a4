// Guards an operation against guessing wherever it is called: REST, GraphQL and messages share its counters.

import { Injectable } from '@nestjs/common';
import type { Decision } from '../../algorithms/decision.js';
import type { Verdict } from '../../algorithms/verdict.js';
import type { Attempt } from '../../policies/attempts.js';
import type { MaybePromise } from '../../stores/store.js';
import { statusOf } from '../auth/auth-failures.js';
import { RateLimitRuntime } from '../rate-limit.runtime.js';
import { ServiceCaller } from '../service/service-caller.js';
import type { AttemptKind } from './attempts.js';

/** What became of a try. */
export type AttemptResult<T> =
  | { readonly outcome: 'passed'; readonly value: T }
  /** Verified and wrong: answer 401. */
  | { readonly outcome: 'failed' }
  /** Too many failures: answer 429 with the message. Also where `verify` ran and parallel failures were faster. */
  | { readonly outcome: 'refused'; readonly decision: Decision; readonly message: string };

/** What `verify` gives: what it found, or null, undefined or false when the try is wrong. */
export type Verified<T> = MaybePromise<T | null | undefined | false>;

@Injectable()
export abstract class AttemptThrottle {
  protected abstract readonly kind: AttemptKind;

  constructor(private readonly runtime: RateLimitRuntime) {}

  /**
   * Runs `verify` unless there were too many failures. Only failures count: `verify` gives null, undefined or false,
   * or throws a 401, which is thrown again unless it is refused. Whatever else it throws counts nothing. Success
   * forgets the failures of this very pair. Identifiers of unknown accounts are treated like any other.
   */
  async attempt<T>(
    identifier: string | number | bigint | null | undefined,
    ip: string | null,
    verify: () => Verified<T>,
  ): Promise<AttemptResult<T>> {
    const client = this.runtime.clientOf(ip);
    const caller = new ServiceCaller(client, this.runtime.headers);
    const attempt = this.runtime.attempts.begin(this.kind, textOf(identifier), client.network, caller.time);
    const refused = this.refusal<T>(caller, await attempt.open());
    if (refused !== null) return refused;
    let value: T | null | undefined | false;
    try {
      value = await verify();
    } catch (error) {
      const late = isWrong(error) ? await this.fail<T>(caller, attempt) : null;
      if (late !== null) return late;
      throw error;
    }
    if (value === null || value === undefined || value === false) {
      return (await this.fail<T>(caller, attempt)) ?? { outcome: 'failed' };
    }
    await attempt.succeed();
    return { outcome: 'passed', value };
  }

  private async fail<T>(caller: ServiceCaller, attempt: Attempt): Promise<AttemptResult<T> | null> {
    return this.refusal(caller, await attempt.fail());
  }

  private refusal<T>(caller: ServiceCaller, verdict: Verdict | null): AttemptResult<T> | null {
    const refusal = verdict === null ? null : this.runtime.gate.refuse(caller, this.kind, verdict);
    return refusal === null ? null : { outcome: 'refused', ...refusal };
  }
}

/** A 401, also one that a client of another service passes on. */
function isWrong(error: unknown): boolean {
  if (statusOf(error) === 401) return true;
  return typeof error === 'object' && error !== null && 'status' in error && error.status === 401;
}

/** An app's own ids may be numbers. */
function textOf(identifier: unknown): unknown {
  return typeof identifier === 'number' || typeof identifier === 'bigint' ? String(identifier) : identifier;
}

/** Failed sign-ins: 5 a minute per identifier and client network by default. Source B, SB-31, SB-32. */
@Injectable()
export class LoginThrottle extends AttemptThrottle {
  protected override readonly kind = 'login';
}

/** Wrong second-factor codes: 5 a minute per account by default. Give the account, not the challenge. SB-33. */
@Injectable()
export class SecondFactorThrottle extends AttemptThrottle {
  protected override readonly kind = 'second-factor';
}

// `@ThrottleLogin` and `@ThrottleSecondFactor`: handlers that verify a password or a code, guarded against guessing.

import { UseInterceptors } from '@nestjs/common';
import { show } from '../../algorithms/rate.js';
import { badConfiguration } from '../../errors.js';
import type { InputSource } from '../http/input-field.js';
import type { AttemptPlan } from '../login/attempt-entry.js';
import { AttemptInterceptor } from '../login/attempt.interceptor.js';
import type { AttemptKind } from '../login/attempts.js';
import { setOnce, targetName } from './metadata.js';
import { isSource } from './public-tool.decorator.js';

export const ATTEMPT_KEY = 'tollgate:attempt';

/**
 * Limits failed sign-ins of a handler: 5 a minute per identifier and client network by default, then 429 before
 * anything is verified. `identifier` names the field of the body that has it, or is a function of the call.
 *
 * A 401 is a failure, thrown by the handler or by a guard that it lists (Passport's), or a false of such a guard; a
 * handler that ends well forgets the failures of this pair. Everything else counts nothing. Source B, SB-31, SB-32.
 *
 * @throws TollgateError when the field is no text and no function, or when the handler is decorated twice.
 */
export function ThrottleLogin(identifier: InputSource): MethodDecorator {
  return attempt('login', '@ThrottleLogin()', identifier);
}

/**
 * The same for codes of a second factor: 5 wrong ones a minute per account by default, over all handlers. `account` is
 * where the account is named; not the challenge, of which a new sign-in makes a new one. Source B, SB-33.
 *
 * @throws TollgateError when the field is no text and no function, or when the handler is decorated twice.
 */
export function ThrottleSecondFactor(account: InputSource): MethodDecorator {
  return attempt('second-factor', '@ThrottleSecondFactor()', account);
}

function attempt(kind: AttemptKind, name: string, source: InputSource): MethodDecorator {
  return (target: object, key: string | symbol, descriptor: PropertyDescriptor) => {
    const where = `${name} on ${targetName(target, key)}`;
    if (!isSource(source)) {
      throw badConfiguration(where, [
        `it is given ${show(source)}: name a field of the body, or give a function`,
      ]);
    }
    const plan: AttemptPlan = { kind, source };
    setOnce(ATTEMPT_KEY, plan, target, descriptor, where);
    UseInterceptors(AttemptInterceptor)(target, key, descriptor);
  };
}

export function isAttemptPlan(value: unknown): value is AttemptPlan {
  return typeof value === 'object' && value !== null && 'kind' in value && 'source' in value;
}

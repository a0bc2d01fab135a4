// What the decorators of single handlers say, where they hold, and where an override has lost them.

import { PublicToolInterceptor } from '../auth/public-tool.interceptor.js';
import { findMetadata, hasOwnMetadata } from '../decorators/metadata.js';
import { PUBLIC_TOOL_KEY } from '../decorators/public-tool.decorator.js';
import { ATTEMPT_KEY, isAttemptPlan } from '../decorators/throttle-login.decorator.js';
import type { Route } from '../http/route-identity.js';
import type { AttemptPlan } from '../login/attempt-entry.js';

/** The try that a handler's calls are; null: none. */
export function attemptOf(handler: Function): AttemptPlan | null {
  const found: unknown = Reflect.getOwnMetadata(ATTEMPT_KEY, handler);
  return isAttemptPlan(found) ? found : null;
}

const INTERCEPTORS = '__interceptors__';

/** Lets a public tool's interceptor run right before its handler: decorators written above add theirs behind it. */
export function putToolLast(handler: Function): void {
  const list: unknown = Reflect.getOwnMetadata(INTERCEPTORS, handler);
  if (!Array.isArray(list) || !list.includes(PublicToolInterceptor)) return;
  const others = list.filter((interceptor) => interceptor !== PublicToolInterceptor);
  Reflect.defineMetadata(INTERCEPTORS, [...others, PublicToolInterceptor], handler);
}

/** These bring an interceptor with them, which an override doesn't inherit: it would be unprotected without a word. */
const WITH_INTERCEPTOR = {
  '@PublicTool()': PUBLIC_TOOL_KEY,
  '@ThrottleLogin() or @ThrottleSecondFactor()': ATTEMPT_KEY,
};

export function checkOverrides(
  { controller, method, handler }: Omit<Route, 'identity'>,
  findings: string[],
): void {
  for (const [name, key] of Object.entries(WITH_INTERCEPTOR)) {
    if (hasOwnMetadata(key, handler)) continue;
    if (findMetadata(key, controller, method) === undefined) continue;
    findings.push(
      `${controller.name}.${method} overrides a handler with ${name} and would lose it: repeat the decorator`,
    );
  }
}

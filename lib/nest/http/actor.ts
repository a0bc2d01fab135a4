// Whom an app's `Authenticator` found to be calling, for guards and loggers.

import type { Actor } from '../auth/authenticator.js';
import { rawRequest, stateOf, type FrameworkRequest } from './request-state.js';

/**
 * The very object that the `Authenticator` gave; null for guests, before `ApiGuard` or `AuthInterceptor` has run, and
 * outside of the API. Takes Express's request, Fastify's, and Node's own.
 */
export function actorOf(request: FrameworkRequest): Actor | null {
  return stateOf(rawRequest(request))?.actor ?? null;
}

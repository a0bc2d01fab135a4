// The client's address of a request, for loggers and handlers: the same that limits are counted by.

import { rawRequest, stateOf, type FrameworkRequest } from './request-state.js';

/**
 * The address in canonical text; null when there is none (a Unix socket) or the request was never seen by
 * `RateLimitModule`. Takes Express's request, Fastify's, and Node's own.
 */
export function clientIpOf(request: FrameworkRequest): string | null {
  return stateOf(rawRequest(request))?.client.address ?? null;
}

// `throttle(quota)`: a route throttle for routes written by hand, outside of controllers. Source B, SB-25.

import { badConfiguration, TollgateError } from '../../errors.js';
import { RouteLimit } from '../../policies/route.js';
import type { Call } from '../call.js';
import { checkQuota, rateOf, type NamedQuota } from '../quota.js';
import { HttpCaller } from './http-caller.js';
import { proceed, type Next } from './proceed.js';
import { rawRequest, stateOf, type FrameworkRequest } from './request-state.js';
import type { FrameworkResponse } from './response.js';

export type ThrottleMiddleware = (request: FrameworkRequest, response: FrameworkResponse, next: Next) => void;

/**
 * Middleware that counts each request it sees, by `request.user` where something set it before, else by client
 * network. The quota needs a name, which is its counter's: middlewares of one name share it.
 *
 * @throws TollgateError when the quota is wrong; passes one on when `RateLimitModule` isn't part of the app.
 */
export function throttle(quota: NamedQuota): ThrottleMiddleware {
  const findings: string[] = [];
  checkQuota(quota, 'quota', findings);
  const name = findings.length === 0 ? quota.name : '';
  if (name === undefined) findings.push('quota.name is missing: a hand-written route has no other name');
  if (findings.length > 0) throw badConfiguration('throttle()', findings);
  const limits = new WeakMap<object, RouteLimit<Call>>();

  return (request, response, next) => {
    const state = stateOf(rawRequest(request));
    if (state === undefined) {
      next(
        new TollgateError(
          'TOLLGATE_NOT_INSTALLED',
          `throttle(${name}) needs RateLimitModule.forRoot() in the app`,
        ),
      );
      return;
    }
    const { limits: http } = state;
    let limit = limits.get(http);
    if (limit === undefined) {
      limit = new RouteLimit(
        name,
        `middleware ${name}`,
        rateOf(quota, `${name}.limit`, http.report),
        quota,
        http.report,
      );
      limits.set(http, limit);
    }
    const counted = limit;
    const charge = () => {
      const caller = new HttpCaller(state, request, response, http.identities.ofRequest(request), null);
      const bucket = http.skips(caller) ? null : counted.bucket(caller);
      return bucket === null ? true : http.gate.passOne(caller, 'route', bucket, counted.dryRun);
    };
    proceed(() => state.once(counted, charge), next);
  };
}

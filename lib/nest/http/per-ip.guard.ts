// The per-IP limit as a guard, for apps whose requests don't pass the module's middleware.

import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { MaybePromise } from '../../stores/store.js';
import { HttpLimits } from './http-limits.js';
import type { FrameworkRequest } from './request-state.js';
import type { FrameworkResponse } from './response.js';

/** Charges the per-IP limit where nothing did before; a request is never counted twice. Guards don't see 404s. */
@Injectable()
export class PerIpGuard implements CanActivate {
  constructor(private readonly limits: HttpLimits) {}

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    if (context.getType() !== 'http') return true;
    const http = context.switchToHttp();
    return this.limits.onRequest(http.getRequest<FrameworkRequest>(), http.getResponse<FrameworkResponse>());
  }
}

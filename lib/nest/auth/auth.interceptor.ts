// A machine API's entry as an interceptor: authenticates through the app's `Authenticator`, charges throttles and cost
// of the handler, and counts the 401s that the handler itself throws. Source A, SA-17 to SA-22.

import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { catchError, type Observable } from 'rxjs';
import { ApiEntry } from './api-entry.js';
import { Authenticator } from './authenticator.js';

/**
 * For `@UseInterceptors(AuthInterceptor)`, or as `APP_INTERCEPTOR`. Interceptors run behind all guards: where guards
 * need to know who is calling, list `ApiGuard` instead. `ThrottleGuard` steps aside on handlers bound to either.
 */
@Injectable()
export class AuthInterceptor implements NestInterceptor {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly entry: ApiEntry,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.entry.admit(context, this.authenticator);
    return next.handle().pipe(catchError((error: unknown) => this.entry.refuse(context, error)));
  }
}

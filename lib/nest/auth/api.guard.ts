// A machine API's entry as a guard: in front of other guards, which then know who is calling.

import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ApiEntry } from './api-entry.js';
import { Authenticator } from './authenticator.js';

/** Does what `AuthInterceptor` does, at the place where it is listed: `@UseGuards(ApiGuard, RolesGuard)`. */
@Injectable()
export class ApiGuard implements CanActivate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly entry: ApiEntry,
  ) {}

  canActivate(context: ExecutionContext): Promise<boolean> {
    return this.entry.admit(context, this.authenticator);
  }
}

// The guard that enforces route throttles. The module binds it by itself; list it where its place must be explicit.

import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import type { MaybePromise } from '../../stores/store.js';
import { ThrottleEnforcer } from './throttle.enforcer.js';

/**
 * Counts a call once, however often the guard is bound. A handler or controller that lists it itself, as in
 * `@UseGuards(ApiKeyGuard, ThrottleGuard)`, is throttled at exactly that place.
 */
@Injectable()
export class ThrottleGuard implements CanActivate {
  private global: boolean | null = null;

  constructor(
    private readonly enforcer: ThrottleEnforcer,
    private readonly config: ApplicationConfig,
  ) {}

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    this.global ??= this.config.getGlobalGuards().some((guard) => guard === this);
    return this.enforcer.enforce(context, this.global ? 'global' : 'listed');
  }
}

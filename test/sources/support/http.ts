// What the tests of HTTP limits share: time that stands still, a guard that signs in whoever a header names.

import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { MemoryStore, type RateLimitOptions } from '../../../lib/index.js';
import { FakeClock } from '../../../lib/testing/index.js';

export interface Timed {
  readonly clock: FakeClock;
  readonly store: MemoryStore;
  readonly rateLimit: RateLimitOptions;
}

/** Options with a store whose time stands still. */
export function timed(options: RateLimitOptions = {}): Timed {
  const clock = new FakeClock();
  const store = new MemoryStore({ clock });
  return { clock, store, rateLimit: { store, ...options } };
}

/** Signs in whoever `x-user` names; without it the caller is a guest. */
@Injectable()
export class HeaderAuth implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest();
    const id = request.headers['x-user'];
    if (id !== undefined) request.user = { id };
    return true;
  }
}

export function as(user: string): { headers: Record<string, string> } {
  return { headers: { 'x-user': user } };
}

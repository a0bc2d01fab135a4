// Charges what is left of a public tool's price, behind all guards and right before its handler.

import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { MaybePromise } from '../../stores/store.js';
import { chain } from '../../stores/chain.js';
import { ThrottleEnforcer } from '../throttle/throttle.enforcer.js';

@Injectable()
export class PublicToolInterceptor implements NestInterceptor {
  constructor(private readonly enforcer: ThrottleEnforcer) {}

  intercept(context: ExecutionContext, next: CallHandler): MaybePromise<Observable<unknown>> {
    return chain(this.enforcer.chargeRest(context), () => next.handle());
  }
}

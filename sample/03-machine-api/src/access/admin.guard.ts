// Says who is an admin. Its 403 is no guess at a key: the caller is known.
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { actorOf } from 'nestjs-tollgate';

@Injectable()
export class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const actor = actorOf(context.switchToHttp().getRequest<Request>());
    return actor !== null && 'admin' in actor && actor.admin === true;
  }
}

// Says who is calling. Without a token a caller is a guest; a wrong token is refused.
import { Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ownerOf, type User } from './users.js';

/** A request behind the guard. */
export interface IdentifiedRequest extends Request {
  user?: User;
}

@Injectable()
export class BearerGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<IdentifiedRequest>();
    const { authorization } = request.headers;
    if (authorization === undefined) return true;
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    const user = token === undefined ? null : ownerOf(token);
    if (user === null) throw new UnauthorizedException('This token is not known');
    request.user = user;
    return true;
  }
}

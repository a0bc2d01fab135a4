// Says who may call: `@Roles(['admin'])` on a handler or a controller.
import { Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { IdentifiedRequest } from './bearer.guard.js';
import type { Role } from './users.js';

export const Roles = Reflector.createDecorator<Role[]>();

@Injectable()
export class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const allowed = this.reflector.getAllAndOverride(Roles, [context.getHandler(), context.getClass()]);
    if (allowed === undefined) return true;
    const { user } = context.switchToHttp().getRequest<IdentifiedRequest>();
    if (user === undefined) throw new UnauthorizedException('Send a token: Authorization: Bearer …');
    return user.roles.some((role) => allowed.includes(role));
  }
}

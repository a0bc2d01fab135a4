// Lets those in who are signed in. That guesses at tokens are limited is none of its business: see `preauth`.
import { Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Account } from '../accounts/accounts.js';
import { Sessions } from './sessions.js';

/** A request behind a guard that knows its user. */
export interface SignedInRequest extends Request {
  user?: Account;
}

@Injectable()
export class SessionGuard implements CanActivate {
  constructor(private readonly sessions: Sessions) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<SignedInRequest>();
    const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    const account = token === undefined ? null : this.sessions.find(token);
    if (account === null) throw new UnauthorizedException('Sign in first');
    request.user = account;
    return true;
  }
}

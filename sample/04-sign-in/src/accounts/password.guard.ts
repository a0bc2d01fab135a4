// Verifies the password of a sign-in before its handler runs, as Passport's local strategy does.
import {
  BadRequestException,
  Injectable,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { Accounts } from './accounts.js';
import type { SignedInRequest } from '../session/session.guard.js';

@Injectable()
export class PasswordGuard implements CanActivate {
  constructor(private readonly accounts: Accounts) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<SignedInRequest>();
    const { email, password }: Record<string, unknown> = request.body ?? {};
    if (typeof email !== 'string' || typeof password !== 'string') {
      throw new BadRequestException('Send email and password');
    }
    const account = await this.accounts.verify(email, password);
    if (account === null) throw new UnauthorizedException('E-mail address or password is wrong');
    request.user = account;
    return true;
  }
}

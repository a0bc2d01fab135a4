// Routes of those who are signed in. Who finds a session open must not find out the password by it.
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Put,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { ClientIp, LoginThrottle, RateLimitException } from 'nestjs-tollgate';
import { Accounts, type Account } from './accounts/accounts.js';
import { CurrentUser } from './session/current-user.decorator.js';
import { SessionGuard } from './session/session.guard.js';
import { Sessions } from './session/sessions.js';

@Controller('me')
@UseGuards(SessionGuard)
export class MeController {
  constructor(
    private readonly accounts: Accounts,
    private readonly sessions: Sessions,
    private readonly logins: LoginThrottle,
  ) {}

  @Get()
  who(@CurrentUser() account: Account) {
    return account;
  }

  /** Asks for the current password, and counts wrong ones together with those of sign-ins. */
  @Put('password')
  async changePassword(
    @CurrentUser() account: Account,
    @Body() { current, next }: { readonly current?: unknown; readonly next?: unknown },
    @ClientIp() ip: string | null,
  ) {
    if (typeof current !== 'string' || typeof next !== 'string' || next.length < 12) {
      throw new BadRequestException('Send current, and next of 12 characters at least');
    }
    const result = await this.logins.attempt(account.email, ip, () =>
      this.accounts.verify(account.email, current),
    );
    if (result.outcome === 'refused') throw new RateLimitException(result.decision, result.message);
    if (result.outcome === 'failed') throw new UnauthorizedException('The current password is wrong');
    await this.accounts.setPassword(result.value, next);
    this.sessions.end(account);
    return { message: 'Sign in again, everywhere' };
  }
}

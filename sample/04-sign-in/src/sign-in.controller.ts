// Signing in, with a second factor where an account has one, and what to do who has forgotten the password.
import {
  BadRequestException,
  Body,
  Controller,
  HttpCode,
  Post,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { ClientIp, MailThrottle, ThrottleLogin, ThrottleSecondFactor } from 'nestjs-tollgate';
import { Accounts, type Account } from './accounts/accounts.js';
import { PasswordGuard } from './accounts/password.guard.js';
import { Outbox } from './outbox.js';
import { accountOf, challengedAccount, challengeFor } from './second-factor/challenge.js';
import { SecondFactors } from './second-factor/second-factors.js';
import { CurrentUser } from './session/current-user.decorator.js';
import { Sessions } from './session/sessions.js';

interface CodeInput {
  readonly challenge?: unknown;
  readonly code?: unknown;
}

@Controller('sign-in')
export class SignInController {
  constructor(
    private readonly accounts: Accounts,
    private readonly factors: SecondFactors,
    private readonly sessions: Sessions,
    private readonly outbox: Outbox,
    private readonly mails: MailThrottle,
  ) {}

  /** The guard verifies; its 401s are the failures that count. */
  @Post()
  @HttpCode(200)
  @UseGuards(PasswordGuard)
  @ThrottleLogin('email')
  signIn(@CurrentUser() account: Account) {
    if (account.hasSecondFactor) return { challenge: challengeFor(account.email) };
    return { session: this.sessions.open(account) };
  }

  @Post('code')
  @HttpCode(200)
  @ThrottleSecondFactor(challengedAccount)
  code(@Body() input: CodeInput) {
    return this.finish(input, (email, code) => this.factors.useCode(email, code));
  }

  /** Counts with the codes: who has guessed at those may not go on guessing at these. */
  @Post('recovery-code')
  @HttpCode(200)
  @ThrottleSecondFactor(challengedAccount)
  recoveryCode(@Body() input: CodeInput) {
    return this.finish(input, (email, code) => this.factors.useRecoveryCode(email, code));
  }

  /** The same answer whether there is such an account or not, and whether a mail goes or one just went. */
  @Post('reset')
  @HttpCode(202)
  async reset(@Body('email') email: unknown, @ClientIp() ip: string | null) {
    if (typeof email !== 'string') throw new BadRequestException('Send email');
    await this.mails.attempt(email, ip, () => {
      const account = this.accounts.find(email);
      if (account !== null) this.outbox.queue({ to: account.email, subject: 'How to get a new password' });
    });
    return { message: 'If there is such an account, a mail is on its way' };
  }

  private finish({ challenge, code }: CodeInput, use: (email: string, code: string) => boolean) {
    if (typeof code !== 'string') throw new BadRequestException('Send challenge and code');
    const email = accountOf(challenge);
    const account = email !== null && use(email, code) ? this.accounts.find(email) : null;
    if (account === null) throw new UnauthorizedException('The code is wrong, or the sign-in too long ago');
    return { session: this.sessions.open(account) };
  }
}

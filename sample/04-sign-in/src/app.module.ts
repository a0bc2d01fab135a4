// Puts the app together. The limits on guessing hold for every route that its decorators and services guard.
import { Module } from '@nestjs/common';
import { RateLimitModule } from 'nestjs-tollgate';
import { Accounts } from './accounts/accounts.js';
import { MeController } from './me.controller.js';
import { Outbox } from './outbox.js';
import { SecondFactors } from './second-factor/second-factors.js';
import { SessionGuard } from './session/session.guard.js';
import { Sessions } from './session/sessions.js';
import { SignInController } from './sign-in.controller.js';

@Module({
  imports: [
    RateLimitModule.forRoot({
      // Small, so that you needn't try often.
      login: {
        failures: { limit: 3, per: '1m' },
        perNetwork: { limit: 10, per: '1m' },
        codes: { limit: 3, per: '1m' },
        mails: { limit: 1, per: '1m' },
      },
      // Guesses at session tokens count as well.
      authGuard: SessionGuard,
      preauth: true,
      limits: { adminPreauthFailPerMin: 3 },
      // As behind a proxy on this machine, so that you can be another client: curl -H "X-Forwarded-For: 203.0.113.7"
      trustedProxies: ['127.0.0.1', '::1'],
    }),
  ],
  controllers: [SignInController, MeController],
  providers: [Accounts, SecondFactors, Sessions, Outbox],
})
export class AppModule {}

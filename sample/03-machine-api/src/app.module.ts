// Puts the app together: three modules, each with the authenticator that its controllers are bound to.
import { Module } from '@nestjs/common';
import { Authenticator, RateLimitModule } from 'nestjs-tollgate';
import { AccessModule } from './access/access.module.js';
import { AdminAuthenticator, ApiAuthenticator, GuestAuthenticator } from './access/api.authenticator.js';
import { AdminController } from './admin.controller.js';
import { Dictionary } from './dictionary.js';
import { ToolsController } from './tools.controller.js';
import { WordsController } from './words.controller.js';

@Module({ providers: [Dictionary], exports: [Dictionary] })
class DictionaryModule {}

@Module({
  imports: [AccessModule, DictionaryModule],
  controllers: [WordsController],
  providers: [{ provide: Authenticator, useClass: ApiAuthenticator }],
})
class WordsModule {}

@Module({
  imports: [AccessModule, DictionaryModule],
  controllers: [ToolsController],
  providers: [{ provide: Authenticator, useClass: GuestAuthenticator }],
})
class ToolsModule {}

@Module({
  imports: [AccessModule, DictionaryModule],
  controllers: [AdminController],
  providers: [{ provide: Authenticator, useClass: AdminAuthenticator }],
})
class AdminModule {}

@Module({
  imports: [
    RateLimitModule.forRoot({
      // Small, so that a line of curl gets refused.
      limits: {
        adminPreauthFailPerMin: 3,
        adminRatePerMin: 10,
        publicTokenRatePerMin: 6,
        publicIpRatePerMin: 12,
        publicNewRowsPerIpHour: 2,
      },
      // As behind a proxy on this machine, so that you can be another client: curl -H "X-Forwarded-For: 203.0.113.7"
      trustedProxies: ['127.0.0.1', '::1'],
    }),
    WordsModule,
    ToolsModule,
    AdminModule,
  ],
})
export class AppModule {}

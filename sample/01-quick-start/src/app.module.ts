// Puts the app together. Throttles run behind BearerGuard and before RolesGuard, so calls that end in 403 count too.
import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitModule } from 'nestjs-tollgate';
import { AdminController } from './admin.controller.js';
import { BearerGuard } from './auth/bearer.guard.js';
import { RolesGuard } from './auth/roles.guard.js';
import { PublicController } from './public.controller.js';
import { ReportsController } from './reports.controller.js';

@Module({
  imports: [
    RateLimitModule.forRoot({
      authGuard: BearerGuard,
      // As behind a proxy on this machine, so that you can be another guest: curl -H "X-Forwarded-For: 203.0.113.7"
      trustedProxies: ['127.0.0.1', '::1'],
    }),
  ],
  controllers: [PublicController, ReportsController, AdminController],
  providers: [
    { provide: APP_GUARD, useClass: BearerGuard },
    { provide: APP_GUARD, useClass: RolesGuard },
  ],
})
export class AppModule {}

// Puts the app together: what refusals look like, what clients are told, and where the audit trail goes.
import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { RateLimitModule } from 'nestjs-tollgate';
import { join } from 'node:path';
import { AuditFile } from './audit-file.js';
import { BooksController } from './books.controller.js';
import { ProblemFilter } from './problem.filter.js';

export const auditFile = new AuditFile(process.env.AUDIT_FILE || join(import.meta.dirname, 'audit.jsonl'));

@Module({
  imports: [
    RateLimitModule.forRoot({
      perIp: { limit: 20, per: '5m' },
      headers: ['draft-6', 'draft-11'],
      audit: auditFile,
      // As behind a proxy on this machine, so that you can be another client: curl -H "X-Forwarded-For: 203.0.113.7"
      trustedProxies: ['127.0.0.1', '::1'],
    }),
  ],
  controllers: [BooksController],
  providers: [
    { provide: APP_FILTER, useClass: ProblemFilter },
    // As a provider it is told when the app ends.
    { provide: AuditFile, useValue: auditFile },
  ],
})
export class AppModule {}

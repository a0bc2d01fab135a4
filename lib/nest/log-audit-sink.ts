// Where audit rows go by default: the app's log, one line of JSON each.

import { Logger } from '@nestjs/common';
import { AuditSink, type AuditEntry } from '../events/audit.js';

export class LogAuditSink extends AuditSink {
  private readonly logger = new Logger('RateLimitAudit');

  override write(entry: AuditEntry): void {
    this.logger.log(asciiJson(entry));
  }
}

/** JSON leaves control characters above ASCII as they are, and a user's id may come from anywhere. */
function asciiJson(entry: AuditEntry): string {
  return JSON.stringify(entry).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

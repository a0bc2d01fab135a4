import { Logger } from '@nestjs/common';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AuditEntry } from '../../lib/events/audit.js';
import { LogAuditSink } from '../../lib/nest/log-audit-sink.js';

const ENTRY: AuditEntry = {
  action: 'http.rate_limited',
  at: 1_767_225_600_000,
  ip: '203.0.113.7',
  network: '203.0.113.7',
  user: 'a\nb',
  details: { limit: 'route', policy: 'POST /reports', retryAfter: 6, dryRun: false },
};

describe('the audit trail in the log', () => {
  it('SB-14 is a line of JSON for each row, whatever is in it', () => {
    const log = vi.spyOn(Logger.prototype, 'log').mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    new LogAuditSink().write(ENTRY);
    expect(log).toHaveBeenCalledTimes(1);
    const line: unknown = log.mock.calls[0][0];
    expect(line).not.toContain('\n');
    expect(JSON.parse(String(line))).toEqual(ENTRY);
  });
});

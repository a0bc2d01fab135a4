import { describe, expect, it } from 'vitest';
import { EventLog } from '../../lib/nest/event-log.js';

function captured() {
  const lines: string[] = [];
  const log = new EventLog({
    log: (text: string) => lines.push(`LOG ${text}`),
    warn: (text: string) => lines.push(`WARN ${text}`),
    error: (text: string) => lines.push(`ERROR ${text}`),
  });
  return { log, lines };
}

describe('the log of events', () => {
  it('says what concerns every request once, and what to do', () => {
    const { log, lines } = captured();
    for (let i = 0; i < 100; i++) {
      log.write({ type: 'forwarding-ignored', peer: '10.0.0.2' });
      log.write({ type: 'unknown-address' });
    }
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^WARN .*10\.0\.0\.2.*trustedProxies/);
    expect(lines[1]).toMatch(/^WARN .*'unix'.*trustedProxies/);
  });

  it('says an overflow once per namespace, and an unusable key once per policy', () => {
    const { log, lines } = captured();
    for (const namespace of ['network:per-ip', 'user:exports', 'network:per-ip']) {
      log.write({ type: 'overflow', namespace, maxKeys: 5 });
      log.write({ type: 'unusable-key', policy: namespace, problem: 'by() returned undefined' });
    }
    expect(lines).toHaveLength(4);
  });

  it('an invalid live setting is an ERROR that names it', () => {
    const { log, lines } = captured();
    log.write({ type: 'invalid-setting', setting: 'rateLimit.perIp', problem: 'limit is NaN' });
    expect(lines).toEqual([expect.stringMatching(/^ERROR rateLimit\.perIp: limit is NaN.*last good value/)]);
  });
});

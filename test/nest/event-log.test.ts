import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AuditSink, type AuditEntry } from '../../lib/events/audit.js';
import type { RefusalEvent } from '../../lib/events/event.js';
import { EventLog } from '../../lib/nest/event-log.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';

class Rows extends AuditSink {
  readonly rows: AuditEntry[] = [];

  override write(entry: AuditEntry): void {
    this.rows.push(entry);
  }
}

const opened: EventLog[] = [];
afterEach(() => {
  for (const log of opened.splice(0)) log.close();
});

function captured(sink: AuditSink | null = null, clock = new FakeClock()) {
  const lines: string[] = [];
  const log = new EventLog(clock, sink, {
    log: (text: string) => lines.push(`LOG ${text}`),
    warn: (text: string) => lines.push(`WARN ${text}`),
    error: (text: string) => lines.push(`ERROR ${text}`),
  });
  opened.push(log);
  return { log, lines, clock };
}

function refusal(about: Partial<RefusalEvent> = {}, policy = 'per-ip'): RefusalEvent {
  return {
    type: 'refusal',
    limit: 'ip',
    decision: {
      allowed: false,
      policy,
      limit: 3,
      cost: 1,
      remaining: 0,
      resetAfter: 60,
      retryAfter: 20,
      reason: 'limit-exceeded',
      headers: {},
    },
    address: '203.0.113.7',
    network: '203.0.113.7',
    user: null,
    dryRun: false,
    ...about,
  };
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

  it('I04 an invalid cost is an ERROR that says where, and what is charged', () => {
    const { log, lines } = captured();
    log.write({ type: 'invalid-cost', where: '@Cost() on A.b', problem: 'it is NaN, not above 0', cost: 1 });
    expect(lines).toEqual(['ERROR @Cost() on A.b: it is NaN, not above 0. 1 is charged']);
  });

  it('J01 a fold of identifiers that fails is said without a word of networks', () => {
    const { log, lines } = captured();
    log.write({ type: 'unusable-key', policy: 'login.fold', problem: 'it threw TypeError' });
    expect(lines).toEqual(['WARN login.fold: it threw TypeError']);
  });

  it('remembers a bounded number of things that it said, and says no more then', () => {
    const { log, lines } = captured();
    for (let i = 0; i < 5_000; i++) {
      log.write({ type: 'unusable-key', policy: `p${i}`, problem: 'by() threw' });
    }
    expect(lines).toHaveLength(1_000);
    log.write({ type: 'unusable-key', policy: 'p0', problem: 'by() threw' });
    expect(lines).toHaveLength(1_000);
  });

  it('lets no text of the app end a line', () => {
    const { log, lines } = captured();
    log.write({ type: 'unusable-key', policy: 'p\nWARN forged', problem: 'by() threw\r\n\u001B[2J' });
    log.write({ type: 'invalid-setting', setting: 'settings', problem: 'read() threw a\nb' });
    log.write({ type: 'invalid-cost', where: '@Cost() on A.b', problem: 'it threw A\nB', cost: 1 });
    expect(lines.map((line) => /[^\x20-\x7e]/.test(line))).toEqual([false, false, false]);
  });

  it('a decision is no line: it is there for metrics', () => {
    const { log, lines } = captured(new Rows());
    log.write({ ...refusal(), type: 'decision' });
    expect(lines).toEqual([]);
  });
});

describe('the log of refusals', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('SB-13 SB-30 is a WARN per refusal, in the words of its limit', () => {
    const { log, lines } = captured();
    log.write(refusal());
    log.write(refusal({ limit: 'route' }, 'POST /reports'));
    log.write(refusal({ limit: 'route', dryRun: true }, 'GET /covers'));
    expect(lines).toEqual([
      'WARN per-IP rate limit exceeded: policy=per-ip network=203.0.113.7',
      'WARN route throttle exceeded: policy=POST /reports network=203.0.113.7',
      'WARN route throttle exceeded (dry run, not refused): policy=GET /covers network=203.0.113.7',
    ]);
  });

  it('is summed up in a flood: ten lines, and the rest as one once the second is over', () => {
    const { log, lines, clock } = captured();
    for (let i = 0; i < 25; i++) log.write(refusal());
    expect(lines).toHaveLength(10);
    // The second isn't over by the clock of the store.
    vi.advanceTimersByTime(1_000);
    expect(lines).toHaveLength(10);
    clock.advance('1s');
    vi.advanceTimersByTime(1_000);
    expect(lines.slice(10)).toEqual([
      'WARN per-IP rate limit exceeded: policy=per-ip and 15 more in that second',
    ]);
    log.write(refusal());
    expect(lines).toHaveLength(12);
  });

  it('H10 goes by the monotonic clock, whatever the wall clock does', () => {
    const { log, lines, clock } = captured();
    for (let i = 0; i < 20; i++) {
      log.write(refusal());
      clock.setWall(new Date(Date.UTC(2026, 0, 1 + i)));
    }
    expect(lines).toHaveLength(10);
  });

  it('says on closing what is left to be summed up, and stops its timer', () => {
    const { log, lines } = captured();
    for (let i = 0; i < 12; i++) log.write(refusal());
    expect(vi.getTimerCount()).toBe(1);
    log.close();
    expect(lines.at(-1)).toBe('WARN per-IP rate limit exceeded: policy=per-ip and 2 more in that second');
    expect(vi.getTimerCount()).toBe(0);
    log.close();
    expect(lines).toHaveLength(11);
  });
});

describe('the audit of refusals', () => {
  const START = Date.UTC(2026, 0, 1);

  it('P06 SB-14 is a row per network and minute, by the clock of the store', async () => {
    const sink = new Rows();
    const { log, clock } = captured(sink);
    for (let second = 0; second < 120; second++) {
      log.write(refusal());
      log.write(refusal({ network: '198.51.100.0', address: '198.51.100.9' }));
      clock.advance('1s');
    }
    await turn();
    expect(sink.rows.map(({ at, network }) => [at - START, network])).toEqual([
      [0, '203.0.113.7'],
      [0, '198.51.100.0'],
      [60_000, '203.0.113.7'],
      [60_000, '198.51.100.0'],
    ]);
  });

  it('SB-14 SB-30 says by which limit, whichever is first in the minute', async () => {
    const sink = new Rows();
    const { log } = captured(sink);
    log.write(refusal({ limit: 'route', user: 'ada' }, 'POST /reports'));
    log.write(refusal());
    await turn();
    expect(sink.rows).toEqual([
      {
        action: 'http.rate_limited',
        at: START,
        ip: '203.0.113.7',
        network: '203.0.113.7',
        user: 'ada',
        details: { limit: 'route', policy: 'POST /reports', retryAfter: 20, dryRun: false },
      },
    ]);
  });

  it('P06 is complete in a flood that the log sums up', async () => {
    const sink = new Rows();
    const { log, lines } = captured(sink);
    for (let i = 0; i < 100; i++) log.write(refusal({ network: `10.0.0.${i}` }));
    await turn();
    expect([lines.length, sink.rows.length]).toEqual([10, 100]);
  });

  it('is handed over behind the answer: a sink that blocks delays nobody who was refused', async () => {
    const sink = new Rows();
    const { log } = captured(sink);
    log.write(refusal());
    expect(sink.rows).toEqual([]);
    await turn();
    expect(sink.rows).toHaveLength(1);
  });

  it('goes nowhere without a sink, and other events are not audited', async () => {
    const sink = new Rows();
    captured(null).log.write(refusal());
    const { log } = captured(sink);
    log.write({ type: 'unknown-address' });
    log.write({ ...refusal(), type: 'decision' });
    await turn();
    expect(sink.rows).toEqual([]);
  });

  it('a sink that fails is said once, and costs no refusal its line', async () => {
    class Broken extends AuditSink {
      override write(): void {
        throw new Error('disk full');
      }
    }
    const { log, lines } = captured(new Broken());
    for (let i = 0; i < 5; i++) log.write(refusal({ network: `10.0.0.${i}` }));
    await turn();
    expect(lines.filter((line) => line.includes('audit'))).toEqual(['WARN audit: the sink threw disk full']);
    expect(lines.filter((line) => line.includes('exceeded'))).toHaveLength(5);
  });
});

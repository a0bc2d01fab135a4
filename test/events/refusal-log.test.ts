import { describe, expect, it } from 'vitest';
import type { RefusalEvent } from '../../lib/events/event.js';
import { printable, RefusalLog } from '../../lib/events/refusal-log.js';

const SECOND = 1_000_000;

function refusal(about: Partial<RefusalEvent> & { policy?: string } = {}): RefusalEvent {
  const { policy = 'per-ip', ...rest } = about;
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
    ...rest,
  };
}

function setup() {
  const lines: string[] = [];
  return { lines, log: new RefusalLog((line) => lines.push(line)) };
}

describe('the log of refusals', () => {
  it('SB-13 SB-30 says each with policy and network, in the words of its limit', () => {
    const { lines, log } = setup();
    log.record(refusal(), SECOND);
    log.record(refusal({ limit: 'route', policy: 'POST /reports', network: '2001:db8:5:6::/64' }), SECOND);
    expect(lines).toEqual([
      'per-IP rate limit exceeded: policy=per-ip network=203.0.113.7',
      'route throttle exceeded: policy=POST /reports network=2001:db8:5:6::/64',
    ]);
  });

  it('sums up above ten a second and policy, and loses none', () => {
    const { lines, log } = setup();
    for (let i = 0; i < 100_000; i++) log.record(refusal(), SECOND + i);
    for (let i = 0; i < 5; i++) log.record(refusal({ policy: 'exports', limit: 'route' }), SECOND);
    log.flush(1.9 * SECOND);
    expect(lines).toHaveLength(15);
    log.flush(2 * SECOND);
    expect(lines).toHaveLength(16);
    expect(lines[15]).toBe('per-IP rate limit exceeded: policy=per-ip and 99990 more in that second');
    log.flush(3 * SECOND);
    expect(lines).toHaveLength(16);
  });

  it('a flood of a minute makes eleven lines a second', () => {
    const { lines, log } = setup();
    for (let i = 0; i < 60_000; i++) log.record(refusal(), SECOND + i * 1_000);
    log.flush(100 * SECOND);
    expect(lines).toHaveLength(60 * 11);
  });

  it('a dry run is told from a refusal', () => {
    const { lines, log } = setup();
    log.record(refusal({ dryRun: true }), SECOND);
    expect(lines[0]).toContain('dry run, not refused');
  });

  it('neutralises control characters, so that a name can neither end a line nor move a cursor', () => {
    expect(printable('a\nb\u001B[2Jc\u007Fé')).toBe('a\\u{a}b\\u{1b}[2Jc\\u{7f}\\u{e9}');
    const { lines, log } = setup();
    log.record(refusal({ policy: 'x\r\nWARN forged' }), SECOND);
    expect(lines[0]).toBe('per-IP rate limit exceeded: policy=x\\u{d}\\u{a}WARN forged network=203.0.113.7');
  });
});

import { setImmediate as turn } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { AuditSink, AuditTrail, type AuditEntry } from '../../lib/events/audit.js';
import type { RefusalEvent } from '../../lib/events/event.js';

const MINUTE = 60_000;
const NOON = Date.UTC(2026, 2, 1, 12);

function refusal(network: string, about: Partial<RefusalEvent> = {}): RefusalEvent {
  return {
    type: 'refusal',
    limit: 'route',
    decision: {
      allowed: false,
      policy: 'POST /reports',
      limit: 10,
      cost: 1,
      remaining: 0,
      resetAfter: 60,
      retryAfter: 6,
      reason: 'limit-exceeded',
      headers: {},
    },
    address: network,
    network,
    user: 'ada',
    dryRun: false,
    ...about,
  };
}

class Rows extends AuditSink {
  readonly rows: AuditEntry[] = [];

  override write(entry: AuditEntry): void {
    this.rows.push(entry);
  }
}

function setup(sink: AuditSink, most?: number) {
  const problems: string[] = [];
  return { problems, trail: new AuditTrail(sink, (problem) => problems.push(problem), most) };
}

describe('the audit trail of refusals', () => {
  it('P06 SB-14 a thousand refusals of one client in each of two minutes are two rows', () => {
    const sink = new Rows();
    const { trail } = setup(sink);
    for (let i = 0; i < 2_000; i++) trail.record(refusal('203.0.113.7'), NOON + i * 60);
    expect(sink.rows.map(({ at }) => at)).toEqual([NOON, NOON + MINUTE]);
  });

  it('SB-30 a row says who, by which limit, and how long to wait', () => {
    const sink = new Rows();
    setup(sink).trail.record(refusal('203.0.113.7'), NOON);
    expect(sink.rows).toEqual([
      {
        action: 'http.rate_limited',
        at: NOON,
        ip: '203.0.113.7',
        network: '203.0.113.7',
        user: 'ada',
        details: { limit: 'route', policy: 'POST /reports', retryAfter: 6, dryRun: false },
      },
    ]);
  });

  it('P06 what it remembers is bounded: beyond, rows are missing and it says so', () => {
    const sink = new Rows();
    const { trail, problems } = setup(sink, 100);
    for (let i = 0; i < 1_000; i++) trail.record(refusal(`10.0.${i >> 8}.${i & 255}`), NOON);
    expect(sink.rows).toHaveLength(100);
    expect(problems).toHaveLength(900);
    trail.record(refusal('198.51.100.7'), NOON + MINUTE);
    expect(sink.rows).toHaveLength(101);
  });

  it('a sink that throws or rejects touches nobody, and is told', async () => {
    class Broken extends AuditSink {
      private calls = 0;

      override write(): Promise<void> {
        this.calls++;
        if (this.calls === 1) throw new Error('disk full');
        return Promise.reject(new Error('no route'));
      }
    }
    const { trail, problems } = setup(new Broken());
    trail.record(refusal('10.0.0.1'), NOON);
    trail.record(refusal('10.0.0.2'), NOON);
    await turn();
    expect(problems).toEqual(['the sink threw disk full', 'the sink rejected with no route']);
  });

  it('a sink that never answers holds a bounded number of rows', () => {
    let handed = 0;
    class Stuck extends AuditSink {
      override write(): Promise<void> {
        handed++;
        return new Promise(() => {});
      }
    }
    const { trail, problems } = setup(new Stuck());
    for (let i = 0; i < 5_000; i++) trail.record(refusal(`10.1.${i >> 8}.${i & 255}`), NOON);
    expect(handed).toBe(1_000);
    expect(problems).toHaveLength(4_000);
    expect(problems[0]).toContain('too slow');
  });

  it('what a limit on trial would have refused takes no row from the first real refusal, and has one itself', () => {
    const sink = new Rows();
    const { trail } = setup(sink);
    for (const dryRun of [true, true, false, true, false]) {
      trail.record(refusal('203.0.113.7', { dryRun }), NOON);
    }
    expect(sink.rows.map(({ details }) => details.dryRun)).toEqual([true, false]);
  });

  it('a promise of another kind is waited for too: ORMs bring classes of their own, and some run only then', async () => {
    const foreign: PromiseConstructor = runInNewContext('Promise');
    class Orm extends AuditSink {
      override write(): Promise<void> {
        const query = foreign.reject(new Error('no table'));
        expect(query).not.toBeInstanceOf(Promise);
        return query;
      }
    }
    const { trail, problems } = setup(new Orm());
    trail.record(refusal('10.0.0.1'), NOON);
    await turn();
    expect(problems).toEqual(['the sink rejected with no table']);
  });

  it('whatever a sink throws, nothing reaches the caller', () => {
    for (const thrown of [undefined, null, 'text', Symbol('x'), Object.create(null)]) {
      class Odd extends AuditSink {
        override write(): void {
          throw thrown;
        }
      }
      const { trail, problems } = setup(new Odd());
      trail.record(refusal('10.0.0.1'), NOON);
      expect(problems).toEqual([expect.stringMatching(/^the sink threw ./)]);
    }
  });

  it('rows are handed over when it is told to, by default at once', () => {
    const sink = new Rows();
    const steps: (() => void)[] = [];
    const trail = new AuditTrail(
      sink,
      () => {},
      10,
      (step) => steps.push(step),
    );
    trail.record(refusal('10.0.0.1'), NOON);
    expect(sink.rows).toEqual([]);
    for (const step of steps) step();
    expect(sink.rows).toHaveLength(1);
  });
});

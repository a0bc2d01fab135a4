import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decisionOf } from '../../lib/algorithms/decision.js';
import {
  fixedCharged,
  fixedRefunded,
  fixedUsed,
  fixedVerdict,
  fixedWait,
  windowEnd,
} from '../../lib/algorithms/fixed-window.js';
import { createRate, type Rate } from '../../lib/algorithms/rate.js';

const MINUTE = 60_000_000;
const HOUR = 60 * MINUTE;
const NOON = Date.UTC(2026, 2, 1, 12) * 1000;

const rates = fc
  .record({
    limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2 ** 40 })),
    window: fc.constantFrom(1_000, 500_000, 1_000_000, MINUTE, 7 * MINUTE, HOUR, 8_760 * HOUR),
  })
  .map(({ limit, window }) => createRate('fixed', limit, window));
const times = fc.integer({ min: 0, max: 2 ** 51 });
const states = rates.chain((rate) =>
  fc.record({
    rate: fc.constant(rate),
    now: times,
    used: fc.integer({ min: 0, max: rate.limit * 2 }),
    cost: fc.integer({ min: 1, max: rate.limit }),
  }),
);
const refusals = states
  .map((state) => ({ ...state, used: Math.max(state.used, state.rate.limit - state.cost + 1) }))
  .filter(({ rate, used, cost }) => used + cost > rate.limit);

/** One bucket as a store keeps it. */
class OneBucket {
  private count = 0;
  private end = 0;

  consume(rate: Rate, cost: number, now: number): boolean {
    const end = windowEnd(rate.window, now);
    const used = fixedUsed(this.count, this.end, end);
    if (fixedWait(used, cost, rate, end, now) > 0) return false;
    this.count = fixedCharged(used, cost);
    this.end = end;
    return true;
  }
}

describe('windowEnd', () => {
  it('SA-04 aligns windows to the epoch', () => {
    expect(windowEnd(MINUTE, NOON)).toBe(NOON + MINUTE);
    expect(windowEnd(MINUTE, NOON + 1)).toBe(NOON + MINUTE);
    expect(windowEnd(MINUTE, NOON + MINUTE - 1)).toBe(NOON + MINUTE);
    expect(windowEnd(MINUTE, NOON + MINUTE)).toBe(NOON + 2 * MINUTE);
    expect(windowEnd(MINUTE, 0)).toBe(MINUTE);
  });

  it('lies ahead by at most one window, at a multiple of its length', () => {
    fc.assert(
      fc.property(rates, times, ({ window }, now) => {
        const end = windowEnd(window, now);
        expect(end).toBeGreaterThan(now);
        expect(end - now).toBeLessThanOrEqual(window);
        expect(end % window).toBe(0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('H04 is the same in every time zone, and through the repeated hour of autumn', () => {
    const script = `
      const windowEnd = ${windowEnd.toString()};
      const start = Date.UTC(2026, 9, 24, 22);
      const ends = Array.from({ length: 60 }, (_, i) => windowEnd(${HOUR}, (start + i * 600_000) * 1000));
      console.log(JSON.stringify([new Date(start).getHours(), ends]));`;
    const [berlin, kolkata] = ['Europe/Berlin', 'Asia/Kolkata'].map((zone) =>
      JSON.parse(
        execFileSync(process.execPath, ['-e', script], {
          env: { ...process.env, TZ: zone },
          encoding: 'utf8',
        }),
      ),
    );
    expect(berlin[0]).not.toBe(kolkata[0]);
    expect(berlin[1]).toEqual(kolkata[1]);
    const start = Date.UTC(2026, 9, 24, 22) * 1000;
    expect(berlin[1]).toEqual(Array.from({ length: 60 }, (_, i) => start + (Math.floor(i / 6) + 1) * HOUR));
  });
});

describe('a fixed window', () => {
  it('F01 admits two full windows around a boundary, and not one more', () => {
    const rate = createRate('fixed', 60, MINUTE);
    const bucket = new OneBucket();
    expect(bucket.consume(rate, 60, NOON - 100_000)).toBe(true);
    expect(bucket.consume(rate, 1, NOON - 1)).toBe(false);
    expect(bucket.consume(rate, 60, NOON)).toBe(true);
    expect(bucket.consume(rate, 1, NOON)).toBe(false);
  });

  it('F01 admits at most twice the limit in any interval of one window', () => {
    const calls = fc.array(
      fc.record({ after: fc.integer({ min: 0, max: 1_000 }), cost: fc.integer({ min: 1, max: 7 }) }),
      { minLength: 2, maxLength: 60 },
    );
    let most = 0;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), times, calls, (limit, start, run) => {
        const rate = createRate('fixed', limit, MINUTE);
        const bucket = new OneBucket();
        const admitted: { now: number; cost: number }[] = [];
        let now = start;
        for (const call of run) {
          now += Math.floor((call.after * MINUTE) / 5_000);
          if (bucket.consume(rate, Math.min(call.cost, limit), now))
            admitted.push({ now, cost: Math.min(call.cost, limit) });
        }
        for (const first of admitted) {
          const within = admitted.filter((other) => other.now >= first.now && other.now < first.now + MINUTE);
          const sum = within.reduce((total, { cost }) => total + cost, 0);
          most = Math.max(most, sum / limit);
          expect(sum).toBeLessThanOrEqual(2 * limit);
        }
      }),
      { numRuns: 1_000 },
    );
    expect(most).toBeGreaterThan(1);
  });

  it('I01 tells a cost that never fits from one that must wait; 0 always fits', () => {
    const rate = createRate('fixed', 10, MINUTE);
    const end = NOON + MINUTE;
    expect(fixedWait(0, 11, rate, end, NOON)).toBe(Infinity);
    expect(fixedWait(0, 10, rate, end, NOON)).toBe(0);
    expect(fixedWait(1, 10, rate, end, NOON)).toBe(MINUTE);
    expect(fixedWait(25, 0, rate, end, NOON)).toBe(0);
  });

  it('F10 passes at the end of its wait and not a microsecond before', () => {
    fc.assert(
      fc.property(refusals, ({ rate, now, used, cost }) => {
        const end = windowEnd(rate.window, now);
        const waitAt = (at: number) => {
          const then = windowEnd(rate.window, at);
          return fixedWait(fixedUsed(used, end, then), cost, rate, then, at);
        };
        const at = now + waitAt(now);
        expect(waitAt(at)).toBe(0);
        expect(waitAt(at - 1)).toBe(1);
      }),
      { numRuns: 1_000 },
    );
  });

  it('F10 passes at Retry-After, which is the smallest whole number of seconds that works', () => {
    fc.assert(
      fc.property(refusals, ({ rate, now, used, cost }) => {
        const end = windowEnd(rate.window, now);
        const waitAt = (at: number) => {
          const then = windowEnd(rate.window, at);
          return fixedWait(fixedUsed(used, end, then), cost, rate, then, at);
        };
        const bucket = { policy: 'p', namespace: 'p', key: 'k', cost, rate };
        const { retryAfter } = decisionOf(fixedVerdict(bucket, used, 0, waitAt(now), end, now), {});
        const at = now + (retryAfter ?? NaN) * 1_000_000;
        expect(waitAt(at)).toBe(0);
        expect(waitAt(Math.max(now, at - 1_001_000))).toBeGreaterThan(0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('opens empty whenever the stored window is another one, before or after', () => {
    const end = NOON + MINUTE;
    expect(fixedUsed(7, end, end)).toBe(7);
    expect(fixedUsed(7, end, end + MINUTE)).toBe(0);
    expect(fixedUsed(7, end, end - MINUTE)).toBe(0);
    expect(fixedUsed(0, 0, end)).toBe(0);
  });

  it('P04 compares the count with the limit of the moment', () => {
    const verdict = (limit: number) => {
      const bucket = {
        policy: 'p',
        namespace: 'p',
        key: 'k',
        cost: 1,
        rate: createRate('fixed', limit, MINUTE),
      };
      return fixedVerdict(
        bucket,
        50,
        0,
        fixedWait(50, 1, bucket.rate, NOON + MINUTE, NOON),
        NOON + MINUTE,
        NOON,
      );
    };
    expect(verdict(10)).toMatchObject({ allowed: false, remaining: 0 });
    expect(verdict(60)).toMatchObject({ allowed: true, remaining: 10 });
  });

  it('never counts beyond what a number holds', () => {
    expect(fixedCharged(10, 5)).toBe(15);
    expect(fixedCharged(Number.MAX_SAFE_INTEGER, 1)).toBe(Number.MAX_SAFE_INTEGER);
    expect(fixedCharged(2 ** 52, Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('answers in whole numbers within their bounds', () => {
    fc.assert(
      fc.property(states, ({ rate, now, used, cost }) => {
        const end = windowEnd(rate.window, now);
        const bucket = { policy: 'p', namespace: 'p', key: 'k', cost, rate };
        const verdict = fixedVerdict(bucket, used, 0, fixedWait(used, cost, rate, end, now), end, now);
        for (const name of ['remaining', 'resetAfter', 'retryAfter', 'until'] as const) {
          expect(Number.isSafeInteger(verdict[name])).toBe(true);
        }
        expect(verdict.remaining).toBeGreaterThanOrEqual(0);
        expect(verdict.resetAfter).toBeLessThanOrEqual(rate.window);
        expect(verdict.allowed).toBe(cost <= verdict.remaining);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a refund of a fixed window', () => {
  it('I05 reaches only the window of its charge and never goes below 0', () => {
    const end = NOON + MINUTE;
    expect(fixedRefunded(10, 3, end, end)).toBe(7);
    expect(fixedRefunded(3, 50, end, end)).toBe(0);
    expect(fixedRefunded(10, 3, end, end + MINUTE)).toBe(10);
    expect(fixedRefunded(10, 3, end + MINUTE, end)).toBe(10);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decisionOf } from '../../lib/algorithms/decision.js';
import {
  FRESH_TAT,
  gcraCharged,
  gcraRefunded,
  gcraTat,
  gcraUsed,
  gcraVerdict,
  gcraWait,
} from '../../lib/algorithms/gcra.js';
import { createRate, rateProblem, type Rate } from '../../lib/algorithms/rate.js';

const NOW = 5_000_000_000;
const MINUTE = 60_000_000;

const rates = fc
  .record({
    limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 100_000 })),
    window: fc.constantFrom(1_000, 500_000, 1_000_000, MINUTE, 7 * MINUTE, 3_600_000_000, 31_536_000_000_000),
  })
  .filter(({ limit, window }) => rateProblem('gcra', limit, window) === null)
  .map(({ limit, window }) => createRate('gcra', limit, window));

/** A bucket with anything in it, and a cost that fits the limit. */
const states = rates.chain((rate) =>
  fc.record({
    rate: fc.constant(rate),
    used: fc.integer({ min: 0, max: rate.capacity }),
    cost: fc.integer({ min: 1, max: rate.limit }),
  }),
);

/** Full, or nearly: states that refuse. */
const refusals = states
  .map(({ rate, used, cost }) => ({ rate, cost, used: Math.max(used, rate.capacity - (used % rate.unit)) }))
  .filter(({ rate, used, cost }) => gcraWait(used, cost, rate) > 0);

function verdictOf(rate: Rate, used: number, cost: number, now: number) {
  const bucket = { policy: 'p', namespace: 'p', key: 'k', cost, rate };
  return gcraVerdict(bucket, used, 0, gcraWait(used, cost, rate), now);
}

/** One bucket as a store keeps it. */
class OneBucket {
  tat = FRESH_TAT;

  used(rate: Rate, now: number): number {
    return gcraUsed(this.tat, rate, now);
  }

  consume(rate: Rate, cost: number, now: number): boolean {
    const used = this.used(rate, now);
    if (gcraWait(used, cost, rate) > 0) return false;
    this.tat = gcraTat(used + cost * rate.unit, now);
    return true;
  }
}

describe('GCRA', () => {
  it('F04 takes the whole limit at once, then one per interval', () => {
    for (const [limit, wait] of [
      [5, 12_000_000],
      [1, 60_000_000],
      [600, 100_000],
    ]) {
      const rate = createRate('gcra', limit, MINUTE);
      const bucket = new OneBucket();
      for (let call = 0; call < limit; call++) expect(bucket.consume(rate, 1, NOW)).toBe(true);
      expect(bucket.consume(rate, 1, NOW)).toBe(false);
      expect(gcraWait(bucket.used(rate, NOW), 1, rate)).toBe(wait);
    }
  });

  it('F07 returns room by the microsecond', () => {
    const rate = createRate('gcra', 600, MINUTE);
    const bucket = new OneBucket();
    bucket.consume(rate, 600, NOW);
    expect(bucket.consume(rate, 1, NOW + 99_999)).toBe(false);
    expect(bucket.consume(rate, 1, NOW + 100_000)).toBe(true);
    expect(bucket.consume(rate, 1, NOW + 150_000)).toBe(false);
  });

  it('F06 admits 2,000 a second of 120,000 a minute, and 5,000 of 5,000', () => {
    for (const [limit, window, perSecond] of [
      [120_000, MINUTE, 2_000],
      [5_000, 1_000_000, 5_000],
    ]) {
      const rate = createRate('gcra', limit, window);
      const bucket = new OneBucket();
      bucket.consume(rate, limit, NOW);
      let admitted = 0;
      for (let call = 1; call <= 70_000; call++) {
        if (bucket.consume(rate, 1, NOW + Math.floor((call * 1_000_000) / 7_000))) admitted++;
      }
      expect(Math.abs(admitted - perSecond * 10)).toBeLessThanOrEqual(1);
    }
  });

  it('F08 is not delayed by refusals: whoever polls every 100 ms gets the rate', () => {
    const rate = createRate('gcra', 2, MINUTE);
    const bucket = new OneBucket();
    bucket.consume(rate, 2, NOW);
    const passed: number[] = [];
    for (let time = 100_000; time <= 2 * MINUTE; time += 100_000) {
      if (bucket.consume(rate, 1, NOW + time)) passed.push(time / 1_000_000);
    }
    expect(passed).toEqual([30, 60, 90, 120]);
  });

  it('F09 saves nothing up in idle time, and takes no more than the rate afterwards', () => {
    const rate = createRate('gcra', 3, 1_000_000);
    const bucket = new OneBucket();
    bucket.consume(rate, 1, NOW);
    const later = NOW + 30 * 86_400_000_000;
    let admitted = 0;
    for (let call = 0; call < 100; call++) if (bucket.consume(rate, 1, later + call * 100_000)) admitted++;
    expect(admitted).toBeGreaterThanOrEqual(3 + 29);
    expect(admitted).toBeLessThanOrEqual(3 + 30);
  });

  it('I01 tells a cost that never fits from one that must wait', () => {
    const rate = createRate('gcra', 10, MINUTE);
    expect(gcraWait(0, 11, rate)).toBe(Infinity);
    expect(gcraWait(0, 10, rate)).toBe(0);
    expect(gcraWait(1, 10, rate)).toBe(1);
    expect(gcraWait(rate.capacity, 0, rate)).toBe(0);
  });

  it('F10 passes at the end of its wait and not a microsecond before', () => {
    fc.assert(
      fc.property(refusals, ({ rate, used, cost }) => {
        const tat = gcraTat(used, NOW);
        const at = NOW + gcraWait(used, cost, rate);
        expect(gcraWait(gcraUsed(tat, rate, at), cost, rate)).toBe(0);
        expect(gcraWait(gcraUsed(tat, rate, at - 1), cost, rate)).toBe(1);
      }),
      { numRuns: 1_000 },
    );
  });

  it('F10 passes at Retry-After, which is the smallest whole number of seconds that works', () => {
    fc.assert(
      fc.property(refusals, ({ rate, used, cost }) => {
        const tat = gcraTat(used, NOW);
        const { retryAfter, reason } = decisionOf(verdictOf(rate, used, cost, NOW), {});
        expect(reason).toBe('limit-exceeded');
        const at = NOW + (retryAfter ?? NaN) * 1_000_000;
        expect(gcraWait(gcraUsed(tat, rate, at), cost, rate)).toBe(0);
        const before = Math.max(NOW, at - 1_001_000);
        expect(gcraWait(gcraUsed(tat, rate, before), cost, rate)).toBeGreaterThan(0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('F01 admits at most the burst plus the rate over any interval of any run', () => {
    const calls = fc.array(
      fc.record({ after: fc.integer({ min: 0, max: 1_000 }), cost: fc.integer({ min: 1, max: 1_000 }) }),
      { minLength: 2, maxLength: 60 },
    );
    let admissions = 0;
    let exceeded = 0;
    fc.assert(
      fc.property(rates, calls, (rate, run) => {
        const bucket = new OneBucket();
        const admitted: { now: number; cost: number }[] = [];
        let now = NOW;
        for (const call of run) {
          now += Math.floor((call.after * rate.window) / 5_000);
          const cost = 1 + (call.cost % Math.min(rate.limit, 7));
          if (bucket.consume(rate, cost, now)) admitted.push({ now, cost });
        }
        admissions += admitted.length;
        for (let from = 0; from < admitted.length; from++) {
          let sum = 0;
          for (let to = from; to < admitted.length; to++) {
            sum += admitted[to].cost;
            const elapsed = admitted[to].now - admitted[from].now;
            if ((sum - rate.limit) * rate.window > elapsed * rate.limit) exceeded++;
          }
        }
        expect(exceeded).toBe(0);
      }),
      { numRuns: 1_000 },
    );
    expect(admissions).toBeGreaterThan(5_000);
  });

  it('holds at most one window, whatever was stored, charged or stepped', () => {
    const tats = fc.oneof(fc.constant(FRESH_TAT), fc.integer({ min: 0, max: 2 ** 52 }));
    const anyCost = fc.oneof(
      fc.integer({ min: 0, max: 10 }),
      fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    );
    fc.assert(
      fc.property(rates, tats, anyCost, (rate, tat, cost) => {
        const used = gcraUsed(tat, rate, NOW);
        const charged = gcraCharged(used, cost, rate);
        expect(used).toBeGreaterThanOrEqual(0);
        expect(charged).toBeGreaterThanOrEqual(used);
        expect(gcraTat(charged, NOW) - NOW).toBeLessThanOrEqual(rate.capacity);
        const wait = gcraWait(charged, Math.min(cost, rate.limit), rate);
        expect(wait).toBeLessThanOrEqual(rate.capacity);
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps the share used when the limit changes', () => {
    const used = 50 * createRate('gcra', 100, MINUTE).unit;
    expect(verdictOf(createRate('gcra', 60, MINUTE), used, 1, NOW).remaining).toBe(30);
    expect(verdictOf(createRate('gcra', 1_000, MINUTE), used, 1, NOW).remaining).toBe(500);
    expect(verdictOf(createRate('gcra', 1, MINUTE), used, 1, NOW).remaining).toBe(0);
  });

  it('answers in whole numbers within their bounds', () => {
    fc.assert(
      fc.property(states, ({ rate, used, cost }) => {
        const { remaining, resetAfter, retryAfter, until, allowed } = verdictOf(rate, used, cost, NOW);
        for (const number of [remaining, resetAfter, retryAfter, until])
          expect(Number.isSafeInteger(number)).toBe(true);
        expect(remaining).toBeGreaterThanOrEqual(0);
        expect(remaining).toBeLessThanOrEqual(rate.limit);
        expect(allowed).toBe(cost <= remaining);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a refund of GCRA', () => {
  /** A charge among others: what was before, itself, what came after, and when it is given back. */
  const stories = states.chain(({ rate, used, cost }) =>
    fc.record({
      rate: fc.constant(rate),
      before: fc.constant(used),
      cost: fc.constant(cost),
      later: fc.array(
        fc.record({
          after: fc.integer({ min: 0, max: rate.window }),
          cost: fc.integer({ min: 1, max: rate.limit }),
        }),
        { maxLength: 6 },
      ),
      at: fc.integer({ min: 0, max: rate.window }),
      refund: fc.integer({ min: 1, max: rate.limit * 2 }),
    }),
  );

  it('gives back at most what the charge still occupies', () => {
    fc.assert(
      fc.property(stories, ({ rate, before, cost, at, refund }) => {
        const amount = Math.min(refund, cost) * rate.unit;
        const charged = before + cost * rate.unit;
        const now = NOW + at;
        const used = Math.max(0, charged - at);
        const after = gcraRefunded(used, amount, NOW + charged, now);
        // First in, first out: what was there before the charge drains first.
        const occupied = Math.max(0, Math.min(cost * rate.unit, charged - at));
        expect(used - after).toBe(Math.min(amount, occupied));
      }),
      { numRuns: 1_000 },
    );
  });

  it('never leaves more room than if the charge had never been made', () => {
    let refunded = 0;
    fc.assert(
      fc.property(stories, ({ rate, before, cost, later, at, refund }) => {
        const real = new OneBucket();
        const without = new OneBucket();
        real.tat = gcraTat(Math.min(before, rate.capacity - cost * rate.unit), NOW);
        if (real.tat < NOW) real.tat = FRESH_TAT;
        without.tat = real.tat;
        expect(real.consume(rate, cost, NOW)).toBe(true);
        const until = real.tat;
        let now = NOW;
        for (const call of later) {
          now += Math.floor(call.after / 6);
          const small = 1 + (call.cost % Math.min(rate.limit, 5));
          // What passes beside the charge passes without it too.
          if (real.consume(rate, small, now)) expect(without.consume(rate, small, now)).toBe(true);
        }
        now += at;
        const used = real.used(rate, now);
        const after = gcraRefunded(used, Math.min(refund, cost) * rate.unit, until, now);
        if (after < used) refunded++;
        expect(after).toBeGreaterThanOrEqual(without.used(rate, now));
      }),
      { numRuns: 1_000 },
    );
    expect(refunded).toBeGreaterThan(200);
  });

  it('gives nothing back once the charge has drained', () => {
    expect(gcraRefunded(30, 10, NOW, NOW)).toBe(30);
    expect(gcraRefunded(30, 10, NOW - 1, NOW)).toBe(30);
    expect(gcraRefunded(30, 10, NOW + 1, NOW)).toBe(29);
    expect(gcraRefunded(30, 10, NOW + 20, NOW)).toBe(20);
    expect(gcraRefunded(5, 10, NOW + 20, NOW)).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';
import { createRate, type Algorithm } from '../../lib/algorithms/rate.js';
import type { Bucket, Verdict } from '../../lib/algorithms/verdict.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { Refusals } from '../../lib/stores/refusals.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';

const ALGORITHMS: readonly Algorithm[] = ['gcra', 'fixed'];

function bucketOf(algorithm: Algorithm, about: Partial<Bucket> & { limit?: number } = {}): Bucket {
  const rate = createRate(algorithm, about.limit ?? 10, 60_000_000);
  return { policy: 'p', namespace: 'n', key: 'k', cost: 1, rate, ...about };
}

/** A store to be asked, and what is remembered of its refusals. */
class Bench {
  readonly clock = new FakeClock();
  readonly refusals = new Refusals(() => this.clock.monotonic(), 3);
  private readonly store = new MemoryStore({ clock: this.clock });

  /** Asks the store and remembers. */
  consume(...buckets: Bucket[]): Verdict[] {
    const verdicts = this.store.consume(buckets);
    this.refusals.remember(verdicts, this.clock.monotonic());
    return verdicts;
  }

  peek(...buckets: Bucket[]): Verdict[] {
    return this.store.peek(buckets);
  }
}

describe.each(ALGORITHMS)('Refusals of %s', (algorithm) => {
  it('answer as the store would, the wait counted down', () => {
    const bench = new Bench();
    bench.consume(bucketOf(algorithm, { cost: 10 }));
    bench.consume(bucketOf(algorithm, { cost: 3 }));
    for (const after of [0, 1, 250_000, 649_998]) {
      bench.clock.advanceMicroseconds(after);
      for (const cost of [3, 4, 10, 11]) {
        const asked = bucketOf(algorithm, { cost });
        expect(bench.refusals.ofConsume([asked])).toEqual(bench.peek(asked));
        expect(bench.refusals.ofPeek([asked])).toEqual(bench.peek(asked));
      }
    }
  });

  it('are believed for a second, not longer', () => {
    const bench = new Bench();
    bench.consume(bucketOf(algorithm, { cost: 10 }));
    bench.consume(bucketOf(algorithm));
    bench.clock.advanceMicroseconds(899_999);
    expect(bench.refusals.ofConsume([bucketOf(algorithm)])).not.toBeNull();
    bench.clock.advanceMicroseconds(100_000);
    expect(bench.refusals.ofConsume([bucketOf(algorithm)])).toBeNull();
    expect(bench.refusals.ofConsume([bucketOf(algorithm)])).not.toBeNull();
    bench.clock.advanceMicroseconds(1);
    expect(bench.refusals.ofConsume([bucketOf(algorithm)])).toBeNull();
  });

  it('are believed no longer than their own wait', () => {
    const bench = new Bench();
    bench.clock.advance('59s');
    bench.consume(bucketOf(algorithm, { limit: 600, cost: 600 }));
    const [{ retryAfter }] = bench.consume(bucketOf(algorithm, { limit: 600, cost: 1 }));
    bench.clock.advanceMicroseconds(Math.min(retryAfter, 900_000) - 1);
    expect(bench.refusals.ofConsume([bucketOf(algorithm, { limit: 600 })])).not.toBeNull();
    bench.clock.advanceMicroseconds(1);
    expect(bench.refusals.ofConsume([bucketOf(algorithm, { limit: 600 })])).toBeNull();
  });

  it('hold only for what does not fit, and for the same limit', () => {
    const bench = new Bench();
    bench.consume(bucketOf(algorithm, { cost: 8 }));
    bench.consume(bucketOf(algorithm, { cost: 5 }));
    expect(bench.refusals.ofConsume([bucketOf(algorithm, { cost: 2 })])).toBeNull();
    expect(bench.refusals.ofConsume([bucketOf(algorithm, { cost: 0 })])).toBeNull();
    expect(bench.refusals.ofConsume([bucketOf(algorithm, { cost: 3 })])).not.toBeNull();
    expect(bench.refusals.ofConsume([bucketOf(algorithm, { cost: 5, limit: 20 })])).toBeNull();
    expect(bench.refusals.ofConsume([bucketOf(algorithm, { cost: 5, key: 'other' })])).toBeNull();
    expect(bench.refusals.ofConsume([bucketOf(algorithm, { cost: 5, namespace: 'other' })])).toBeNull();
  });

  it('follow what passes meanwhile: no wait is told too short', () => {
    const bench = new Bench();
    bench.consume(bucketOf(algorithm, { cost: 8 }));
    bench.consume(bucketOf(algorithm, { cost: 5 }));
    bench.consume(bucketOf(algorithm, { cost: 2 }));
    const asked = bucketOf(algorithm, { cost: 1 });
    expect(bench.refusals.ofConsume([asked])).toEqual(bench.peek(asked));
  });

  it('refuse the whole list, and tell of its other buckets what was last heard', () => {
    const bench = new Bench();
    const full = bucketOf(algorithm, { key: 'full', cost: 10 });
    const half = bucketOf(algorithm, { key: 'half', cost: 5 });
    bench.consume(full);
    bench.consume(half);
    const step = [full, { ...half, cost: 1 }];
    bench.consume(...step);
    bench.clock.advance('500ms');
    expect(bench.refusals.ofConsume(step)).toEqual(bench.peek(...step));
    expect(bench.refusals.ofPeek(step)).toBeNull();
  });

  it('ask ten times a second where nothing is known of a bucket in the list, whatever list it is', () => {
    const bench = new Bench();
    const full = bucketOf(algorithm, { key: 'full', cost: 10 });
    bench.consume(full);
    bench.consume(full);
    const asks = (count: number): number => {
      let asked = 0;
      for (let i = 0; i < count; i++) {
        const list = [full, bucketOf(algorithm, { key: `unseen ${i}` })];
        const told = bench.refusals.ofConsume(list);
        if (told === null) bench.consume(...list);
        else expect(told).toEqual(bench.peek(...list));
        asked += told === null ? 1 : 0;
      }
      return asked;
    };
    expect([asks(9), asks(50)]).toEqual([9, 1]);
    bench.clock.advance('899ms');
    expect(asks(50)).toBe(0);
    bench.clock.advance('101ms');
    bench.consume(full);
    expect(asks(50)).toBe(10);
  });

  it('ask of the longer wait behind the one that is known', () => {
    const bench = new Bench();
    const short = bucketOf(algorithm, { key: 'short', cost: 10 });
    const long = { ...short, key: 'long', rate: createRate(algorithm, 10, 3_600_000_000) };
    for (const bucket of [short, long, short]) bench.consume(bucket);
    const list = [short, long];
    expect(bench.refusals.ofConsume(list)).toBeNull();
    bench.consume(...list);
    expect(bench.refusals.ofConsume(list)).toEqual(bench.peek(...list));
  });
});

describe('Refusals', () => {
  const refused = bucketOf('fixed', { cost: 5 });

  it('are forgotten when something is given back, and what was asked before that is not remembered', () => {
    const bench = new Bench();
    bench.consume(bucketOf('fixed', { cost: 8 }));
    const verdicts = bench.consume(refused);
    bench.clock.advance('1ms');
    const asked = bench.clock.monotonic();
    bench.refusals.forget([refused]);
    expect(bench.refusals.ofConsume([refused])).toBeNull();
    bench.refusals.remember(verdicts, asked);
    expect(bench.refusals.ofConsume([refused])).toBeNull();
    bench.clock.advance('1ms');
    bench.refusals.remember(verdicts, bench.clock.monotonic());
    expect(bench.refusals.ofConsume([refused])).not.toBeNull();
  });

  it('are asked for anew by one before the second is over, while the others go on hearing them', () => {
    const bench = new Bench();
    bench.consume(bucketOf('fixed', { cost: 8 }));
    bench.consume(refused);
    bench.clock.advance('900ms');
    expect(bench.refusals.ofConsume([refused])).toBeNull();
    for (let i = 0; i < 50; i++) expect(bench.refusals.ofConsume([refused])).not.toBeNull();
    bench.clock.advance('99ms');
    expect(bench.refusals.ofPeek([refused])).not.toBeNull();
    bench.consume(refused);
    bench.clock.advance('899ms');
    expect(bench.refusals.ofConsume([refused])).not.toBeNull();
  });

  it('K02 drain from when the store was asked: who keeps to the limit is never refused from memory', () => {
    const bench = new Bench();
    const bucket = bucketOf('gcra', { rate: createRate('gcra', 1, 100_000) });
    bench.consume(bucket);
    const asked = bench.clock.monotonic();
    const verdicts = bench.peek(bucket);
    bench.clock.advance('50ms');
    bench.refusals.remember(verdicts, asked);
    bench.clock.advanceMicroseconds(49_999);
    expect(bench.refusals.ofConsume([bucket])).not.toBeNull();
    bench.clock.advanceMicroseconds(1);
    expect(bench.refusals.ofConsume([bucket])).toBeNull();
  });

  it('never exceed their number: the oldest goes', () => {
    const bench = new Bench();
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      bench.consume(bucketOf('fixed', { key, cost: 10 }));
      bench.consume(bucketOf('fixed', { key }));
      expect(bench.refusals.size).toBeLessThanOrEqual(3);
    }
    expect(bench.refusals.ofConsume([bucketOf('fixed', { key: 'b' })])).toBeNull();
    expect(bench.refusals.ofConsume([bucketOf('fixed', { key: 'e' })])).not.toBeNull();
  });

  it('go once they are over, with the next newcomer', () => {
    const bench = new Bench();
    for (const key of ['a', 'b']) {
      bench.consume(bucketOf('fixed', { key, cost: 10 }));
      bench.consume(bucketOf('fixed', { key }));
    }
    bench.clock.advance('1s');
    bench.consume(bucketOf('fixed', { key: 'c', cost: 10 }));
    bench.consume(bucketOf('fixed', { key: 'c' }));
    expect(bench.refusals.size).toBe(1);
  });

  it('remember nothing of what passes', () => {
    const bench = new Bench();
    bench.consume(bucketOf('gcra'));
    expect(bench.refusals.size).toBe(0);
  });
});

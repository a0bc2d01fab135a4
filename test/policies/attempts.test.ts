import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LeaseReply } from '../../lib/algorithms/lease.js';
import { createRate, type Rate } from '../../lib/algorithms/rate.js';
import type { Bucket, Verdict } from '../../lib/algorithms/verdict.js';
import { Limiter } from '../../lib/limiter/limiter.js';
import { AttemptLimit, type Attempt, type AttemptRates } from '../../lib/policies/attempts.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { RateLimitStore, type BucketName } from '../../lib/stores/store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';

const MINUTE = 60e6;
const perMinute = (limit: number): Rate => createRate('fixed', limit, MINUTE);

const NOBODY: AttemptRates = { pair: null, network: null, identifier: null };

function limitOf(rates: Partial<AttemptRates>) {
  const clock = new FakeClock();
  const store = new MemoryStore({ clock });
  return {
    clock,
    store,
    limit: new AttemptLimit(new Limiter(store, 100), 'login', () => ({ ...NOBODY, ...rates })),
  };
}

/** A store that needs I/O: the same answers, later. */
class LateStore extends RateLimitStore {
  constructor(private readonly store: MemoryStore) {
    super();
  }

  private async later<T>(step: () => T): Promise<T> {
    await new Promise((resolve) => setImmediate(resolve));
    const answer = step();
    await new Promise((resolve) => setImmediate(resolve));
    return answer;
  }

  override consume = (buckets: readonly Bucket[]): Promise<Verdict[]> =>
    this.later(() => this.store.consume(buckets));
  override peek = (buckets: readonly Bucket[]): Promise<Verdict[]> =>
    this.later(() => this.store.peek(buckets));
  override charge = (buckets: readonly Bucket[]): Promise<Verdict[]> =>
    this.later(() => this.store.charge(buckets));
  override refund = (): Promise<void> => this.later(() => undefined);
  override clear = (names: readonly BucketName[]): Promise<void> => this.later(() => this.store.clear(names));
  override lease = (): LeaseReply[] => [];
  override close = (): void => undefined;
}

/** The policy that refuses; null: none. */
async function refusedBy(verdict: ReturnType<Attempt['open']>): Promise<string | null> {
  return (await verdict)?.bucket.policy ?? null;
}

describe('AttemptLimit', () => {
  it('counts failures alone, and tells the verdict that refuses', () => {
    const { limit, store } = limitOf({ pair: perMinute(2) });
    const attempt = limit.begin('a', 'n');
    expect([attempt.open(), attempt.open()]).toEqual([null, null]);
    expect(store.size).toBe(0);
    expect(attempt.fail()).toBeNull();
    expect(limit.begin('a', 'n').fail()).toBeNull();
    expect(limit.begin('a', 'n').open()).toMatchObject({
      allowed: false,
      retryAfter: MINUTE,
      bucket: { policy: 'login', hidden: true },
    });
    expect([limit.begin('b', 'n').open(), limit.begin('a', 'm').open()]).toEqual([null, null]);
  });

  it('I10 a try is settled once, whatever is said of it later', () => {
    const { limit } = limitOf({ pair: perMinute(2) });
    const failed = limit.begin('a', 'n');
    for (let times = 0; times < 5; times++) expect(failed.fail()).toBeNull();
    void failed.succeed();
    expect(limit.begin('a', 'n').fail()).toBeNull();
    expect(limit.begin('a', 'n').open()).not.toBeNull();
    const passed = limit.begin('b', 'n');
    void passed.succeed();
    for (let times = 0; times < 5; times++) expect(passed.fail()).toBeNull();
    expect(limit.begin('b', 'n').fail()).toBeNull();
    expect(limit.begin('b', 'n').fail()).toBeNull();
  });

  it('a try that was refused already is not refused a second time', () => {
    const { limit } = limitOf({ pair: perMinute(1), network: perMinute(9) });
    void limit.begin('a', 'n').fail();
    const onTrial = limit.begin('a', 'n');
    expect(onTrial.open()).not.toBeNull();
    expect(onTrial.fail()).toBeNull();
  });

  it('J08 success forgets the failures of its pair, and none of the network’s or the identifier’s', async () => {
    const { limit } = limitOf({ pair: perMinute(2), network: perMinute(3), identifier: perMinute(3) });
    expect([limit.begin('a', 'n').fail(), limit.begin('a', 'n').fail()]).toEqual([null, null]);
    await limit.begin('a', 'n').succeed();
    expect(limit.begin('a', 'n').fail()).toBeNull();
    expect(await refusedBy(limit.begin('b', 'n').fail())).toBe('login-network');
    expect(await refusedBy(limit.begin('a', 'm').open())).toBe('login-identifier');
  });

  it('nothing is limited where every limit is off', async () => {
    const { limit, store } = limitOf({});
    const attempt = limit.begin('a', 'n');
    expect([attempt.open(), attempt.fail()]).toEqual([null, null]);
    await limit.begin('a', 'n').succeed();
    expect(store.size).toBe(0);
  });

  it('J03 without an identifier no limit of identifiers applies', () => {
    const { limit } = limitOf({ identifier: perMinute(1) });
    for (let times = 0; times < 3; times++) {
      const attempt = limit.begin('', 'n');
      expect([attempt.open(), attempt.fail()]).toEqual([null, null]);
    }
  });

  it('J13 of 50 parallel tries over a store that needs I/O no more than the limit fail', async () => {
    const store = new LateStore(new MemoryStore({ clock: new FakeClock() }));
    const rates = { pair: perMinute(5), network: perMinute(20), identifier: perMinute(20) };
    const limit = new AttemptLimit(new Limiter(store, 100), 'login', () => rates);
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const attempt = limit.begin('a', 'n');
        return (await attempt.open()) ?? (await attempt.fail());
      }),
    );
    expect(answers.filter((verdict) => verdict === null)).toHaveLength(5);
  });

  describe('laws', () => {
    const IDENTIFIERS = ['a', 'b', ''];
    const NETWORKS = ['n', 'm'];
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant('begin' as const),
          identifier: fc.constantFrom(...IDENTIFIERS),
          network: fc.constantFrom(...NETWORKS),
        }),
      },
      { weight: 6, arbitrary: fc.record({ do: fc.constant('fail' as const), which: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('succeed' as const), which: fc.nat() }) },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
      },
    );
    const numbers = fc.record({
      pair: fc.integer({ min: 1, max: 4 }),
      network: fc.option(fc.integer({ min: 1, max: 6 })),
      identifier: fc.option(fc.integer({ min: 1, max: 6 })),
    });

    it('J13 whatever the interleaving, answers to failures never exceed a limit in its window', () => {
      fc.assert(
        fc.property(numbers, fc.array(step, { maxLength: 80 }), (limits, steps) => {
          const { limit, clock } = limitOf({
            pair: perMinute(limits.pair),
            network: limits.network === null ? null : perMinute(limits.network),
            identifier: limits.identifier === null ? null : perMinute(limits.identifier),
          });
          const answered = new Map<string, number>();
          /** Networks that have signed in to an identifier: that limit isn't for them. */
          const known = new Set<string>();
          const count = (name: string, most: number | null): void => {
            const total = (answered.get(name) ?? 0) + 1;
            answered.set(name, total);
            if (most !== null) expect(total, name).toBeLessThanOrEqual(most);
          };
          const open: {
            attempt: Attempt;
            pair: string;
            identifier: string;
            network: string;
            knew: boolean;
          }[] = [];
          for (const now of steps) {
            if (now.do === 'begin') {
              const { identifier, network } = now;
              const attempt = limit.begin(identifier, network);
              const pair = `${identifier} at ${network}`;
              if (attempt.open() === null)
                open.push({ attempt, pair, identifier, network, knew: known.has(pair) });
            } else if (now.do === 'wait') {
              clock.advanceMicroseconds(now.ms * 1000);
            } else if (open.length > 0) {
              const [{ attempt, pair, identifier, network, knew }] = open.splice(now.which % open.length, 1);
              if (now.do === 'succeed') {
                void attempt.succeed();
                for (const name of answered.keys())
                  if (name.startsWith(`pair ${pair} `)) answered.delete(name);
                if (limits.identifier !== null && identifier !== '') known.add(pair);
              } else if (attempt.fail() === null) {
                const minute = Math.floor(clock.wall() / MINUTE);
                count(`pair ${pair} ${minute}`, limits.pair);
                count(`network ${network} ${minute}`, limits.network);
                if (!knew && identifier !== '')
                  count(`identifier ${identifier} ${minute}`, limits.identifier);
              }
            }
          }
        }),
        { numRuns: 500 },
      );
    });

    it('verifications never exceed the limit and those on their way', () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 5 }),
          fc.integer({ min: 1, max: 6 }),
          fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 100 }),
          (most, lanes, steps) => {
            const { limit } = limitOf({ pair: perMinute(most) });
            const open: Attempt[] = [];
            let verified = 0;
            for (const [begins, which] of steps) {
              if (begins && open.length < lanes) {
                const attempt = limit.begin('a', 'n');
                if (attempt.open() !== null) continue;
                verified++;
                open.push(attempt);
              } else if (open.length > 0) {
                void open.splice(which % open.length, 1)[0].fail();
              }
            }
            expect(verified).toBeLessThanOrEqual(most + lanes - 1);
          },
        ),
      );
    });

    it('C01 no two pairs share a counter', () => {
      const part = fc.oneof(
        fc.string({ unit: 'binary', maxLength: 80 }),
        fc.string({
          unit: fc.constantFrom(':', '|', '/', '{', '}', ',', '\0', '#', ' ', '1', 'a'),
          maxLength: 6,
        }),
      );
      const pair = fc.record({ identifier: part, network: part });
      // Also where a part moves over the border.
      const moved = fc.tuple(part, part, part).map(([a, b, c]) => [
        { identifier: `${a}${b}`, network: c },
        { identifier: a, network: `${b}${c}` },
      ]);
      fc.assert(
        fc.property(fc.oneof(moved, fc.tuple(pair, pair)), ([a, b]) => {
          fc.pre(a.identifier !== b.identifier || a.network !== b.network);
          const { limit } = limitOf({ pair: perMinute(1) });
          void limit.begin(a.identifier, a.network).fail();
          expect(limit.begin(a.identifier, a.network).open()).not.toBeNull();
          expect(limit.begin(b.identifier, b.network).open()).toBeNull();
        }),
        { numRuns: 1000 },
      );
    });

    it('C06 keys are short whatever the identifier, and none can be read', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary', minLength: 3, maxLength: 2000 }), (identifier) => {
          const { limit } = limitOf({ pair: perMinute(1), identifier: perMinute(1) });
          void limit.begin(identifier, 'n').fail();
          const verdict = limit.begin(identifier, 'n').open();
          if (verdict === null || verdict instanceof Promise) throw new Error('it is refused');
          expect(Buffer.byteLength(verdict.bucket.key)).toBeLessThanOrEqual(64);
          if (identifier.length > 8) expect(verdict.bucket.key).not.toContain(identifier);
        }),
      );
    });
  });
});

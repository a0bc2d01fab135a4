import { describe, expect, it } from 'vitest';
import type { Decision, HeaderLines } from '../../../lib/algorithms/decision.js';
import type { LeaseReply } from '../../../lib/algorithms/lease.js';
import { createRate } from '../../../lib/algorithms/rate.js';
import type { Bucket, Verdict } from '../../../lib/algorithms/verdict.js';
import type { DecisionEvent, RateLimitEvent, RefusalEvent } from '../../../lib/events/event.js';
import { RateLimitEvents } from '../../../lib/events/event-stream.js';
import { StoreTime } from '../../../lib/limiter/store-time.js';
import { Limiter } from '../../../lib/limiter/limiter.js';
import type { Caller, Refusal } from '../../../lib/nest/call.js';
import { Gate } from '../../../lib/nest/throttle/gate.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { RateLimitStore } from '../../../lib/stores/store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

class Refused extends Error {
  constructor(readonly decision: Decision) {
    super('refused');
  }
}

/** A caller that remembers what it was told. */
class FakeCaller implements Caller {
  readonly transport = 'http';
  readonly address = '203.0.113.5';
  readonly network = '203.0.113.0/24';
  readonly user = 'ada';
  readonly key = null;
  readonly context = null;
  readonly request = null;
  readonly time = new StoreTime();
  readonly told: { policies: string[]; refused: string | null }[] = [];

  tell(verdicts: readonly Verdict[], refused: Verdict | null): HeaderLines {
    this.told.push({
      policies: verdicts.map((verdict) => verdict.bucket.policy),
      refused: refused?.bucket.policy ?? null,
    });
    return { told: String(this.told.length) };
  }

  refusal({ decision }: Refusal): Error {
    return new Refused(decision);
  }
}

/** A store that needs I/O: the same answers, later; it remembers what it was asked. */
class LateStore extends RateLimitStore {
  readonly steps: string[][] = [];

  constructor(private readonly store: MemoryStore) {
    super();
  }

  override async consume(buckets: readonly Bucket[]): Promise<Verdict[]> {
    this.steps.push(buckets.map(({ policy }) => policy));
    await new Promise((resolve) => setImmediate(resolve));
    return this.store.consume(buckets);
  }

  override peek = (): never => this.never();
  override charge = (): never => this.never();
  override refund = (): never => this.never();
  override clear = (): never => this.never();
  override lease = (): LeaseReply[] => this.never();
  override close = (): never => this.never();

  private never(): never {
    throw new Error('nobody asks this');
  }
}

function bucket(policy: string, limit: number, cost = 1): Bucket {
  return { policy, namespace: `n:${policy}`, key: 'k', rate: createRate('gcra', limit, 60e6), cost };
}

interface Options {
  readonly dryRun?: boolean;
  readonly observed?: boolean;
  readonly late?: boolean;
}

function setup({ dryRun = false, observed = false, late = false }: Options = {}) {
  const clock = new FakeClock();
  const memory = new MemoryStore({ clock });
  const store = late ? new LateStore(memory) : memory;
  const logged: RateLimitEvent[] = [];
  const seen: RateLimitEvent[] = [];
  const events = new RateLimitEvents((event) => logged.push(event));
  if (observed) events.all$.subscribe((event) => seen.push(event));
  const gate = new Gate(new Limiter(store, 100), events, dryRun);
  return { gate, caller: new FakeCaller(), clock, memory, store, logged, seen, events };
}

/** How many units of a bucket are used. */
function used(memory: MemoryStore, { cost: _cost, ...of }: Bucket): number {
  const [{ remaining }] = memory.peek([{ ...of, cost: 0 }]);
  return of.rate.limit - remaining;
}

function refusalOf(pass: () => unknown): Decision {
  try {
    pass();
  } catch (error) {
    if (error instanceof Refused) return error.decision;
    throw error;
  }
  throw new Error('it passed');
}

const refusals = (events: readonly RateLimitEvent[]): RefusalEvent[] =>
  events.filter((event) => event.type === 'refusal');
const decisions = (events: readonly RateLimitEvent[]): DecisionEvent[] =>
  events.filter((event) => event.type === 'decision');

describe('a step that has room', () => {
  it('charges all buckets, tells of them, and says true without a promise', () => {
    const { gate, caller, memory, logged } = setup();
    const buckets = [bucket('a', 3), bucket('b', 5)];
    expect(gate.pass(caller, 'route', buckets, [])).toBe(true);
    expect(buckets.map((each) => used(memory, each))).toEqual([1, 1]);
    expect(caller.told).toEqual([{ policies: ['a', 'b'], refused: null }]);
    expect(logged).toEqual([]);
  });

  it('without any bucket asks nothing and tells nothing', () => {
    const { gate, caller, memory, seen } = setup({ observed: true });
    expect(gate.pass(caller, 'route', [], [])).toBe(true);
    expect([memory.size, caller.told, seen]).toEqual([0, [], []]);
  });
});

describe('a step that is refused', () => {
  it('throws the refusal of the caller, with the decision of the bucket that takes longest, and charges none', () => {
    const { gate, caller, memory } = setup();
    const [full, slow, free] = [bucket('full', 2), bucket('slow', 1), bucket('free', 9)];
    for (const each of [full, full, slow]) void gate.pass(caller, 'route', [each], []);
    const decision = refusalOf(() => gate.pass(caller, 'route', [free, full, slow], []));
    // `full` has room again after 30 seconds.
    expect(decision).toMatchObject({
      allowed: false,
      policy: 'slow',
      retryAfter: 60,
      reason: 'limit-exceeded',
      headers: { told: '4' },
    });
    expect(caller.told[3]).toEqual({ policies: ['free', 'full', 'slow'], refused: 'slow' });
    expect(used(memory, free)).toBe(0);
  });

  it('SB-13 SB-30 is an event with who, by which limit and what the client was told, whoever listens', () => {
    for (const kind of ['ip', 'route'] as const) {
      const { gate, caller, logged } = setup();
      const one = bucket('reports', 1);
      void gate.pass(caller, kind, [one], []);
      const decision = refusalOf(() => gate.pass(caller, kind, [one], []));
      expect(logged).toEqual([
        {
          type: 'refusal',
          limit: kind,
          decision,
          address: '203.0.113.5',
          network: '203.0.113.0/24',
          user: 'ada',
          dryRun: false,
        },
      ]);
    }
  });

  it('I01 a cost above the limit can never pass', () => {
    const { gate, caller } = setup();
    const decision = refusalOf(() => gate.pass(caller, 'route', [bucket('a', 2, 3)], []));
    expect(decision).toMatchObject({ reason: 'cost-exceeds-limit', retryAfter: null, cost: 3, limit: 2 });
  });
});

describe('events of decisions', () => {
  it('are made only while somebody listens', () => {
    const { gate, caller, logged, seen, events } = setup();
    const some = bucket('a', 10);
    void gate.pass(caller, 'ip', [some], []);
    expect(logged).toEqual([]);
    const subscription = events.all$.subscribe((event) => seen.push(event));
    void gate.pass(caller, 'ip', [some], []);
    subscription.unsubscribe();
    void gate.pass(caller, 'ip', [some], []);
    expect(seen).toEqual([
      {
        type: 'decision',
        limit: 'ip',
        decision: expect.objectContaining({
          allowed: true,
          policy: 'a',
          remaining: 8,
          headers: { told: '2' },
        }),
        address: '203.0.113.5',
        network: '203.0.113.0/24',
        user: 'ada',
        dryRun: false,
      },
    ]);
  });

  it('are one per step, of its tightest bucket, before the refusal if there is one', () => {
    const { gate, caller, seen } = setup({ observed: true });
    const [wide, narrow] = [bucket('wide', 9), bucket('narrow', 1)];
    void gate.pass(caller, 'route', [wide, narrow], []);
    refusalOf(() => gate.pass(caller, 'route', [wide, narrow], []));
    expect(seen.map(({ type }) => type)).toEqual(['decision', 'decision', 'refusal']);
    expect(decisions(seen).map(({ decision }) => [decision.policy, decision.allowed])).toEqual([
      ['narrow', true],
      ['narrow', false],
    ]);
  });
});

describe('dry run of everything', () => {
  it('counts and reports, and refuses nothing', () => {
    const { gate, caller, memory, seen } = setup({ dryRun: true, observed: true });
    const one = bucket('a', 1);
    for (let call = 0; call < 3; call++) expect(gate.pass(caller, 'route', [one], [])).toBe(true);
    expect(used(memory, one)).toBe(1);
    expect(caller.told.map(({ refused }) => refused)).toEqual([null, null, null]);
    expect(refusals(seen)).toHaveLength(2);
    expect(refusals(seen)[0]).toMatchObject({
      dryRun: true,
      decision: { allowed: false, policy: 'a', retryAfter: 60, headers: { told: '2' } },
    });
    expect(decisions(seen).map(({ dryRun, decision }) => [dryRun, decision.allowed])).toEqual([
      [true, true],
      [true, false],
      [true, false],
    ]);
  });
});

describe('limits on trial', () => {
  it('are counted and reported, and refuse nothing', () => {
    const { gate, caller, memory, logged } = setup();
    const trial = bucket('trial', 1);
    for (let call = 0; call < 3; call++) expect(gate.pass(caller, 'route', [], [trial])).toBe(true);
    expect(used(memory, trial)).toBe(1);
    expect(refusals(logged)).toHaveLength(2);
    expect(refusals(logged)[0]).toMatchObject({
      limit: 'route',
      dryRun: true,
      decision: { allowed: false, policy: 'trial', retryAfter: 60, reason: 'limit-exceeded' },
    });
    expect(caller.told.every(({ refused }) => refused === null)).toBe(true);
  });

  it('a full one never stands in the way of an enforced one, nor of another on trial', () => {
    const { gate, caller, memory, logged } = setup();
    const [enforced, full, free] = [bucket('enforced', 5), bucket('full', 1), bucket('free', 5)];
    for (let call = 0; call < 3; call++) {
      expect(gate.pass(caller, 'route', [enforced], [full, free])).toBe(true);
    }
    expect([enforced, full, free].map((each) => used(memory, each))).toEqual([3, 1, 3]);
    expect(refusals(logged).map(({ decision }) => decision.policy)).toEqual(['full', 'full']);
  });

  it('each that is full is reported, and only as on trial', () => {
    const { gate, caller, logged } = setup();
    const trials = [bucket('one', 1), bucket('two', 1)];
    void gate.pass(caller, 'route', [bucket('enforced', 9)], trials);
    void gate.pass(caller, 'route', [bucket('enforced', 9)], trials);
    expect(refusals(logged).map(({ decision, dryRun }) => [decision.policy, dryRun])).toEqual([
      ['one', true],
      ['two', true],
    ]);
  });

  it('a call that the enforced ones refuse costs nothing on trial either', () => {
    const { gate, caller, memory, logged } = setup();
    const [enforced, trial] = [bucket('enforced', 1), bucket('trial', 1)];
    void gate.pass(caller, 'route', [enforced], []);
    const decision = refusalOf(() => gate.pass(caller, 'route', [enforced], [trial]));
    expect(decision.policy).toBe('enforced');
    expect(used(memory, trial)).toBe(0);
    expect(refusals(logged).map((event) => [event.decision.policy, event.dryRun])).toEqual([
      ['enforced', false],
    ]);
  });

  it('the decision of a step is that of its enforced buckets', () => {
    const { gate, caller, seen } = setup({ observed: true });
    const [enforced, trial] = [bucket('enforced', 9), bucket('trial', 1)];
    void gate.pass(caller, 'route', [enforced], [trial]);
    void gate.pass(caller, 'route', [enforced], [trial]);
    expect(
      decisions(seen).map(({ decision, dryRun }) => [decision.policy, decision.allowed, dryRun]),
    ).toEqual([
      ['enforced', true, false],
      ['enforced', true, false],
    ]);
  });

  it('where all are on trial the decision is too: a refusal in it refused nothing', () => {
    const { gate, caller, seen } = setup({ observed: true });
    const [tight, wide] = [bucket('tight', 1), bucket('wide', 9)];
    void gate.pass(caller, 'ip', [], [tight, wide]);
    void gate.pass(caller, 'ip', [], [tight, wide]);
    expect(
      decisions(seen).map(({ decision, dryRun }) => [decision.policy, decision.allowed, dryRun]),
    ).toEqual([
      ['tight', true, true],
      ['tight', false, true],
    ]);
  });
});

describe('a store that needs I/O', () => {
  it('makes a promise of the answer, of a refusal a rejection', async () => {
    const { gate, caller, logged } = setup({ late: true });
    const one = bucket('a', 1);
    const passing = gate.pass(caller, 'route', [one], []);
    expect(passing).toBeInstanceOf(Promise);
    expect(caller.told).toEqual([]);
    expect(await passing).toBe(true);
    await expect(gate.pass(caller, 'route', [one], [])).rejects.toMatchObject({
      decision: { policy: 'a', retryAfter: 60 },
    });
    expect(refusals(logged)).toHaveLength(1);
  });

  it('is one round trip for what is enforced, and asked about trials only when that passed', async () => {
    const { gate, caller, memory, store } = setup({ late: true });
    const [a, b, trial] = [bucket('a', 1), bucket('b', 9), bucket('trial', 9)];
    expect(await gate.pass(caller, 'route', [a, b], [trial])).toBe(true);
    await expect(gate.pass(caller, 'route', [a, b], [trial])).rejects.toBeInstanceOf(Refused);
    expect(store).toHaveProperty('steps', [['a', 'b'], ['trial'], ['a', 'b']]);
    expect([a, b, trial].map((each) => used(memory, each))).toEqual([1, 1, 1]);
  });

  it('counts on trial alone, too', async () => {
    const { gate, caller, logged, memory } = setup({ late: true });
    const [one, two] = [bucket('one', 1), bucket('two', 2)];
    for (let call = 0; call < 3; call++) {
      const passing = gate.pass(caller, 'ip', [], [one, two]);
      expect(passing).toBeInstanceOf(Promise);
      expect(await passing).toBe(true);
    }
    expect([used(memory, one), used(memory, two)]).toEqual([1, 2]);
    expect(refusals(logged).map(({ decision }) => decision.policy)).toEqual(['one', 'one', 'two']);
  });

  it('asks for nothing, and is no promise, where nothing is limited', () => {
    const { gate, caller, store } = setup({ late: true });
    expect(gate.pass(caller, 'route', [], [])).toBe(true);
    expect(store).toHaveProperty('steps', []);
  });
});

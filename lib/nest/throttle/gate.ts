// Turns the answer of a step into what happens to a call: it is told and passes, or it is told and refused.

import { decisionOf, type HeaderLines } from '../../algorithms/decision.js';
import { allAllowed, tightest, type Bucket, type Verdict } from '../../algorithms/verdict.js';
import type { LimitKind } from '../../events/event.js';
import type { RateLimitEvents } from '../../events/event-stream.js';
import type { Limiter } from '../../limiter/limiter.js';
import type { StoreTime } from '../../limiter/store-time.js';
import { messageOf } from '../../responses/body.js';
import { chain } from '../../stores/chain.js';
import type { MaybePromise } from '../../stores/store.js';
import type { Caller, Refusal } from '../call.js';

/** What a refusal of a limit says was tried too often. */
const ATTEMPTS: Partial<Readonly<Record<LimitKind, string>>> = {
  login: 'login attempts',
  'second-factor': 'wrong codes',
};

const NO_BUCKETS: readonly Bucket[] = [];

export class Gate {
  /** `dryRun`: every limit is on trial, counted and reported but refusing nothing. */
  constructor(
    private readonly limiter: Limiter,
    private readonly events: RateLimitEvents,
    private readonly dryRun: boolean,
  ) {}

  /**
   * One step of a call: charges all of `buckets` and `units`, which count cost, or none. `trials` are on trial: each is
   * charged by itself and refuses nothing. True, or the refusal thrown; a promise only where the store needs one.
   */
  pass(
    caller: Caller,
    limit: LimitKind,
    buckets: readonly Bucket[],
    trials: readonly Bucket[],
    units: readonly Bucket[] = NO_BUCKETS,
  ): MaybePromise<true> {
    const all = units.length === 0 ? buckets : [...buckets, ...units];
    if (trials.length > 0) return this.passOnTrial(caller, limit, all, trials, units);
    if (all.length === 0) return true;
    return chain(this.limiter.consume(all, caller.time), (verdicts) =>
      this.settle(caller, limit, verdicts, [], units),
    );
  }

  /** A step of one bucket, on trial or not. */
  passOne(caller: Caller, limit: LimitKind, bucket: Bucket, onTrial: boolean): MaybePromise<true> {
    return onTrial ? this.pass(caller, limit, [], [bucket]) : this.pass(caller, limit, [bucket], []);
  }

  /** Tells a caller that a verdict refuses it. The decision and its message; null where all is on trial. */
  refuse(caller: Caller, limit: LimitKind, verdict: Verdict): Refusal | null {
    const lines = caller.tell([verdict], this.dryRun ? null : verdict);
    this.report('refusal', caller, limit, verdict, lines, this.dryRun);
    return this.dryRun ? null : refusalOf(limit, verdict, lines);
  }

  /** A call that the enforced buckets refuse costs nothing, so it isn't counted on trial either. */
  private passOnTrial(
    caller: Caller,
    limit: LimitKind,
    buckets: readonly Bucket[],
    trials: readonly Bucket[],
    units: readonly Bucket[],
  ): MaybePromise<true> {
    return chain(buckets.length === 0 ? [] : this.limiter.consume(buckets, caller.time), (verdicts) =>
      chain(allAllowed(verdicts) ? this.tryOut(trials, caller.time) : [], (tried) =>
        this.settle(caller, limit, verdicts, tried, units),
      ),
    );
  }

  /** Charges each bucket by itself: one that is full is no reason not to count in the others. */
  private tryOut(trials: readonly Bucket[], time: StoreTime): MaybePromise<Verdict[]> {
    return trials.reduce<MaybePromise<Verdict[]>>(
      (before, bucket) =>
        chain(before, (verdicts) =>
          chain(this.limiter.consume([bucket], time), ([verdict]) => [...verdicts, verdict]),
        ),
      [],
    );
  }

  private settle(
    caller: Caller,
    limit: LimitKind,
    verdicts: readonly Verdict[],
    trials: readonly Verdict[],
    units: readonly Bucket[],
  ): true {
    const verdict = verdicts.length === 0 ? null : tightest(verdicts);
    const refused = verdict === null || verdict.allowed || this.dryRun ? null : verdict;
    const lines = caller.tell(trials.length === 0 ? verdicts : [...verdicts, ...trials], refused);
    const { events } = this;
    for (const trial of trials) if (!trial.allowed) this.report('refusal', caller, limit, trial, lines, true);
    if (!events.observed && (verdict === null || verdict.allowed)) return true;
    const kind = verdict !== null && units.includes(verdict.bucket) ? 'api' : limit;
    if (events.observed) {
      const onTrial = this.dryRun || verdict === null;
      this.report('decision', caller, kind, verdict ?? tightest(trials), lines, onTrial);
    }
    if (verdict !== null && !verdict.allowed) {
      this.report('refusal', caller, kind, verdict, lines, this.dryRun);
      if (refused !== null) throw caller.refusal(refusalOf(kind, refused, lines));
    }
    return true;
  }

  private report(
    type: 'decision' | 'refusal',
    caller: Caller,
    limit: LimitKind,
    verdict: Verdict,
    lines: HeaderLines,
    dryRun: boolean,
  ): void {
    const { address, network, user } = caller;
    const decision = decisionOf(verdict, lines);
    this.events.emit({ type, limit, decision, address, network, user, dryRun });
  }
}

function refusalOf(limit: LimitKind, verdict: Verdict, lines: HeaderLines): Refusal {
  const decision = decisionOf(verdict, lines);
  return { decision, message: messageOf(decision, ATTEMPTS[limit] ?? null) };
}

// Limits on guessing at one account: sign-ins, and codes of a second factor. Only failures count. Source B, SB-31 to SB-33.

import { createRate, type Rate } from '../algorithms/rate.js';
import { allAllowed, tightest, type Bucket, type OnStoreError, type Verdict } from '../algorithms/verdict.js';
import type { Limiter } from '../limiter/limiter.js';
import type { StoreTime } from '../limiter/store-time.js';
import { digestKey } from '../limiter/partition-key.js';
import { Policy } from '../limiter/policy.js';
import { chain } from '../stores/chain.js';
import type { MaybePromise } from '../stores/store.js';

/** What limits failures now; null: not limited so. */
export interface AttemptRates {
  /** Of one identifier from one client network. */
  readonly pair: Rate | null;
  /** Of a client network, over all identifiers. */
  readonly network: Rate | null;
  /** Of an identifier, from anywhere. */
  readonly identifier: Rate | null;
}

/** How long a network that has signed in to an account is known there: one such sign-in in 30 days. */
const KNOWN = createRate('gcra', 1, 30 * 24 * 3_600e6);

export class AttemptLimit {
  private readonly pair: Policy;
  private readonly network: Policy;
  private readonly identifier: Policy;
  private readonly known: Policy;

  constructor(
    private readonly limiter: Limiter,
    name: string,
    private readonly rates: () => AttemptRates,
    onStoreError?: OnStoreError,
  ) {
    const hidden = (policy: string): Policy => new Policy(policy, policy, true, onStoreError);
    this.pair = hidden(name);
    this.network = hidden(`${name}-network`);
    this.identifier = hidden(`${name}-identifier`);
    this.known = hidden(`${name}-known`);
  }

  /** `identifier` is folded already, empty where none is usable: all such share one bucket per network. J03. */
  begin(identifier: string, network: string, time?: StoreTime): Attempt {
    const rates = this.rates();
    // Injective: the length says where the identifier ends.
    const pair = digestKey(`${identifier.length} ${identifier} ${network}`);
    return new Attempt(
      this.limiter,
      rates.pair && this.pair.bucket('custom', pair, rates.pair, 1),
      rates.network && this.network.bucket('network', network, rates.network, 1),
      identifier === ''
        ? null
        : rates.identifier && this.identifier.bucket('custom', digestKey(identifier), rates.identifier, 1),
      this.known.bucket('custom', pair, KNOWN, 1),
      time,
    );
  }
}

/** One try: opened before anything is verified, then failed or succeeded, once. */
export class Attempt {
  private isKnown = false;
  private settled = false;
  /** Refused at `open`; verified all the same where limits are on trial. */
  private refused = false;

  constructor(
    private readonly limiter: Limiter,
    private readonly pair: Bucket | null,
    private readonly network: Bucket | null,
    private readonly identifier: Bucket | null,
    private readonly known: Bucket,
    private readonly time?: StoreTime,
  ) {}

  /**
   * Whether the try may be verified; else the verdict that refuses it. Charges nothing. An exhausted identifier stops
   * everybody but networks that have signed in to it before, so that nobody can lock its owner out. J04, J15.
   */
  open(): MaybePromise<Verdict | null> {
    const { pair, identifier, known } = this;
    if (identifier === null) {
      return pair === null
        ? null
        : chain(this.limiter.peek([pair], this.time), (verdicts) => this.opened(verdicts));
    }
    const asked = pair === null ? [identifier, known] : [identifier, known, pair];
    return chain(this.limiter.peek(asked, this.time), ([ofIdentifier, ofKnown, ...ofPair]) => {
      this.isKnown = !ofKnown.allowed;
      return this.opened(this.isKnown ? ofPair : [ofIdentifier, ...ofPair]);
    });
  }

  private opened(verdicts: readonly Verdict[]): Verdict | null {
    const refusal = refusalIn(verdicts);
    this.refused = refusal !== null;
    return refusal;
  }

  /**
   * Counts a failure if there is room, in one atomic step, so that parallel guesses can't all be the last: null, the
   * failure is answered as it is; else the verdict that refuses even that. Nothing the second time, and nothing of a
   * try that was refused already. J13.
   */
  fail(): MaybePromise<Verdict | null> {
    if (this.settled || this.refused) return null;
    this.settled = true;
    const { pair, network } = this;
    const identifier = this.isKnown ? null : this.identifier;
    const buckets = [pair, network, identifier].filter((bucket) => bucket !== null);
    if (buckets.length === 0) return null;
    return chain(this.limiter.consume(buckets, this.time), (verdicts) => {
      const refusal = refusalIn(verdicts);
      if (refusal === null || pair === null || !verdicts[0].allowed) return refusal;
      // The others are full: the pair still counts what was verified, or it would never stop this client.
      return chain(this.limiter.consume([pair], this.time), () => refusal);
    });
  }

  /** Forgets the failures of this pair, and no others. Nothing the second time. J08. */
  succeed(): MaybePromise<void> {
    if (this.settled) return;
    this.settled = true;
    const { pair, identifier, known } = this;
    const cleared = pair === null ? undefined : this.limiter.clear([pair], this.time);
    if (identifier === null) return cleared;
    return chain(cleared, () => chain(this.limiter.charge([known], this.time), () => {}));
  }
}

function refusalIn(verdicts: readonly Verdict[]): Verdict | null {
  return allAllowed(verdicts) ? null : tightest(verdicts);
}

// The operations for lists: one call where one server holds all buckets, one for each key where several may.

import type { LeaseReply } from '../../algorithms/lease.js';
import type { Bucket, Verdict } from '../../algorithms/verdict.js';
import { systemClock } from '../clock.js';
import type { BucketName, LeaseCall, Refund } from '../store.js';
import type { Operations, StepMode } from './operations.js';
import { inOrder, inPart, perKey, succeedsWithin, whole, type CallOf } from './spread.js';
import { givenBack, verdictOf } from './verdicts.js';

/** How long after its step a charge may still be given back, in microseconds. */
const GIVE_BACK_WITHIN = 1_000_000;

/** `due` is everywhere the moment by which the call is over, in microseconds of the monotonic clock. */
export class Parts {
  /** `clustered`: buckets of different keys lie on different servers. */
  constructor(
    private readonly operations: Operations,
    private readonly clustered: boolean,
  ) {}

  step(mode: StepMode, buckets: readonly Bucket[], due: number): Promise<Verdict[]> {
    if (!this.clustered && buckets.length > 0) return this.operations.step(mode, buckets, due);
    return this.each(buckets, keyOf, (group) => this.operations.step(mode, group, due));
  }

  consume(buckets: readonly Bucket[], due: number): Promise<Verdict[]> {
    if (!this.clustered || buckets.length < 2) return this.step('consume', buckets, due);
    return this.consumeSpread(buckets, due);
  }

  async refund(refunds: readonly Refund[], due: number): Promise<void> {
    await this.each(
      refunds,
      ({ charge }) => charge.bucket.key,
      (group) => this.operations.refund(group, due),
    );
  }

  async clear(names: readonly BucketName[], due: number): Promise<void> {
    await this.each(names, keyOf, (group) => this.operations.clear(group, due));
  }

  lease(calls: readonly LeaseCall[], due: number): Promise<LeaseReply[]> {
    return this.each(
      calls,
      ({ account }) => account.key,
      (group) => this.operations.lease(group, due),
    );
  }

  /** Charges the buckets key by key, and gives back what was charged unless all have room. */
  private async consumeSpread(buckets: readonly Bucket[], due: number): Promise<Verdict[]> {
    // Nothing is charged for nothing: in an outage of any of the servers the list fails at once.
    for (const bucket of buckets) this.operations.checkAsked(bucket);
    let refusal: Verdict | undefined;
    const outcome = await inOrder(buckets, keyOf, async (group) => {
      if (refusal !== undefined) return this.look(group, due, refusal);
      const verdicts = await this.operations.step('consume', group, due);
      refusal = verdicts.find(({ allowed }) => !allowed);
      return verdicts;
    });
    const { answers, error } = outcome;
    if (error === undefined && refusal === undefined) return whole(outcome);
    const back = this.refund(chargesOf(answers), due + GIVE_BACK_WITHIN);
    const isBack = await succeedsWithin(back, due - systemClock.monotonic());
    if (error === undefined) return answers.map(givenBack);
    throw isBack ? error : inPart(error);
  }

  /** What buckets hold that are not charged, because another has refused; as fresh ones where they can't be asked. */
  private async look(group: readonly Bucket[], due: number, refusal: Verdict): Promise<Verdict[]> {
    try {
      return await this.operations.step('peek', group, due);
    } catch {
      return group.map((bucket) => verdictOf(bucket, 0, 0, refusal.until - refusal.resetAfter));
    }
  }

  private async each<T, R>(items: readonly T[], key: (item: T) => string, call: CallOf<T, R>): Promise<R[]> {
    if (items.length === 0) return [];
    if (!this.clustered || items.length === 1) return call(items);
    return whole(await perKey(items, key, call));
  }
}

function keyOf({ key }: BucketName): string {
  return key;
}

/** What some answers charged. */
function chargesOf(answers: readonly Verdict[]): Refund[] {
  return answers.filter(({ taken }) => taken > 0).map((charge) => ({ charge, cost: charge.bucket.cost }));
}

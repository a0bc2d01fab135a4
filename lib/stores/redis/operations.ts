// The operations of the port for buckets that one server holds: arguments, one script call, and what it answers.

import type { LeaseReply } from '../../algorithms/lease.js';
import type { Bucket, Verdict } from '../../algorithms/verdict.js';
import type { Clock } from '../clock.js';
import type { BucketName, LeaseCall, Refund } from '../store.js';
import { KINDS, type KeyNames } from './key-names.js';
import type { ScriptCaller } from './calls/script-caller.js';
import { SCRIPTS } from './script.js';
import { verdictOf } from './verdicts.js';

export type StepMode = 'consume' | 'peek' | 'charge';

/** How many numbers the lease script answers per call. */
const LEASE_NUMBERS = 8;

/** `due` is everywhere the moment by which the call is over, in microseconds of the monotonic clock. */
export class Operations {
  /** `clock`: for tests, instead of the server's. */
  constructor(
    private readonly caller: ScriptCaller,
    private readonly names: KeyNames,
    private readonly clock: Clock | undefined,
  ) {}

  /** @throws what a call for the bucket would reject with, in an outage of its server. */
  checkAsked(bucket: Bucket): void {
    this.caller.checkAsked(this.names.bucket(bucket, bucket.rate.algorithm));
  }

  async step(mode: StepMode, buckets: readonly Bucket[], due: number): Promise<Verdict[]> {
    const time = this.time();
    const keys = buckets.map((bucket) => this.names.bucket(bucket, bucket.rate.algorithm));
    const args: (string | number)[] = [time, mode];
    for (const bucket of buckets) {
      const { algorithm, window, capacity } = bucket.rate;
      args.push(KINDS[algorithm], window, amountOf(mode, bucket), capacity);
    }
    const numbers = await this.caller.call(SCRIPTS.step, keys, args, due);
    const now = time === '' ? numbers[0] : time;
    return buckets.map((bucket, i) => verdictOf(bucket, numbers[i * 2 + 2], numbers[i * 2 + 3], now));
  }

  /** Answers what it was given, as `clear` does. */
  async refund(refunds: readonly Refund[], due: number): Promise<Refund[]> {
    const keys = refunds.map(({ charge: { bucket } }) => this.names.bucket(bucket, bucket.rate.algorithm));
    const args = refunds.flatMap(({ charge: { bucket, taken, until }, cost }) => [
      KINDS[bucket.rate.algorithm],
      bucket.rate.window,
      until,
      Math.min(cost * bucket.rate.unit, taken),
    ]);
    await this.caller.call(SCRIPTS.refund, keys, [this.time(), ...args], due);
    return [...refunds];
  }

  async clear(names: readonly BucketName[], due: number): Promise<BucketName[]> {
    const keys = names.flatMap((name) => this.names.all(name));
    await this.caller.call(SCRIPTS.clear, keys, [this.time()], due);
    return [...names];
  }

  async lease(calls: readonly LeaseCall[], due: number): Promise<LeaseReply[]> {
    const keys = calls.map(({ account }) => this.names.account(account));
    const args = calls.flatMap(({ request: { id, seq, remaining, need, want, rate, cap, release } }) => {
      return [id, seq, remaining, need, want, rate, cap, release ? 1 : 0];
    });
    const [_server, _call, ...numbers] = await this.caller.call(
      SCRIPTS.lease,
      keys,
      [this.time(), ...args],
      due,
    );
    return calls.map((_, i) => leaseReplyOf(numbers.slice(i * LEASE_NUMBERS, (i + 1) * LEASE_NUMBERS)));
  }

  /** What the script is to count by: '' for the server's clock. */
  private time(): number | '' {
    return this.clock === undefined ? '' : this.clock.wall();
  }
}

/** Capped where more makes no difference, so that every number the script sees is exact. */
function amountOf(mode: StepMode, { rate, cost }: Bucket): number {
  if (mode === 'charge' && rate.algorithm === 'fixed') return cost;
  return Math.min(cost, rate.limit + 1) * rate.unit;
}

function leaseReplyOf(numbers: readonly number[]): LeaseReply {
  const [granted, kept, lifetime, retryAfter, balance, others, forfeited, replayed] = numbers;
  return {
    granted,
    kept,
    lifetime,
    retryAfter: retryAfter < 0 ? null : retryAfter,
    balance,
    others,
    forfeited,
    replayed: replayed === 1,
  };
}

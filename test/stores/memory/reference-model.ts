// What the memory store should answer, written another way: charges stay a list, GCRA is a pipe of exact fractions.

import type { Bucket, Verdict } from '../../../lib/algorithms/verdict.js';

/** What a verdict says, without the parts that only a refund reads. */
export type Answer = Pick<Verdict, 'allowed' | 'remaining' | 'resetAfter' | 'retryAfter'>;

/** A charge as its maker can give it back. */
export interface Receipt {
  readonly id: number;
  readonly bucket: Bucket;
}

export class ReferenceModel {
  private readonly counters = new Map<string, Pipe | Ledger>();
  private ids = 0;

  /** Charges all buckets if there is room in all. */
  consume(buckets: readonly Bucket[], now: number): { answers: Answer[]; receipts: Receipt[] } {
    const before = this.peek(buckets, now);
    if (!before.every((answer) => answer.allowed)) return { answers: before, receipts: [] };
    return this.charge(buckets, now);
  }

  peek(buckets: readonly Bucket[], now: number): Answer[] {
    return buckets.map((bucket) => this.answer(bucket, this.wait(bucket, now), now));
  }

  charge(buckets: readonly Bucket[], now: number): { answers: Answer[]; receipts: Receipt[] } {
    const receipts: Receipt[] = [];
    const answers = buckets.map((bucket) => {
      const wait = this.wait(bucket, now);
      const id = ++this.ids;
      this.counter(bucket).add(id, bucket, now);
      receipts.push({ id, bucket });
      return this.answer(bucket, wait, now);
    });
    return { answers, receipts };
  }

  refund({ id, bucket }: Receipt, cost: number, now: number): void {
    this.counter(bucket).giveBack(id, bucket, cost, now);
  }

  clear(bucket: Bucket): void {
    this.counters.delete(nameOf(bucket));
  }

  private answer(bucket: Bucket, wait: number, now: number): Answer {
    const counter = this.counter(bucket);
    const { remaining, resetAfter } = counter.state(bucket, now);
    return { allowed: wait === 0, remaining, resetAfter, retryAfter: wait };
  }

  private wait(bucket: Bucket, now: number): number {
    return bucket.cost > bucket.rate.limit ? Infinity : this.counter(bucket).wait(bucket, now);
  }

  private counter(bucket: Bucket): Pipe | Ledger {
    const name = nameOf(bucket);
    const found = this.counters.get(name) ?? (bucket.rate.algorithm === 'gcra' ? new Pipe() : new Ledger());
    this.counters.set(name, found);
    return found;
  }
}

/** A fixed window: every charge ever made, with the number of its window. */
class Ledger {
  private readonly charges: { id: number; window: number; cost: number }[] = [];

  state({ rate }: Bucket, now: number): { remaining: number; resetAfter: number } {
    return {
      remaining: Math.max(0, rate.limit - this.sum(rate.window, now)),
      resetAfter: (Math.floor(now / rate.window) + 1) * rate.window - now,
    };
  }

  wait(bucket: Bucket, now: number): number {
    const { remaining, resetAfter } = this.state(bucket, now);
    return bucket.cost <= remaining ? 0 : resetAfter;
  }

  add(id: number, { rate, cost }: Bucket, now: number): void {
    this.charges.push({ id, window: Math.floor(now / rate.window), cost });
  }

  giveBack(id: number, _bucket: Bucket, cost: number): void {
    for (const charge of this.charges) if (charge.id === id) charge.cost = Math.max(0, charge.cost - cost);
  }

  private sum(window: number, now: number): number {
    const current = this.charges.filter((charge) => charge.window === Math.floor(now / window));
    return current.reduce((sum, charge) => sum + charge.cost, 0);
  }
}

/** GCRA: charges as shares of the bucket (1 is full), leaving at the front at one bucket per window. */
class Pipe {
  private shares: { id: number; share: Fraction }[] = [];
  private drainedAt: number | null = null;

  state({ rate }: Bucket, now: number): { remaining: number; resetAfter: number } {
    const level = this.level(rate.window, now);
    return {
      remaining: new Fraction(1n).minus(level).times(rate.limit).floor(),
      resetAfter: level.times(rate.window).ceil(),
    };
  }

  wait({ rate, cost }: Bucket, now: number): number {
    if (cost === 0) return 0;
    const over = this.level(rate.window, now).plus(new Fraction(cost, rate.limit)).minus(new Fraction(1n));
    return over.times(rate.window).max0().ceil();
  }

  add(id: number, { rate, cost }: Bucket, now: number): void {
    const room = new Fraction(1n).minus(this.level(rate.window, now));
    this.shares.push({ id, share: new Fraction(cost, rate.limit).min(room) });
  }

  giveBack(id: number, { rate }: Bucket, cost: number, now: number): void {
    this.level(rate.window, now);
    for (const entry of this.shares) {
      if (entry.id === id) entry.share = entry.share.minus(new Fraction(cost, rate.limit)).max0();
    }
  }

  private level(window: number, now: number): Fraction {
    let out = new Fraction(now - (this.drainedAt ?? now), window);
    this.drainedAt = now;
    for (const entry of this.shares) {
      const gone = entry.share.min(out);
      entry.share = entry.share.minus(gone);
      out = out.minus(gone);
    }
    this.shares = this.shares.filter((entry) => !entry.share.isZero());
    return this.shares.reduce((sum, entry) => sum.plus(entry.share), new Fraction(0n));
  }
}

class Fraction {
  private readonly top: bigint;
  private readonly bottom: bigint;

  constructor(top: bigint | number, bottom: bigint | number = 1n) {
    const factor = greatestDivisor(BigInt(top), BigInt(bottom));
    this.top = BigInt(top) / factor;
    this.bottom = BigInt(bottom) / factor;
  }

  plus(other: Fraction): Fraction {
    return new Fraction(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom);
  }

  minus(other: Fraction): Fraction {
    return new Fraction(this.top * other.bottom - other.top * this.bottom, this.bottom * other.bottom);
  }

  times(whole: number): Fraction {
    return new Fraction(this.top * BigInt(whole), this.bottom);
  }

  min(other: Fraction): Fraction {
    return this.minus(other).top < 0n ? this : other;
  }

  max0(): Fraction {
    return this.top < 0n ? new Fraction(0n) : this;
  }

  isZero(): boolean {
    return this.top === 0n;
  }

  floor(): number {
    return Number(this.top / this.bottom);
  }

  ceil(): number {
    return Number((this.top + this.bottom - 1n) / this.bottom);
  }
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  if (b === 0n) return a < 0n ? -a : a;
  return greatestDivisor(b, a % b);
}

function nameOf({ namespace, key, rate }: Bucket): string {
  return JSON.stringify([rate.algorithm, namespace, key]);
}

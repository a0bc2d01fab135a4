// Fixed windows in memory: two numbers each, the end of the window on the wall clock and the count in it.

import {
  fixedCharged,
  fixedRefunded,
  fixedUsed,
  fixedVerdict,
  fixedWait,
  windowEnd,
} from '../../algorithms/fixed-window.js';
import type { Bucket, Verdict } from '../../algorithms/verdict.js';
import type { Refund } from '../store.js';
import { NO_SLOT } from './slots.js';
import { Table } from './table.js';

export class FixedTable extends Table {
  /** The longest window seen: an end further ahead was written before the clock stepped back. */
  private window = 0;

  constructor(maxKeys: number, onOverflow: () => void) {
    super(2, maxKeys, onOverflow);
  }

  override peek(bucket: Bucket, now: number): Verdict {
    const end = windowEnd(bucket.rate.window, now);
    const used = this.used(this.slotOf(bucket.key, now), end);
    return fixedVerdict(bucket, used, 0, fixedWait(used, bucket.cost, bucket.rate, end, now), end, now);
  }

  override consume(bucket: Bucket, now: number): Verdict {
    const end = windowEnd(bucket.rate.window, now);
    const slot = this.slotOf(bucket.key, now);
    const used = this.used(slot, end);
    const wait = fixedWait(used, bucket.cost, bucket.rate, end, now);
    if (wait > 0) return fixedVerdict(bucket, used, 0, wait, end, now);
    return this.write(bucket, slot, used, wait, end, now);
  }

  override charge(bucket: Bucket, now: number): Verdict {
    const end = windowEnd(bucket.rate.window, now);
    const slot = this.slotOf(bucket.key, now);
    const used = this.used(slot, end);
    return this.write(bucket, slot, used, fixedWait(used, bucket.cost, bucket.rate, end, now), end, now);
  }

  override refund({ charge, cost }: Refund, now: number): void {
    const { bucket, taken, until } = charge;
    const slot = this.slotCharged(bucket.key);
    if (slot === NO_SLOT) return;
    const { numbers } = this.slots;
    const end = windowEnd(bucket.rate.window, now);
    if (numbers[slot * 2] !== end) return;
    numbers[slot * 2 + 1] = fixedRefunded(numbers[slot * 2 + 1], Math.min(cost, taken), until, end);
  }

  protected override isFresh(slot: number, now: number): boolean {
    const end = this.slots.numbers[slot * 2];
    return end <= now || end > now + this.window || this.slots.numbers[slot * 2 + 1] === 0;
  }

  private used(slot: number, end: number): number {
    if (slot === NO_SLOT) return 0;
    return fixedUsed(this.slots.numbers[slot * 2 + 1], this.slots.numbers[slot * 2], end);
  }

  private write(
    bucket: Bucket,
    slot: number,
    before: number,
    wait: number,
    end: number,
    now: number,
  ): Verdict {
    const used = fixedCharged(before, bucket.cost);
    if (used === before) return fixedVerdict(bucket, used, 0, wait, end, now);
    const written = slot === NO_SLOT ? this.slots.add(bucket.key) : slot;
    if (bucket.rate.window > this.window) this.window = bucket.rate.window;
    this.slots.numbers[written * 2] = end;
    this.slots.numbers[written * 2 + 1] = used;
    return fixedVerdict(this.charged(bucket, written), used, used - before, wait, end, now);
  }
}

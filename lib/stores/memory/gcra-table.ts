// GCRA buckets in memory: one number each, the theoretical arrival time on the monotonic clock.

import {
  gcraCharged,
  gcraRefunded,
  gcraTat,
  gcraUsed,
  gcraVerdict,
  gcraWait,
} from '../../algorithms/gcra.js';
import type { Bucket, Verdict } from '../../algorithms/verdict.js';
import type { Refund } from '../store.js';
import { NO_SLOT } from './slots.js';
import { Table } from './table.js';

export class GcraTable extends Table {
  constructor(maxKeys: number, onOverflow: () => void) {
    super(1, maxKeys, onOverflow);
  }

  override peek(bucket: Bucket, now: number): Verdict {
    // A look writes nothing for what the rounding of intervals differs by between two limits of one window.
    const used = this.used(this.slotOf(bucket.key, now), bucket, now, bucket.rate.window / 100);
    return gcraVerdict(bucket, used, 0, gcraWait(used, bucket.cost, bucket.rate), now);
  }

  override consume(bucket: Bucket, now: number): Verdict {
    const slot = this.slotOf(bucket.key, now);
    const used = this.used(slot, bucket, now);
    const wait = gcraWait(used, bucket.cost, bucket.rate);
    if (wait > 0) return gcraVerdict(bucket, used, 0, wait, now);
    return this.write(bucket, slot, used, used + bucket.cost * bucket.rate.unit, wait, now);
  }

  override charge(bucket: Bucket, now: number): Verdict {
    const slot = this.slotOf(bucket.key, now);
    const used = this.used(slot, bucket, now);
    const wait = gcraWait(used, bucket.cost, bucket.rate);
    return this.write(bucket, slot, used, gcraCharged(used, bucket.cost, bucket.rate), wait, now);
  }

  override refund({ charge, cost }: Refund, now: number): void {
    const { bucket, taken, until } = charge;
    const slot = this.slotCharged(bucket.key);
    if (slot === NO_SLOT) return;
    const { numbers } = this.slots;
    // Not `used`: the rate of back then may have a shorter window than the charges made since.
    const held = Math.max(0, numbers[slot] - now);
    const back = Math.min(cost * bucket.rate.unit, taken);
    numbers[slot] = gcraTat(gcraRefunded(held, back, until, now), now);
  }

  protected override isFresh(slot: number, now: number): boolean {
    return this.slots.numbers[slot] <= now;
  }

  private used(slot: number, bucket: Bucket, now: number, slack = 0): number {
    if (slot === NO_SLOT) return 0;
    const { numbers } = this.slots;
    const used = gcraUsed(numbers[slot], bucket.rate, now);
    // Written even if the call is refused: the bucket would count as full until a TAT beyond the window came near.
    if (numbers[slot] > now + used + slack) numbers[slot] = now + used;
    return used;
  }

  private write(
    bucket: Bucket,
    slot: number,
    before: number,
    used: number,
    wait: number,
    now: number,
  ): Verdict {
    if (used === before) return gcraVerdict(bucket, used, 0, wait, now);
    const written = slot === NO_SLOT ? this.slots.add(bucket.key) : slot;
    this.slots.numbers[written] = gcraTat(used, now);
    return gcraVerdict(this.charged(bucket, written), used, used - before, wait, now);
  }
}

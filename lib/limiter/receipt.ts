// Proof of a charge: what a refund needs, good for one refund.

import type { Verdict } from '../algorithms/verdict.js';
import type { Refund } from '../stores/store.js';

export class Receipt {
  private spent = false;

  /** What the charge took, bucket by bucket. */
  constructor(private readonly charges: readonly Verdict[]) {}

  /** Whether the receipt was used already. */
  get used(): boolean {
    return this.spent;
  }

  /** Uses the receipt up: the refunds of `cost` units in each bucket, of everything by default; none the second time. */
  take(cost: number | null): readonly Refund[] {
    if (this.spent) return [];
    this.spent = true;
    return this.charges.map((charge) => ({ charge, cost: cost ?? charge.bucket.cost }));
  }
}

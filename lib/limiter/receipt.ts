// Proof of a charge: what a refund needs, good for one refund.

import type { Verdict } from '../algorithms/verdict.js';
import type { Refund } from '../stores/store.js';

export class Receipt {
  /** Private for good: a decision that is sent to a client shows no keys. */
  readonly #charges: readonly Verdict[];
  readonly #issuer: object;
  #used = false;

  /** What the charge took, bucket by bucket; `issuer` is where it was made. */
  constructor(charges: readonly Verdict[], issuer: object) {
    this.#charges = charges;
    this.#issuer = issuer;
  }

  /** Whether the receipt was used already. */
  get used(): boolean {
    return this.#used;
  }

  /** Whether the charge was made there: only there it can be given back. */
  isFrom(issuer: object): boolean {
    return this.#issuer === issuer;
  }

  /** Uses the receipt up: the refunds of `cost` units in each bucket, of everything by default; none the second time. */
  take(cost: number | null): readonly Refund[] {
    if (this.#used) return [];
    this.#used = true;
    return this.#charges.map((charge) => ({ charge, cost: cost ?? charge.bucket.cost }));
  }
}

// The limits on guessing and on mails that an app has, and whose tries they count.

import type { Report } from '../../events/event.js';
import type { Bucket, OnStoreError } from '../../algorithms/verdict.js';
import type { Limiter } from '../../limiter/limiter.js';
import { digestKey } from '../../limiter/partition-key.js';
import { Policy } from '../../limiter/policy.js';
import type { StoreTime } from '../../limiter/store-time.js';
import { AttemptLimit, type Attempt } from '../../policies/attempts.js';
import { Identifiers } from '../../policies/identifier.js';
import type { LoginRates } from '../../policies/login-rates.js';

/** What is guessed at: passwords, or codes of a second factor. */
export type AttemptKind = 'login' | 'second-factor';

/** In place of a network, where tries are counted wherever they come from. */
const ANYWHERE = 'anywhere';

export class Attempts {
  private readonly identifiers: Identifiers;
  private readonly login: AttemptLimit;
  private readonly secondFactor: AttemptLimit;
  private readonly mail: Policy;

  /**
   * `fold` is the app's own way to make spellings of an identifier the same, null: ours. `onStoreError` absent: as the
   * module says.
   */
  constructor(
    limiter: Limiter,
    private readonly rates: LoginRates,
    fold: ((identifier: string) => string) | null,
    report: Report,
    onStoreError?: OnStoreError,
  ) {
    this.identifiers = new Identifiers(fold, report);
    const ofLogin = () => ({
      pair: rates.read('failures'),
      network: rates.read('perNetwork'),
      identifier: rates.read('perIdentifier'),
    });
    const ofCodes = () => ({ pair: rates.read('codes'), network: null, identifier: null });
    this.login = new AttemptLimit(limiter, 'login', ofLogin, onStoreError);
    this.secondFactor = new AttemptLimit(limiter, 'second-factor', ofCodes, onStoreError);
    this.mail = new Policy('mail', 'mail', true, onStoreError);
  }

  /**
   * A try at an account from a client network. Sign-ins count per pair of both, so that nobody locks others out;
   * codes per account: who tries them knows the password. Without a usable identifier both count per network.
   */
  begin(kind: AttemptKind, identifier: unknown, network: string, time: StoreTime): Attempt {
    const folded = this.identifiers.of(identifier);
    if (kind === 'login') return this.login.begin(folded, network, time);
    return this.secondFactor.begin(folded, folded === '' ? network : ANYWHERE, time);
  }

  /** Counts a mail to an address, to no usable one per network; null: mails aren't limited. */
  ofMail(address: unknown, network: string): Bucket | null {
    const rate = this.rates.read('mails');
    if (rate === null) return null;
    const folded = this.identifiers.of(address);
    if (folded === '') return this.mail.bucket('network', network, rate, 1);
    return this.mail.bucket('custom', digestKey(folded), rate, 1);
  }
}

// The limits of a machine API, in cost units per window of the wall clock. Source A, SA-06 to SA-13.

import type { Verdict } from '../algorithms/verdict.js';
import type { Limiter } from '../limiter/limiter.js';
import { digestKey, partitionKey } from '../limiter/partition-key.js';
import { Policy } from '../limiter/policy.js';
import type { MaybePromise } from '../stores/store.js';
import type { ApiRates } from './api-rates.js';

/** Key of the bucket that all clients share. */
const EVERYBODY = 'everybody';

export class ApiPolicies {
  private readonly adminKey = new Policy('admin-key');
  private readonly adminUser = new Policy('admin-user');
  private readonly publicToken = new Policy('public-token');
  private readonly publicNetwork = new Policy('public-network');
  private readonly newRowsNetwork = new Policy('new-rows-network');
  private readonly newRowsAll = new Policy('new-rows');
  private readonly preauth = new Policy('pre-auth', 'pre-auth', true);

  constructor(
    private readonly limiter: Limiter,
    private readonly rates: ApiRates,
  ) {}

  /** Charges the bucket of a key. SA-26. */
  consumeKey(keyId: string, cost: number): MaybePromise<Verdict[]> {
    const rate = this.rates.read();
    return this.limiter.consume([
      this.adminKey.bucket('key', partitionKey(keyId), rate('adminRatePerMin'), cost),
    ]);
  }

  /** Charges the bucket of a user over all sessions, apart from those of the user's keys. SA-32, SA-33. */
  consumeUser(userId: string, cost: number): MaybePromise<Verdict[]> {
    const rate = this.rates.read();
    return this.limiter.consume([
      this.adminUser.bucket('user', partitionKey(userId), rate('adminRatePerMin'), cost),
    ]);
  }

  /**
   * Charges a client token, if there is one, and the client network, all or nothing: a full network refuses before any
   * token counter exists, a full token leaves the network unpaid. A network cost of 0 only reports. SA-31, SA-42 to SA-45.
   */
  consumePublic(
    network: string,
    tokenHash: string | null,
    cost: number,
    networkCost: number,
  ): MaybePromise<Verdict[]> {
    const rate = this.rates.read();
    const buckets = [this.publicNetwork.bucket('network', network, rate('publicIpRatePerMin'), networkCost)];
    if (tokenHash !== null) {
      buckets.push(
        this.publicToken.bucket('token', digestKey(tokenHash), rate('publicTokenRatePerMin'), cost),
      );
    }
    return this.limiter.consume(buckets);
  }

  /** Counts a new row against the network's quota and everybody's, all or nothing. SA-16, SA-27, SA-28. */
  consumeNewRow(network: string): MaybePromise<Verdict[]> {
    const rate = this.rates.read();
    return this.limiter.consume([
      this.newRowsNetwork.bucket('network', network, rate('publicNewRowsPerIpHour'), 1),
      this.newRowsAll.bucket('all', EVERYBODY, rate('publicNewRowsGlobalHour'), 1),
    ]);
  }

  /** Whether a network may still fail authentication; charges nothing. SA-17, SA-29, SA-41. */
  peekFailures(network: string): MaybePromise<Verdict[]> {
    return this.limiter.peek([this.failures(network)]);
  }

  /**
   * Counts a failed authentication if there is room: one atomic step, so that parallel guesses can't all be the last.
   * Refused means: answer 429, it wasn't charged. SA-17, SA-18, SA-34.
   */
  consumeFailure(network: string): MaybePromise<Verdict[]> {
    return this.limiter.consume([this.failures(network)]);
  }

  private failures(network: string) {
    const rate = this.rates.read();
    return this.preauth.bucket('network', network, rate('adminPreauthFailPerMin'), 1);
  }
}

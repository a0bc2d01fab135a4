// The buckets of a machine API, in cost units per window of the wall clock. Source A, SA-06 to SA-13.

import type { Bucket } from '../algorithms/verdict.js';
import { digestKey, partitionKey } from '../limiter/partition-key.js';
import { Policy } from '../limiter/policy.js';
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

  constructor(private readonly rates: ApiRates) {}

  /** Of an API key; its id may be the secret itself, so it is digested. SA-26. */
  ofKey(keyId: string, cost: number): Bucket {
    return this.adminKey.bucket('key', digestKey(keyId), this.rates.read()('adminRatePerMin'), cost);
  }

  /** Of a user over all sessions, apart from those of the user's keys. SA-32, SA-33. */
  ofUser(userId: string, cost: number): Bucket {
    return this.adminUser.bucket('user', partitionKey(userId), this.rates.read()('adminRatePerMin'), cost);
  }

  /**
   * Of a client token, if there is one, and the client network. As one step a full network refuses before any token
   * counter exists, a full token leaves the network unpaid. A network cost of 0 only reports. SA-31, SA-42 to SA-45.
   */
  ofPublic(network: string, tokenHash: string | null, cost: number, networkCost: number): Bucket[] {
    const rate = this.rates.read();
    const buckets = [this.publicNetwork.bucket('network', network, rate('publicIpRatePerMin'), networkCost)];
    if (tokenHash !== null) {
      buckets.push(
        this.publicToken.bucket('token', digestKey(tokenHash), rate('publicTokenRatePerMin'), cost),
      );
    }
    return buckets;
  }

  /** Of a new row: the network's quota and everybody's. SA-16, SA-27, SA-28. */
  ofNewRow(network: string): Bucket[] {
    const rate = this.rates.read();
    return [
      this.newRowsNetwork.bucket('network', network, rate('publicNewRowsPerIpHour'), 1),
      this.newRowsAll.bucket('all', EVERYBODY, rate('publicNewRowsGlobalHour'), 1),
    ];
  }

  /**
   * Of a network's failed authentications: peeked after a rejection only, consumed by a failure. Consuming alone does
   * both at once, so that parallel guesses can't all be the last. SA-17, SA-18, SA-29, SA-34.
   */
  ofFailure(network: string): Bucket {
    return this.preauth.bucket('network', network, this.rates.read()('adminPreauthFailPerMin'), 1);
  }
}

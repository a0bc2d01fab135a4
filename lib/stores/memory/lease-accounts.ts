// Accounts of action points in memory: what purses borrow from. Dropped once they equal a full one.

import { fullAt, type LeaseAccount } from '../../algorithms/lease-account.js';
import { lease, type LeaseReply } from '../../algorithms/lease.js';
import type { LeaseCall } from '../store.js';
import type { Sweepable } from './sweeper.js';

export class LeaseAccounts implements Sweepable {
  /** By namespace and key; a namespace has no line break. */
  private readonly accounts = new Map<string, LeaseAccount>();
  private cursor: Iterator<[string, LeaseAccount]> = this.accounts.entries();

  get size(): number {
    return this.accounts.size;
  }

  lease({ account: name, request }: LeaseCall, now: number): LeaseReply {
    const id = `${name.namespace}\n${name.key}`;
    const { account, reply } = lease(this.accounts.get(id), request, now);
    this.accounts.set(id, account);
    return reply;
  }

  clear(): void {
    this.accounts.clear();
  }

  rewind(): void {
    this.cursor = this.accounts.entries();
  }

  sweep(count: number, now: number): number {
    let dropped = 0;
    for (let i = 0; i < count; i++) {
      const next = this.cursor.next();
      if (next.done === true) break;
      const [id, account] = next.value;
      if (fullAt(account) <= now && this.accounts.delete(id)) dropped++;
    }
    return dropped;
  }
}

import { describe, expect, it } from 'vitest';
import type { LeaseRequest } from '../../../lib/algorithms/lease.js';
import { LeaseAccounts } from '../../../lib/stores/memory/lease-accounts.js';

const SECOND = 1_000_000;

function request(about: Partial<LeaseRequest>): LeaseRequest {
  return {
    id: 'a',
    seq: 1,
    remaining: 0,
    need: 0,
    want: 0,
    release: false,
    rate: 1_000,
    cap: 120_000,
    ...about,
  };
}

function call(key: string, about: Partial<LeaseRequest>) {
  return { account: { namespace: 'balance', key }, request: request(about) };
}

describe('accounts of action points in memory', () => {
  it('are kept while a purse holds points, and dropped once they equal a full one', () => {
    const accounts = new LeaseAccounts();
    const { lifetime } = accounts.lease(call('user', { need: 60_000 }), SECOND);
    accounts.rewind();
    expect(accounts.sweep(1_000, SECOND + lifetime - 1)).toBe(0);
    // The lease is forfeited at its end, then 60 points take a minute at one a second.
    accounts.rewind();
    expect(accounts.sweep(1_000, SECOND + lifetime + 300 * SECOND)).toBe(1);
    expect(accounts.size).toBe(0);
  });

  it('dropping one changes no answer', () => {
    const swept = new LeaseAccounts();
    const kept = new LeaseAccounts();
    for (const accounts of [swept, kept]) accounts.lease(call('user', { need: 60_000 }), SECOND);
    const later = 1_000 * SECOND;
    swept.rewind();
    expect(swept.sweep(1_000, later)).toBe(1);
    const next = call('user', { id: 'b', need: 90_000 });
    const { forfeited: lost, ...answer } = swept.lease(next, later);
    const { forfeited, ...expected } = kept.lease(next, later);
    expect(answer).toEqual(expected);
    expect([lost, forfeited]).toEqual([0, 60_000]);
  });

  it('a sweep looks at no more than it may, and goes on where it stopped', () => {
    const accounts = new LeaseAccounts();
    for (let i = 0; i < 10; i++) accounts.lease(call(`user${i}`, { need: 1_000 }), SECOND);
    accounts.rewind();
    const later = 10_000 * SECOND;
    expect(accounts.sweep(4, later)).toBe(4);
    expect(accounts.sweep(4, later)).toBe(4);
    expect(accounts.sweep(4, later)).toBe(2);
    expect(accounts.size).toBe(0);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  advance,
  balanceReaches,
  fullAccount,
  fullAt,
  type Lease,
  type LeaseAccount,
} from '../../lib/algorithms/lease-account.js';

const SECOND = 1_000_000;
const POINT = 1000;

function held(id: string, points: number, expires: number): Lease {
  return { id, seq: 1, points, granted: points, retryAt: 0, expires };
}

/** The same rule in exact rational arithmetic: millionths of a thousandth, no shortcuts. */
function advanceExactly(
  account: LeaseAccount,
  now: number,
): { balance: bigint; remainder: bigint; out: bigint } {
  let level = BigInt(account.balance) * 1_000_000n + BigInt(account.remainder);
  let out = BigInt(account.out);
  let time = BigInt(account.time);
  const accrueTo = (until: bigint): void => {
    const room = (BigInt(account.cap) - out) * 1_000_000n;
    const grown = level + BigInt(account.rate) * (until - time);
    if (level >= room) level -= ((level % 1_000_000n) + 1_000_000n) % 1_000_000n;
    else level = grown < room ? grown : room;
    time = until;
  };
  for (const lease of account.leases.toSorted((a, b) => a.expires - b.expires)) {
    if (lease.expires > now) continue;
    accrueTo(BigInt(lease.expires));
    out -= BigInt(lease.points);
  }
  accrueTo(BigInt(Math.max(now, account.time)));
  const remainder = ((level % 1_000_000n) + 1_000_000n) % 1_000_000n;
  return { balance: (level - remainder) / 1_000_000n, remainder, out };
}

/** Any account the protocol can produce, from 1 thousandth a second to the documented limits. */
const accounts = fc
  .record({
    rate: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 9_000_000_000 })),
    worth: fc.oneof(fc.constant(120), fc.integer({ min: 1, max: 400 })),
    filled: fc.double({ min: -1, max: 1, noNaN: true }),
    remainder: fc.integer({ min: 0, max: 999_999 }),
    time: fc.integer({ min: 0, max: 2_000_000_000_000_000 }),
    shares: fc.array(
      fc.record({ share: fc.integer({ min: 0, max: 40 }), life: fc.integer({ min: 1, max: 120 * SECOND }) }),
      {
        maxLength: 5,
      },
    ),
  })
  .map(({ rate, worth, filled, remainder, time, shares }): LeaseAccount => {
    const cap = Math.min(rate * worth, 4_000_000_000_000);
    const leases = shares.map(({ share, life }, index) =>
      held(`purse-${index}`, Math.floor((cap / 100) * share), time + life),
    );
    const out = leases.reduce((sum, lease) => sum + lease.points, 0);
    const balance = Math.min(Math.floor(cap * filled), Math.max(0, cap - out));
    return { balance, out, time, remainder, rate, cap, leases };
  });
const waits = fc.oneof(
  fc.integer({ min: -SECOND, max: SECOND }),
  fc.integer({ min: 0, max: 300 * SECOND }),
  fc.integer({ min: 0, max: 1_000_000_000_000_000 }),
);

describe('advance', () => {
  it('agrees with exact rational arithmetic for every rate, cap, debt and set of leases', () => {
    fc.assert(
      fc.property(accounts, waits, (account, wait) => {
        const moved = advance(account, account.time + wait);
        const exact = advanceExactly(account, account.time + wait);
        expect({
          balance: BigInt(moved.balance),
          remainder: BigInt(moved.remainder),
          out: BigInt(moved.out),
        }).toEqual(exact);
        expect(moved.out).toBe(moved.leases.reduce((sum, lease) => sum + lease.points, 0));
      }),
      { numRuns: 2000 },
    );
  });

  it('gives the same account in one step as in two', () => {
    fc.assert(
      fc.property(accounts, waits, waits, (account, first, second) => {
        const middle = advance(account, account.time + first);
        const end = Math.max(account.time + first + second, middle.time);
        expect(advance(middle, end)).toEqual(advance(account, end));
      }),
      { numRuns: 1000 },
    );
  });

  it('does not change the account it is given', () => {
    fc.assert(
      fc.property(accounts, waits, (account, wait) => {
        const copy = structuredClone(account);
        advance(account, account.time + wait);
        balanceReaches(account, account.cap);
        expect(account).toEqual(copy);
      }),
    );
  });

  it('lets a crashed server cost its points only, not what was earned after its lease expired', () => {
    // 120 lent to one server that dies; nothing can be earned until 10 s, then a point a second.
    const account = { ...fullAccount(POINT, 120 * POINT, 0), balance: 0, out: 120 * POINT };
    account.leases = [held('dead', 120 * POINT, 10 * SECOND)];
    expect(advance(account, 10 * SECOND)).toMatchObject({ balance: 0, out: 0 });
    expect(advance(account, 40 * SECOND)).toMatchObject({ balance: 30 * POINT, out: 0 });
  });

  it('earns towards the room that each lease leaves until it expires', () => {
    const account = { ...fullAccount(POINT, 120 * POINT, 0), balance: 20 * POINT, out: 90 * POINT };
    account.leases = [held('late', 60 * POINT, 50 * SECOND), held('early', 30 * POINT, 20 * SECOND)];
    expect(advance(account, 15 * SECOND).balance).toBe(30 * POINT);
    expect(advance(account, 49 * SECOND).balance).toBe(59 * POINT);
    expect(advance(account, 100 * SECOND).balance).toBe(110 * POINT);
  });

  it('counts a clock that stepped back as no time', () => {
    const account = { ...fullAccount(POINT, 120 * POINT, 100 * SECOND), balance: 5 * POINT };
    expect(advance(account, 40 * SECOND)).toEqual(account);
  });
});

describe('balanceReaches', () => {
  it('is the first microsecond at which the balance is enough', () => {
    fc.assert(
      fc.property(accounts, fc.double({ min: 0, max: 1, noNaN: true }), (account, share) => {
        const need = Math.ceil(account.cap * share);
        const reached = balanceReaches(account, need);
        expect(advance(account, reached).balance).toBeGreaterThanOrEqual(need);
        if (reached > account.time) expect(advance(account, reached - 1).balance).toBeLessThan(need);
      }),
      { numRuns: 2000 },
    );
  });

  it('is never for more than the cap', () => {
    expect(balanceReaches(fullAccount(POINT, 120 * POINT, 0), 120 * POINT + 1)).toBe(Infinity);
  });
});

describe('fullAt', () => {
  it('is an instant from which the account equals an absent one, and no lease is alive', () => {
    fc.assert(
      fc.property(accounts, (account) => {
        const full = fullAt(account);
        expect(advance(account, full)).toEqual({ ...fullAccount(account.rate, account.cap, full) });
        if (full > account.time) {
          const before = advance(account, full - 1);
          expect(before.balance < account.cap || before.leases.length > 0).toBe(true);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

// The balance one user shares over all servers, the leases taken from it, and what the passing of time does to both.

/** Microseconds in a second. */
const SECOND = 1_000_000;

/** Points lent to one purse until an instant. Never written in place: every call makes a new one. */
export interface Lease {
  /** The purse that holds it: unique per user and server start, and a new one after each release. */
  readonly id: string;
  /** Number of the last call applied. A call whose number is not above it is a replay. */
  readonly seq: number;
  /** Unspent points as the account knows them, thousandths of a point, >= 0. The purse never holds more. */
  readonly points: number;
  /** What the last call added, thousandths of a point; 0 when it was refused. Kept to answer a replay. */
  readonly granted: number;
  /** Instant at which the last need can be had, microseconds; 0 when it was not refused, null for never. */
  readonly retryAt: number | null;
  /** Instant from which the points are forfeited, microseconds. Never moves earlier: the purse may not have heard. */
  readonly expires: number;
}

/**
 * The balance of one user with everything lent out of it.
 * An absent account is a full one. Exact while `rate <= 9e9`, `cap <= 4e12` (thousandths) and
 * `cap / rate <= 1e9` (seconds): every product then stays below 2^53.
 */
export interface LeaseAccount {
  /** What is not lent out, thousandths of a point. Negative is debt; settling leaves it no lower than `-cap`. */
  balance: number;
  /** What is lent out: the sum of `points` of all leases, thousandths of a point. */
  out: number;
  /** Instant of the last write, microseconds of the store's clock. */
  time: number;
  /** What the last accrual could not pay out, millionths of a thousandth of a point, 0 to 999,999. */
  remainder: number;
  /** Accrual since `time`, thousandths of a point per second, >= 1. */
  rate: number;
  /** Most that balance and leases may hold together since `time`, thousandths of a point, >= 1. */
  cap: number;
  /** All leases that had not expired at `time`, in no particular order. */
  leases: readonly Lease[];
}

/** Microseconds until `points` (> 0) more are earned: the smallest whole number that is enough. */
function timeToEarn(account: LeaseAccount, points: number): number {
  // Whole seconds first, so that the product stays below rate * 1e6 < 2^53 however many points it is.
  const seconds = Math.floor(points / account.rate);
  const rest = points - seconds * account.rate;
  return seconds * SECOND + Math.ceil((rest * SECOND - account.remainder) / account.rate);
}

/** Grows the balance of `account` in place, up to the instant `until`, towards `cap - out`. */
function accrue(account: LeaseAccount, until: number): void {
  const missing = account.cap - account.out - account.balance;
  const elapsed = until - account.time;
  account.time = until;
  if (missing <= 0) {
    account.remainder = 0;
  } else if (elapsed >= timeToEarn(account, missing)) {
    account.balance += missing;
    account.remainder = 0;
  } else {
    const seconds = Math.floor(elapsed / SECOND);
    const fraction = (elapsed - seconds * SECOND) * account.rate + account.remainder;
    const extra = Math.floor(fraction / SECOND);
    account.balance += seconds * account.rate + extra;
    account.remainder = fraction - extra * SECOND;
  }
}

function byExpiry(leases: readonly Lease[]): Lease[] {
  return leases.toSorted((a, b) => a.expires - b.expires);
}

/** An account nobody has used: full, nothing lent. */
export function fullAccount(rate: number, cap: number, now: number): LeaseAccount {
  return { balance: cap, out: 0, time: now, remainder: 0, rate, cap, leases: [] };
}

/**
 * The account as it is at `now`: expired leases forfeited, the balance grown.
 *
 * Each expired lease gives back the room it held at its own expiry, not at `now`: a crashed server
 * must not cost the user the points earned since. A `now` before the last write counts as that write.
 */
export function advance(account: LeaseAccount, now: number): LeaseAccount {
  const time = Math.max(now, account.time);
  const moved = { ...account, leases: account.leases.filter((lease) => lease.expires > time) };
  for (const lease of byExpiry(account.leases.filter((held) => held.expires <= time))) {
    accrue(moved, lease.expires);
    moved.out -= lease.points;
  }
  accrue(moved, time);
  return moved;
}

/** Instant at which the balance reaches `need` with the leases as they are now; Infinity when it can't. */
function reachesWithLeases(account: LeaseAccount, need: number): number {
  if (account.balance >= need) return account.time;
  if (need > account.cap - account.out) return Infinity;
  return account.time + timeToEarn(account, need - account.balance);
}

/**
 * First instant at which the balance reaches `need` if nothing happens but leases expiring, microseconds.
 *
 * The purse `id` that asks has to do without the points of its own lease once that has expired: they are
 * then added to the need. Infinity when `need`, with them, is above the cap.
 */
export function balanceReaches(account: LeaseAccount, need: number, id?: string): number {
  const ahead = { ...account };
  let missing = need;
  for (const lease of byExpiry(account.leases)) {
    const reached = reachesWithLeases(ahead, missing);
    if (reached < lease.expires) return reached;
    accrue(ahead, lease.expires);
    ahead.out -= lease.points;
    if (lease.id === id) missing += lease.points;
  }
  return reachesWithLeases(ahead, missing);
}

/**
 * Instant from which a store may drop the account, microseconds: from then on it equals an absent one.
 *
 * Dropping it any earlier would make the user a full balance while purses still hold points.
 */
export function fullAt(account: LeaseAccount): number {
  const lastExpiry = account.leases.reduce((latest, lease) => Math.max(latest, lease.expires), account.time);
  return Math.max(lastExpiry, balanceReaches(account, account.cap));
}

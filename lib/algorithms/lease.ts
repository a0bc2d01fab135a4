// One call of a purse to the account it borrows from: settle what was spent, withdraw, extend or give back the lease.
import { advance, balanceReaches, fullAccount, type Lease, type LeaseAccount } from './lease-account.js';

/** Shortest life of a lease after a call, microseconds. */
export const SHORTEST_LEASE = 5_000_000;

/** Longest life of a lease after a call, microseconds: nothing idle outlives two minutes. */
export const LONGEST_LEASE = 120_000_000;

/** What a purse asks. Whole numbers; points in thousandths. */
export interface LeaseRequest {
  /** The purse: unique per user and server start, and a new one after each release. */
  readonly id: string;
  /** Number of this call, counted up by the purse. A retry after a lost reply repeats it with the same request. */
  readonly seq: number;
  /** What the purse still holds; negative is debt. */
  readonly remaining: number;
  /** What it must get beyond `remaining`, >= 0; less is a refusal. 0 only settles and tops up. */
  readonly need: number;
  /** What it would like to get, >= 0: the expected spending of half a minute. A tenth of the balance at least. */
  readonly want: number;
  /** Accrual of the user's tier from now on, thousandths of a point per second, 1 to 9e9. */
  readonly rate: number;
  /** Most the user may hold over all servers from now on, thousandths of a point, 1 to 4e12. */
  readonly cap: number;
  /** Gives everything back and ends the lease; `need` and `want` are ignored. */
  readonly release: boolean;
}

/** The answer. The purse changes by `kept - remaining + granted`. */
export interface LeaseReply {
  /** What the purse gets, thousandths of a point; below `need` means refused, and then it is 0. */
  readonly granted: number;
  /** What the purse may keep of `remaining`; less only where it reported more than was lent and that does not fit. */
  readonly kept: number;
  /** Life left to the lease, microseconds from the store's now; 0 after a release. */
  readonly lifetime: number;
  /** Wait until the need can be had, microseconds; 0 when it was had, null when it never can. */
  readonly retryAfter: number | null;
  /** The balance after the call, thousandths of a point; negative is debt. */
  readonly balance: number;
  /** How many other leases hold points. */
  readonly others: number;
  /** What this call found lost, thousandths: expired leases, a lowered cap, a release that did not fit. */
  readonly forfeited: number;
  /** The call had been applied before and changed nothing now. */
  readonly replayed: boolean;
}

/** Longest from half a balance up; shorter below, so that points idle in purses come back when missed. */
function lifetimeFor(account: LeaseAccount): number {
  // Per mille of half the cap: a product of balance and microseconds would not fit.
  const share = Math.min(1000, Math.floor((Math.max(0, account.balance) * 2000) / account.cap));
  return Math.max(SHORTEST_LEASE, share * (LONGEST_LEASE / 1000));
}

/** At least the need, else what was wanted, but no more than a quarter of the balance or a fair share of all. */
function grantFor(account: LeaseAccount, request: LeaseRequest, kept: number, others: number): number {
  const fairShare = Math.floor((account.balance + account.out) / (others + 1)) - kept;
  const wanted = Math.max(request.want, Math.floor(account.balance / 10));
  const buffer = Math.min(wanted, Math.floor(account.balance / 4), fairShare);
  return Math.max(0, Math.min(account.balance, Math.max(request.need, buffer)));
}

function holders(leases: readonly Lease[]): number {
  return leases.filter((one) => one.points > 0).length;
}

/** Puts rate and cap in force. A lowered cap clips at once; points still lent out count as unspent. */
function applyTier(account: LeaseAccount, request: LeaseRequest): void {
  account.rate = request.rate;
  account.cap = request.cap;
  account.balance = Math.min(account.balance, Math.max(0, account.cap - account.out));
}

/** Books what the purse reports and returns what it keeps; its lease counts `kept` in `out` afterwards. */
function settle(account: LeaseAccount, request: LeaseRequest, held: Lease | undefined): number {
  // Nothing is settled for a lease that is gone when it is released: a repeated release must be harmless.
  if (held === undefined && request.release) return 0;
  const lent = held === undefined ? 0 : held.points;
  const room = Math.max(0, account.cap - account.out - Math.max(0, account.balance));
  const kept = Math.min(Math.max(0, request.remaining), lent + room);
  account.out += kept - lent;
  const debt = Math.max(0, -request.remaining);
  account.balance = Math.max(-account.cap, account.balance - debt);
  return kept;
}

/** When the refused need can be had, if the lease lives as long as it may; null for never. */
function retryInstant(account: LeaseAccount, request: LeaseRequest, own: Lease): number | null {
  if (own.points + request.need > account.cap) return null;
  return balanceReaches({ ...account, leases: [...account.leases, own] }, request.need, request.id);
}

/** Withdraws for `request` and returns the lease the purse has from now on. */
function withdraw(
  account: LeaseAccount,
  request: LeaseRequest,
  kept: number,
  held: Lease | undefined,
): Lease {
  const oldExpiry = held === undefined ? 0 : held.expires;
  // Above a lowered cap nothing is extended: else points of the old tier could be carried along for ever.
  const fits = account.out <= account.cap || kept === 0;
  const latest = fits ? Math.max(oldExpiry, account.time + LONGEST_LEASE) : oldExpiry;
  let granted = 0;
  let retryAt: number | null = 0;
  if (request.need === 0 || account.balance >= request.need) {
    granted = grantFor(account, request, kept, holders(account.leases));
    account.balance -= granted;
    account.out += granted;
  } else {
    const own = { id: request.id, seq: request.seq, points: kept, granted, retryAt, expires: latest };
    retryAt = retryInstant(account, request, own);
  }
  let expires = account.time + lifetimeFor(account);
  // A purse told to wait keeps what it has until then: the wait was computed with it.
  if (retryAt !== null && retryAt > 0) expires = Math.max(expires, retryAt + SHORTEST_LEASE);
  expires = Math.max(oldExpiry, Math.min(expires, latest));
  return { id: request.id, seq: request.seq, points: kept + granted, granted, retryAt, expires };
}

function replyFor(account: LeaseAccount, own: Lease, forfeited: number, replayed: boolean): LeaseReply {
  return {
    granted: own.granted,
    kept: own.points - own.granted,
    lifetime: own.expires - account.time,
    retryAfter: own.retryAt === null ? null : Math.max(0, own.retryAt - account.time),
    balance: account.balance,
    others: holders(account.leases.filter((one) => one.id !== own.id)),
    forfeited,
    replayed,
  };
}

/**
 * The lease call: what becomes of `account` when a purse sends `request` at `now`, and the answer.
 *
 * At any time `balance + out` is at most the largest cap of the last 120 s and `out` covers what all purses hold,
 * so over any time T and any number of servers a user spends at most `cap + rate * T`, plus debt.
 * `undefined` is a full account. `now` is the store's clock in microseconds; a step back counts as no time.
 * The arguments are not changed. A replay returns the very account it was given.
 */
export function lease(
  account: LeaseAccount | undefined,
  request: LeaseRequest,
  now: number,
): { account: LeaseAccount; reply: LeaseReply } {
  const before = account === undefined ? fullAccount(request.rate, request.cap, now) : account;
  const after = advance(before, now);
  const held = after.leases.find((known) => known.id === request.id);
  if (held !== undefined && request.seq <= held.seq) {
    return { account: before, reply: replyFor(after, held, 0, true) };
  }

  let forfeited = before.out - after.out;
  const unclipped = Math.max(0, after.balance);
  applyTier(after, request);
  forfeited += unclipped - Math.max(0, after.balance);

  after.leases = after.leases.filter((known) => known.id !== request.id);
  const kept = settle(after, request, held);

  if (request.release) {
    after.out -= kept;
    const back = Math.min(kept, Math.max(0, after.cap - after.out - after.balance));
    after.balance += back;
    const gone = { id: request.id, seq: request.seq, points: 0, granted: 0, retryAt: 0, expires: after.time };
    return { account: after, reply: replyFor(after, gone, forfeited + kept - back, false) };
  }

  const own = withdraw(after, request, kept, held);
  const reply = replyFor(after, own, forfeited, false);
  after.leases = [...after.leases, own];
  return { account: after, reply };
}

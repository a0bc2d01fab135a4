import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advance, fullAccount, type LeaseAccount } from '../../lib/algorithms/lease-account.js';
import {
  lease,
  LONGEST_LEASE,
  SHORTEST_LEASE,
  type LeaseReply,
  type LeaseRequest,
} from '../../lib/algorithms/lease.js';

const SECOND = 1_000_000;
const POINT = 1000;
const CAP = 120 * POINT;

/** A first call of purse `a` at 1 point a second and cap 120, unless said otherwise. */
function request(change: Partial<LeaseRequest>): LeaseRequest {
  return {
    id: 'a',
    seq: 1,
    remaining: 0,
    need: 0,
    want: 0,
    rate: POINT,
    cap: CAP,
    release: false,
    ...change,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** An account holding `balance` and no leases at instant 0. */
function accountWith(balance: number): LeaseAccount {
  return { ...fullAccount(POINT, CAP, 0), balance };
}

describe('lease: cases', () => {
  it('N01 ten servers withdraw from one balance, and all of them together can spend exactly the cap', () => {
    let account: LeaseAccount | undefined;
    const granted: number[] = [];
    for (let server = 0; server < 10; server++) {
      const call = lease(account, request({ id: `server-${server}`, need: POINT }), 0);
      account = call.account;
      granted.push(call.reply.granted);
      expect(account.balance + sum(granted)).toBe(CAP);
    }
    expect(granted.slice(0, 5)).toEqual([12_000, 10_800, 9_720, 8_748, 7_873]);

    // Everybody takes what is left, and then nothing is left for anybody.
    for (let turn = 0; turn < 400; turn++) {
      const server = turn % 10;
      const held = granted[server] ?? 0;
      const call = lease(
        account,
        request({ id: `server-${server}`, seq: 2 + turn, remaining: held, need: 1 }),
        0,
      );
      account = call.account;
      granted[server] = held + call.reply.granted;
    }
    expect({ balance: account?.balance, purses: sum(granted) }).toEqual({ balance: 0, purses: CAP });
  });

  it('N02 points idle in a purse count under the cap, and are gone after two minutes', () => {
    const first = lease(undefined, request({ need: POINT }), 0);
    expect(first.reply.granted).toBe(12 * POINT);
    const later = advance(first.account, 119 * SECOND);
    expect(later.balance + later.out).toBe(CAP);

    // Pruned: the 12 are lost, and what was earned since the lease expired is there.
    expect(advance(first.account, 121 * SECOND)).toMatchObject({ balance: 109 * POINT, out: 0, leases: [] });
    // Refunded in time: nothing is lost. In neither case can more than the cap be had.
    const back = request({ seq: 2, remaining: 12 * POINT, release: true });
    const refunded = lease(first.account, back, 60 * SECOND).account;
    for (const account of [first.account, refunded]) {
      const all = request({ id: 'b', need: CAP });
      expect(lease(account, { ...all, need: CAP + 1 }, 121 * SECOND).reply.granted).toBe(0);
      expect(lease(account, all, 240 * SECOND).reply).toMatchObject({ granted: CAP, balance: 0 });
    }
    expect(advance(refunded, 60 * SECOND)).toMatchObject({ balance: CAP, out: 0 });
  });

  it('N02 a purse that reports its points after they expired keeps only what fits under the cap', () => {
    const first = lease(undefined, request({ need: POINT }), 0);
    const late = lease(first.account, request({ seq: 2, remaining: 12 * POINT }), 200 * SECOND);
    expect(late.reply.kept).toBe(0);
    expect(late.account.balance + late.account.out).toBe(CAP);
  });

  it('N03 a withdrawal is at least what is missing', () => {
    const enough = lease(accountWith(20 * POINT), request({ need: 5 * POINT }), 0);
    expect(enough.reply.granted).toBeGreaterThanOrEqual(5 * POINT);
    expect(enough.account.balance).toBeLessThanOrEqual(15 * POINT);
    expect(enough.account.balance + enough.reply.granted - 5 * POINT).toBe(15 * POINT);
  });

  it('N03 a balance below the need is left alone, and the wait is what the rest takes to accrue', () => {
    const short = lease(accountWith(4 * POINT), request({ need: 5 * POINT }), 0);
    expect(short.reply).toMatchObject({ granted: 0, retryAfter: SECOND, balance: 4 * POINT });
  });

  it('N03 fragments in ten purses may refuse a larger need, but come back within two minutes', () => {
    let account = accountWith(0);
    account.out = 12 * POINT;
    account.leases = Array.from({ length: 10 }, (_, server) => ({
      id: `server-${server}`,
      seq: 1,
      points: 1200,
      granted: 1200,
      retryAt: 0,
      expires: SHORTEST_LEASE,
    }));
    const refused = lease(account, request({ id: 'server-0', seq: 2, remaining: 1200, need: 3800 }), 0);
    expect(refused.reply).toMatchObject({ granted: 0, retryAfter: 3_800_000 });
    account = refused.account;
    for (let server = 1; server < 10; server++) {
      const back = request({ id: `server-${server}`, seq: 2, remaining: 1200, release: true });
      account = lease(account, back, SECOND).account;
    }
    expect(account.balance).toBe(POINT + 9 * 1200);
    expect(advance(account, 120 * SECOND).balance).toBe(CAP);
  });

  it('N05 a refund stops at the cap', () => {
    const account = accountWith(118 * POINT);
    const refunded = lease(account, request({ remaining: 12 * POINT }), 0);
    expect(refunded.reply.kept).toBe(2 * POINT);
    const released = lease(
      refunded.account,
      request({ seq: 2, remaining: refunded.reply.kept + refunded.reply.granted, release: true }),
      0,
    );
    expect(released.account).toMatchObject({ balance: CAP, out: 0, leases: [] });
  });

  it('N05 a raised rate raises the cap but not the balance; a lowered one clips it', () => {
    const raised = lease(
      accountWith(CAP),
      request({ rate: 5 * POINT, cap: 600 * POINT, release: true }),
      50 * SECOND,
    );
    expect(raised.account.balance).toBe(CAP);
    expect(advance(raised.account, 60 * SECOND).balance).toBe(170 * POINT);
    const lowered = lease(raised.account, request({ release: true }), 100 * SECOND);
    expect(lowered.account.balance).toBe(CAP);
    expect(lowered.reply.forfeited).toBe(250 * POINT);
  });
});

describe('lease: rules', () => {
  it('clips a lowered cap at once, with everything lent out counted as unspent', () => {
    const big = { rate: 5 * POINT, cap: 600 * POINT };
    const first = lease(undefined, request({ ...big, need: 100 * POINT }), 0);
    const second = lease(first.account, request({ seq: 2, remaining: 10 * POINT }), 0);
    expect(second.account.balance).toBeLessThanOrEqual(20 * POINT);
  });

  it('does not extend a purse that holds more than a lowered cap', () => {
    const big = { rate: 5 * POINT, cap: 600 * POINT };
    const first = lease(undefined, request({ ...big, need: 300 * POINT }), 0);
    const second = lease(first.account, request({ seq: 2, remaining: 300 * POINT }), 30 * SECOND);
    expect(second.reply).toMatchObject({ kept: 300 * POINT, granted: 0 });
    expect(second.reply.lifetime).toBe(first.reply.lifetime - 30 * SECOND);
    const end = first.reply.lifetime;
    const third = lease(second.account, request({ seq: 3, remaining: 50 * POINT }), end - SECOND);
    expect(third.reply.lifetime).toBe(SHORTEST_LEASE);
  });

  it('lets points above a lowered cap run out, however often their purse calls', () => {
    const big = { rate: 5 * POINT, cap: 600 * POINT };
    let { account, reply } = lease(undefined, request({ ...big, need: 300 * POINT }), 0);
    const end = reply.lifetime;
    for (let seq = 2; seq * 4 * SECOND < end; seq++) {
      const call = request({ seq, remaining: 300 * POINT, need: seq % 2 });
      ({ account, reply } = lease(account, call, seq * 4 * SECOND));
      expect(seq * 4 * SECOND + reply.lifetime).toBe(end);
    }
    expect(advance(account, end)).toMatchObject({ out: 0, leases: [] });
  });

  it('takes back from a release no more than fits under a lowered cap', () => {
    const big = { rate: 5 * POINT, cap: 600 * POINT };
    const first = lease(undefined, request({ ...big, need: 200 * POINT }), 0);
    const second = lease(first.account, request({ ...big, id: 'b', need: 100 * POINT }), 0);
    const back = lease(second.account, request({ seq: 2, remaining: 200 * POINT, release: true }), 0);
    expect(back.account).toMatchObject({ balance: 20 * POINT, out: 100 * POINT });
    expect(back.reply.forfeited).toBe(300 * POINT + 180 * POINT);
  });

  it('grants what is wanted up to a quarter of the balance', () => {
    expect(lease(undefined, request({ want: 20 * POINT }), 0).reply.granted).toBe(20 * POINT);
    expect(lease(undefined, request({ want: CAP }), 0).reply.granted).toBe(30 * POINT);
    expect(lease(undefined, request({ want: CAP, need: 50 * POINT }), 0).reply.granted).toBe(50 * POINT);
  });

  it('grants beyond the need no more than a fair share of all points', () => {
    let account: LeaseAccount | undefined;
    for (const [id, need] of Object.entries({ a: 40 * POINT, b: 20 * POINT, c: 20 * POINT })) {
      account = lease(account, request({ id, need }), 0).account;
    }
    // 120 points among three are 40 each, and a quarter of the balance is 10.
    const ask = request({ seq: 2, remaining: 40 * POINT, want: CAP });
    expect(lease(account, ask, 0).reply.granted).toBe(0);
    expect(lease(account, { ...ask, need: POINT }, 0).reply.granted).toBe(POINT);
    expect(lease(account, { ...ask, remaining: 34 * POINT }, 0).reply.granted).toBe(4 * POINT);
    expect(lease(account, { ...ask, id: 'c', remaining: 20 * POINT }, 0).reply.granted).toBe(10 * POINT);
  });

  it('never grants more than the cap, counting what the purse holds', () => {
    expect(lease(undefined, request({ need: CAP + 1 }), 0).reply.retryAfter).toBeNull();
    const first = lease(undefined, request({ need: 30 * POINT }), 0);
    const kept = 30 * POINT;
    const never = lease(first.account, request({ seq: 2, remaining: kept, need: 91 * POINT }), 0);
    expect(never.reply).toMatchObject({ granted: 0, kept, retryAfter: null });
    const replay = lease(never.account, request({ seq: 2, remaining: kept, need: 91 * POINT }), SECOND);
    expect(replay.reply).toMatchObject({ granted: 0, kept, retryAfter: null, replayed: true });
  });

  it('takes debt from the balance, down to minus the cap', () => {
    const first = lease(undefined, request({ need: 10 * POINT }), 0);
    const settled = lease(first.account, request({ seq: 2, remaining: -30 * POINT }), 0);
    expect(settled.account.balance + settled.account.out).toBe(CAP - first.reply.granted - 30 * POINT);
    const ruined = lease(settled.account, request({ seq: 3, remaining: -1000 * POINT, need: POINT }), 0);
    expect(ruined.account.balance).toBe(-CAP);
    expect(ruined.reply.retryAfter).toBe(121 * SECOND);
  });

  it('forgives debt below minus a lowered cap', () => {
    const big = { rate: 5 * POINT, cap: 600 * POINT };
    const indebted = lease(accountWith(0), request({ ...big, remaining: -500 * POINT }), 0);
    expect(indebted.account.balance).toBe(-500 * POINT);
    const lowered = lease(indebted.account, request({ seq: 2, need: POINT }), 0);
    expect(lowered.account.balance).toBe(-CAP);
  });

  it('waits for leases that block the room the need would take', () => {
    const crashed = lease(undefined, request({ id: 'dead', need: 100 * POINT }), 0);
    const left = crashed.reply.lifetime;
    const asked = lease(crashed.account, request({ need: 30 * POINT }), 0);
    // 20 are there and all the account may hold until the lease of the dead server ends; then 10 more accrue.
    expect(asked.reply).toMatchObject({ granted: 0, retryAfter: left + 10 * SECOND, others: 1 });
  });

  it('lets a refused purse keep its points until the end of the wait', () => {
    const first = lease(accountWith(3 * POINT), request({ need: 3 * POINT }), 0);
    const asked = lease(first.account, request({ seq: 2, remaining: 3 * POINT, need: 40 * POINT }), 0);
    expect(asked.reply.retryAfter).toBe(40 * SECOND);
    expect(asked.reply.lifetime).toBe(45 * SECOND);
  });

  it('gives a released purse back once, however often the release is sent', () => {
    const first = lease(undefined, request({ need: 100 * POINT }), 0);
    const back = request({ seq: 2, remaining: 60 * POINT, release: true });
    const once = lease(first.account, back, SECOND);
    expect(once.account).toMatchObject({ balance: 80 * POINT, out: 0, leases: [] });
    const twice = lease(once.account, back, SECOND);
    expect(twice.account).toEqual(once.account);
    const indebted = lease(once.account, request({ seq: 3, remaining: -POINT, release: true }), SECOND);
    expect(indebted.account).toEqual(once.account);
  });

  it('lives longest on half a balance or more and shortest on an empty one', () => {
    expect(lease(undefined, request({}), 0).reply.lifetime).toBe(LONGEST_LEASE);
    expect(lease(accountWith(31 * POINT), request({ need: POINT }), 0).reply).toMatchObject({
      balance: 27_900,
      lifetime: 0.465 * LONGEST_LEASE,
    });
    expect(lease(accountWith(POINT), request({ need: POINT }), 0).reply.lifetime).toBe(SHORTEST_LEASE);
  });

  it('counts a store clock that stepped back as no time', () => {
    const first = lease(accountWith(0), request({ need: POINT }), 100 * SECOND);
    expect(first.account).toMatchObject({ balance: 90 * POINT, out: 10 * POINT });
    const back = lease(first.account, request({ id: 'b', need: CAP }), 10 * SECOND);
    expect(back.account).toMatchObject({ time: 100 * SECOND, balance: 90 * POINT, out: 10 * POINT });
  });
});

/** One server of the simulation: its purse, the call without an answer, and what it spent since its last call. */
class Server {
  id = '';
  seq = 0;
  points = 0;
  deadline = 0;
  unreported = 0;
  pending: LeaseRequest | null = null;

  constructor(private readonly name: string) {
    this.restart(0);
  }

  /** A new purse, as after a crash, a release or a missed deadline. Debt is remembered only by a living server. */
  restart(generation: number, debt = 0): void {
    this.id = `${this.name}-${generation}`;
    this.seq = 0;
    this.points = Math.min(0, debt);
    this.unreported = Math.max(0, -debt);
    this.deadline = 0;
    this.pending = null;
  }
}

const SERVERS = 4;
type Fate = 'arrives' | 'request lost' | 'reply lost';
const fates = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Fate>('arrives') },
  { weight: 1, arbitrary: fc.constant<Fate>('request lost') },
  { weight: 1, arbitrary: fc.constant<Fate>('reply lost') },
);
const servers = fc.integer({ min: 0, max: SERVERS - 1 });
/** Shares are per mille of the cap, so that one sequence fits every cap. */
const shares = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 1100 }));
const steps = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('spend'), server: servers, share: shares }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('call'),
      server: servers,
      share: shares,
      want: shares,
      fate: fates,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait'),
      server: servers,
      time: fc.oneof(
        fc.integer({ min: 1, max: SECOND }),
        fc.integer({ min: 1, max: 12 * SECOND }),
        fc.integer({ min: 1, max: 150 * SECOND }),
        fc.integer({ min: -5 * SECOND, max: 0 }),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release'), server: servers, fate: fates }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash'), server: servers }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('tier'),
      server: servers,
      rate: fc.integer({ min: 1, max: 5000 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('overspend'), server: servers, share: shares }) },
);
interface Step {
  kind: string;
  server: number;
  share?: number;
  want?: number;
  fate?: Fate;
  time?: number;
  rate?: number;
}

/** A true token bucket in exact arithmetic, to which every point really spent is charged. */
class TrueBucket {
  private level: bigint;
  private time = 0n;

  constructor(
    private readonly rate: bigint,
    private readonly cap: bigint,
  ) {
    this.level = cap * 1_000_000n;
  }

  spend(points: number, now: number): void {
    const full = this.cap * 1_000_000n;
    const grown = this.level + this.rate * (BigInt(now) - this.time);
    this.time = BigInt(now);
    this.level = (grown < full ? grown : full) - BigInt(points) * 1_000_000n;
    expect(this.level).toBeGreaterThanOrEqual(0n);
  }
}

/** Servers that spend from purses over one account, with everything that may go wrong; every law after every step. */
class Simulation {
  account: LeaseAccount | undefined;
  now: number;
  time: number;
  cap: number;
  calls = 0;
  private readonly servers = Array.from({ length: SERVERS }, (_, index) => new Server(`server-${index}`));
  private generation = 0;
  private readonly caps: { since: number; cap: number }[] = [];
  /** The ledger, thousandths: what came into being and where it went, as told by calls and checked against b + out. */
  private minted = 0;
  private reported = 0;
  private forfeited = 0;

  constructor(
    public rate: number,
    private readonly bucket: TrueBucket | null,
  ) {
    this.cap = rate * 120;
    this.now = 0;
    this.time = 0;
  }

  step(step: Step): void {
    const server = this.servers[step.server];
    if (server === undefined) throw new Error('no such server');
    const points = Math.floor((this.cap * (step.share ?? 0)) / 1000);
    this.expire();
    if (step.kind === 'wait') this.wait(step.time ?? 0);
    if (step.kind === 'spend' && server.points >= points) this.spend(server, points);
    if (step.kind === 'overspend' && this.bucket === null && server.deadline > this.time)
      this.spend(server, points);
    if (step.kind === 'crash') server.restart(++this.generation);
    if (step.kind === 'tier' && this.bucket === null) {
      this.rate = step.rate ?? 1;
      this.cap = this.rate * 120;
    }
    if (step.kind === 'call') {
      const want = Math.floor((this.cap * (step.want ?? 0)) / 1000);
      this.call(
        server,
        { need: Math.max(0, points - Math.max(0, server.points)), want, release: false },
        step.fate,
      );
    }
    if (step.kind === 'release') this.call(server, { need: 0, want: 0, release: true }, step.fate);
    this.check();
  }

  /** The servers' clock only runs forward; the store's may step back. */
  private wait(time: number): void {
    this.now = Math.max(0, this.now + time);
    this.time += Math.max(0, time);
    this.expire();
  }

  /** A purse past its deadline is empty; whatever call was in flight is given up with it. */
  private expire(): void {
    for (const server of this.servers) {
      if (server.deadline === 0 || server.deadline > this.time) continue;
      server.restart(++this.generation, server.points);
    }
  }

  private spend(server: Server, points: number): void {
    this.bucket?.spend(points, this.time);
    server.points -= points;
    server.unreported += points;
  }

  private call(
    server: Server,
    ask: Pick<LeaseRequest, 'need' | 'want' | 'release'>,
    fate: Fate = 'arrives',
  ): void {
    let sent = server.pending;
    if (sent === null) {
      const { id, points: remaining } = server;
      sent = { id, seq: ++server.seq, remaining, rate: this.rate, cap: this.cap, ...ask };
      // The points of a release leave the purse before it is sent, and the next purse is another one.
      if (sent.release) server.restart(++this.generation);
      else server.unreported = 0;
    }
    if (!sent.release) server.pending = sent;
    if (fate === 'request lost') return;
    const reply = this.apply(sent);
    if (fate === 'reply lost' || sent.release) return;
    server.pending = null;
    server.points += reply.kept - sent.remaining + reply.granted;
    server.deadline = this.time + reply.lifetime;
  }

  private apply(sent: LeaseRequest): LeaseReply {
    const before = this.account ?? fullAccount(sent.rate, sent.cap, this.now);
    if (this.account === undefined) this.minted += before.balance;
    const copy = structuredClone(before);
    const walked = advance(before, this.now);
    const known = walked.leases.find((one) => one.id === sent.id);
    const { account, reply } = lease(this.account, sent, this.now);
    this.calls++;
    expect(before).toEqual(copy);
    this.account = account;

    if (reply.replayed) {
      expect(account).toBe(before);
      return reply;
    }
    // Replay at once and later: the same answer, nothing changes.
    for (const later of [this.now, this.now + Math.max(0, reply.lifetime - 1)]) {
      if (sent.release) continue;
      const again = lease(account, sent, later);
      expect(again.account).toBe(account);
      expect(again.reply).toMatchObject({ granted: reply.granted, kept: reply.kept, replayed: true });
      const passed = Math.max(later, account.time) - account.time;
      expect(again.reply.lifetime).toBe(reply.lifetime - passed);
      if (reply.retryAfter === null) expect(again.reply.retryAfter).toBeNull();
      else expect(again.reply.retryAfter).toBe(Math.max(0, reply.retryAfter - passed));
    }

    // Expiry: between the bounds and never earlier.
    const own = account.leases.find((one) => one.id === sent.id);
    expect(own === undefined).toBe(sent.release);
    if (own !== undefined) {
      expect(own.expires).toBeGreaterThanOrEqual(known?.expires ?? account.time + SHORTEST_LEASE);
      expect(own.expires).toBeLessThanOrEqual(Math.max(known?.expires ?? 0, account.time + LONGEST_LEASE));
      if (account.out <= account.cap) expect(reply.lifetime).toBeGreaterThanOrEqual(SHORTEST_LEASE);
    }

    // The ledger. What was earned is measured by `advance`, which has its own exact test.
    this.minted += walked.balance - before.balance;
    const ignored = known === undefined && sent.release;
    if (!ignored) this.reported += (known?.points ?? 0) - sent.remaining;
    expect(Math.max(0, sent.remaining)).toBeLessThanOrEqual(ignored ? Infinity : (known?.points ?? 0));
    // Debt below minus the cap is forgiven: points made out of nothing.
    const debt = ignored ? 0 : Math.max(0, -sent.remaining);
    const clipped = Math.min(walked.balance, Math.max(0, sent.cap - walked.out));
    if (!ignored) this.minted += Math.max(0, -sent.cap - (clipped - debt));
    this.forfeited += reply.forfeited;
    expect(this.minted).toBe(this.reported + this.forfeited + account.balance + account.out);

    this.checkWait(account, sent, reply);
    this.caps.push({ since: account.time, cap: sent.cap });
    return reply;
  }

  /** Exactly after the advertised wait the same spending can be had, a microsecond before it can't. */
  private checkWait(account: LeaseAccount, sent: LeaseRequest, reply: LeaseReply): void {
    if (sent.release) return;
    if (reply.retryAfter === null) {
      expect(reply.kept + sent.need).toBeGreaterThan(sent.cap);
      expect(reply.granted).toBe(0);
      return;
    }
    if (reply.retryAfter === 0) {
      expect(reply.granted).toBeGreaterThanOrEqual(sent.need);
      return;
    }
    expect(reply.granted).toBe(0);
    const askAfter = (wait: number): boolean => {
      const remaining = wait < reply.lifetime ? reply.kept : 0;
      const need = sent.need + reply.kept - remaining;
      const next = { ...sent, seq: sent.seq + 1, remaining, need };
      return lease(account, next, account.time + wait).reply.granted >= need;
    };
    expect(askAfter(reply.retryAfter)).toBe(true);
    expect(askAfter(reply.retryAfter - 1)).toBe(false);
  }

  private check(): void {
    if (this.account === undefined) return;
    const { balance, out, leases, time } = advance(this.account, this.now);
    expect(out).toBe(sum(leases.map((one) => one.points)));
    expect(leases.every((one) => one.points >= 0)).toBe(true);

    const inForce = this.caps.filter(
      (_, index) => (this.caps[index + 1]?.since ?? Infinity) > time - LONGEST_LEASE,
    );
    expect(balance + out).toBeLessThanOrEqual(Math.max(...inForce.map(({ cap }) => cap)));

    let held = 0;
    for (const server of this.servers) {
      if (server.deadline <= this.time) continue;
      held += Math.max(0, server.points);
      // With no call in flight the account knows exactly what the purse held at its last call.
      const known = leases.find((one) => one.id === server.id)?.points ?? 0;
      if (server.pending === null) expect(server.points + server.unreported).toBe(known);
    }
    expect(out).toBeGreaterThanOrEqual(held);
  }
}

describe('lease: laws', () => {
  it(
    'holds through lost requests, lost replies, crashes, releases, debt, clock steps and changes of tier',
    { timeout: 60_000 },
    () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 5000 }),
          fc.array(steps, { minLength: 20, maxLength: 150 }),
          (rate, list) => {
            const simulation = new Simulation(rate, null);
            for (const step of list) simulation.step(step);
          },
        ),
        { numRuns: 200 },
      );
    },
  );

  it('never lets the servers spend what one true bucket would have refused', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 9_000_000_000 })),
        fc.array(steps, { minLength: 20, maxLength: 150 }),
        (rate, list) => {
          const simulation = new Simulation(rate, new TrueBucket(BigInt(rate), BigInt(rate) * 120n));
          for (const step of list) simulation.step(step);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('lets purses keep no more than fits when the store has lost the account', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: CAP }), { maxLength: 6 }), (purses) => {
        let account: LeaseAccount | undefined;
        for (const [index, remaining] of purses.entries()) {
          account = lease(account, request({ id: `purse-${index}`, remaining, need: POINT }), index).account;
          expect(account.balance + account.out).toBeLessThanOrEqual(CAP);
        }
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { LeaseAccount } from '../../lib/algorithms/lease-account.js';
import { lease, type LeaseReply, type LeaseRequest } from '../../lib/algorithms/lease.js';

const SECOND = 1_000_000;
const POINT = 1000;

interface Scenario {
  name: string;
  /** Points a second; the cap is 120 times as much. */
  rate: number;
  servers: number;
  requestsPerSecond: number;
  seconds: number;
  /** Different streams of arrivals, of which the figures are the mean (the overdraft: the worst). */
  runs: number;
  /** Points a request costs. */
  cost: number;
  /** Most store calls per request, and least share of what one true bucket admits. */
  calls: number;
  admitted: number;
}

/** A repeatable stream of numbers in [0, 1), so that the printed figures are the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The store: one account and a count of the calls. */
class Store {
  calls = 0;
  private account: LeaseAccount | undefined;

  call(request: LeaseRequest, now: number): LeaseReply {
    this.calls++;
    const { account, reply } = lease(this.account, request, now);
    this.account = account;
    return reply;
  }
}

/** One server's purse, reduced to what decides how often it calls. Calls take no time. */
class Purse {
  private generation = 0;
  private seq = 0;
  private points = 0;
  private deadline = 0;
  private lifetime = 0;
  private used = 0;
  private filled = 0;
  private balance = 0;
  private spending = 0;
  private refusedNeed = Infinity;
  private refusedUntil = 0;

  constructor(
    private readonly store: Store,
    private readonly name: string,
    private readonly rate: number,
    private readonly jitter: () => number,
  ) {}

  spend(cost: number, now: number): boolean {
    if (now >= this.deadline) this.renew();
    this.spending = this.spending * Math.exp((this.used - now) / (10 * SECOND)) + cost;
    this.used = now;
    const need = cost - this.points;
    if (need > 0 && !this.withdraw(need, now)) return false;
    this.points -= cost;
    // Reported in the background: what is spent and not reported keeps the balance from growing.
    const fiveSeconds = this.spending / 2;
    if (this.points < Math.min(fiveSeconds, this.filled / 2) && this.balance > this.rate * 12) {
      this.receive(this.call(0, now, false), now);
    }
    return true;
  }

  /** When the purse must call by itself: unused for half its life, or about to expire with points in it. */
  dueAt(): number {
    if (this.points === 0 || this.deadline === 0) return Infinity;
    return Math.min(this.used + this.lifetime / 2, this.deadline - SECOND / 2);
  }

  /** What lay idle goes back, and the next purse is a new one; what is in use is extended. */
  due(now: number): void {
    const idle = now >= this.used + this.lifetime / 2;
    const reply = this.call(0, now, idle);
    if (idle) this.renew();
    else this.receive(reply, now);
  }

  private renew(): void {
    this.generation++;
    this.seq = 0;
    this.points = 0;
    this.deadline = 0;
  }

  private withdraw(need: number, now: number): boolean {
    if (now < this.refusedUntil && need >= this.refusedNeed) return false;
    const reply = this.call(need, now, false);
    this.receive(reply, now);
    if (reply.granted >= need) return true;
    this.refusedNeed = need;
    // The client is told whole seconds; the server may ask again at any instant from the true wait to that.
    const wait = Math.min(reply.retryAfter ?? SECOND, SECOND);
    this.refusedUntil = now + wait + Math.floor((SECOND - wait) * this.jitter());
    return false;
  }

  private receive(reply: LeaseReply, now: number): void {
    this.points += reply.granted;
    this.filled = this.points;
    this.balance = reply.balance;
    this.lifetime = reply.lifetime;
    this.deadline = now + reply.lifetime;
  }

  private call(need: number, now: number, release: boolean): LeaseReply {
    const request = {
      id: `${this.name}-${this.generation}`,
      seq: ++this.seq,
      remaining: this.points,
      need,
      want: Math.floor(this.spending * 3),
      rate: this.rate,
      cap: this.rate * 120,
      release,
    };
    return this.store.call(request, now);
  }
}

/** One true token bucket, fractional points; may be overdrawn by what others admitted. */
class TrueBucket {
  private time = 0;
  private level: number;
  lowest = Infinity;

  constructor(private readonly rate: number) {
    this.level = rate * 120;
  }

  at(now: number): number {
    this.level = Math.min(this.rate * 120, this.level + ((now - this.time) * this.rate) / SECOND);
    this.time = now;
    return this.level;
  }

  spend(cost: number, now: number): void {
    this.level = this.at(now) - cost;
    this.lowest = Math.min(this.lowest, this.level);
  }
}

function run(scenario: Scenario, seed: number) {
  const random = randomNumbers(seed);
  const rate = scenario.rate * POINT;
  const cost = scenario.cost * POINT;
  const store = new Store();
  const purses = Array.from(
    { length: scenario.servers },
    (_, server) => new Purse(store, `server-${server}`, rate, random),
  );
  const ideal = new TrueBucket(rate);
  const charged = new TrueBucket(rate);
  let [requests, idealAdmitted, admitted] = [0, 0, 0];
  let arrival = 0;
  for (;;) {
    arrival += (-Math.log(1 - random()) / scenario.requestsPerSecond) * SECOND;
    const now = Math.floor(arrival);
    if (now >= scenario.seconds * SECOND) break;
    requests++;
    for (;;) {
      const next = purses.reduce((first, purse) => (purse.dueAt() < first.dueAt() ? purse : first));
      if (next.dueAt() > now) break;
      next.due(Math.ceil(next.dueAt()));
    }
    if (ideal.at(now) >= cost) {
      ideal.spend(cost, now);
      idealAdmitted++;
    }
    if (purses[Math.floor(random() * purses.length)]?.spend(cost, now)) {
      charged.spend(cost, now);
      admitted++;
    }
  }
  return {
    calls: store.calls / requests,
    admitted: admitted / idealAdmitted,
    overdraft: Math.max(0, -charged.lowest) / POINT,
  };
}

function measure(scenario: Scenario) {
  const runs = Array.from({ length: scenario.runs }, (_, index) => run(scenario, index + 1));
  const mean = (figures: number[]) => figures.reduce((total, one) => total + one, 0) / figures.length;
  return {
    'calls per request': Number(mean(runs.map(({ calls }) => calls)).toFixed(4)),
    'admitted of ideal': Number(mean(runs.map(({ admitted }) => admitted)).toFixed(4)),
    overdraft: Math.max(...runs.map(({ overdraft }) => overdraft)),
  };
}

const scenarios: Scenario[] = [
  {
    name: 'steady 0.5 r, 3 servers',
    rate: 1,
    servers: 3,
    requestsPerSecond: 0.5,
    seconds: 3600,
    runs: 12,
    cost: 1,
    calls: 0.12,
    admitted: 0.99,
  },
  {
    name: 'steady 1.0 r, 3 servers',
    rate: 1,
    servers: 3,
    requestsPerSecond: 1,
    seconds: 3600,
    runs: 12,
    cost: 1,
    calls: 0.25,
    admitted: 0.99,
  },
  {
    name: 'abuse 50 r, 3 servers',
    rate: 1,
    servers: 3,
    requestsPerSecond: 50,
    seconds: 300,
    runs: 1,
    cost: 1,
    calls: 0.09,
    admitted: 0.99,
  },
  {
    name: 'abuse 50 r, 8 servers, cost 5',
    rate: 1,
    servers: 8,
    requestsPerSecond: 50,
    seconds: 300,
    runs: 1,
    cost: 5,
    calls: 0.17,
    admitted: 0.98,
  },
  {
    name: '500/s at r = 100, 4 servers',
    rate: 100,
    servers: 4,
    requestsPerSecond: 500,
    seconds: 200,
    runs: 1,
    cost: 1,
    calls: 0.15,
    admitted: 0.98,
  },
  {
    name: '90/s at r = 100, 4 servers',
    rate: 100,
    servers: 4,
    requestsPerSecond: 90,
    seconds: 200,
    runs: 1,
    cost: 1,
    calls: 0.003,
    admitted: 0.99,
  },
];

describe('lease: against one true bucket', () => {
  it('admits nearly as much, overdraws nothing and calls the store rarely', () => {
    const measured = Object.fromEntries(scenarios.map((scenario) => [scenario.name, measure(scenario)]));
    console.table(measured);
    for (const scenario of scenarios) {
      const figures = measured[scenario.name];
      expect(figures?.overdraft, scenario.name).toBeLessThan(0.01);
      expect(figures?.['calls per request'], scenario.name).toBeLessThanOrEqual(scenario.calls);
      expect(figures?.['admitted of ideal'], scenario.name).toBeGreaterThanOrEqual(scenario.admitted);
    }
  });
});

import { array, assert, constantFrom, nat, property, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decisionOf, type Decision } from '../../lib/algorithms/decision.js';
import { allAllowed, tightest, type Verdict } from '../../lib/algorithms/verdict.js';
import type { RateLimitEvent } from '../../lib/events/event.js';
import { Limiter } from '../../lib/limiter/limiter.js';
import { ApiPolicies } from '../../lib/policies/api.js';
import { ApiRates, type ApiLimitNumbers } from '../../lib/policies/api-rates.js';
import { ResponseHeaders } from '../../lib/responses/headers.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import type { MaybePromise } from '../../lib/stores/store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';

const NETWORK = '203.0.113.7';

function setup(numbers: ApiLimitNumbers = {}, settings: () => unknown = () => ({})) {
  const clock = new FakeClock(new Date('2026-03-01T12:00:20Z'));
  const store = new MemoryStore({ clock });
  const events: RateLimitEvent[] = [];
  const limiter = new Limiter(store, 100);
  const buckets = new ApiPolicies(new ApiRates(numbers, settings, (event) => events.push(event)));
  const api = {
    consumeKey: (id: string, cost: number) => limiter.consume([buckets.ofKey(id, cost)]),
    consumeUser: (id: string, cost: number) => limiter.consume([buckets.ofUser(id, cost)]),
    consumePublic: (network: string, token: string | null, cost: number, networkCost: number) =>
      limiter.consume(buckets.ofPublic(network, token, cost, networkCost)),
    consumeNewRow: (network: string) => limiter.consume(buckets.ofNewRow(network)),
    peekFailures: (network: string) => limiter.peek([buckets.ofFailure(network)]),
    consumeFailure: (network: string) => limiter.consume([buckets.ofFailure(network)]),
  };
  return { clock, store, api, events };
}

function now(verdicts: MaybePromise<Verdict[]>): Verdict[] {
  if (verdicts instanceof Promise) throw new Error('memory answers at once');
  return verdicts;
}

function told(verdicts: MaybePromise<Verdict[]>): Decision {
  return decisionOf(tightest(now(verdicts)), {});
}

function passes(verdicts: MaybePromise<Verdict[]>): boolean {
  return allAllowed(now(verdicts));
}

describe('the machine API', () => {
  it('SA-04 SA-08 SA-26 charges a key in cost units, in minutes of the wall clock', () => {
    const { api, clock } = setup({ adminRatePerMin: 10 });
    expect(told(api.consumeKey('k1', 7))).toMatchObject({
      allowed: true,
      limit: 10,
      remaining: 3,
      resetAfter: 40,
    });
    expect(told(api.consumeKey('k1', 5))).toMatchObject({ allowed: false, remaining: 3, retryAfter: 40 });
    expect(told(api.consumeKey('k2', 5)).allowed).toBe(true);
    clock.advance('40s');
    expect(told(api.consumeKey('k1', 10)).allowed).toBe(true);
  });

  it('SA-09 SA-32 SA-33 a user has one bucket, apart from keys of the same text, under the per-key limit', () => {
    const { api } = setup({ adminRatePerMin: 2 });
    expect(passes(api.consumeUser('same', 2))).toBe(true);
    expect(passes(api.consumeUser('same', 1))).toBe(false);
    expect(told(api.consumeKey('same', 2))).toMatchObject({ allowed: true, limit: 2 });
  });

  it('C10 SA-43 a full network refuses before any token counter exists', () => {
    const { api, store } = setup({ publicIpRatePerMin: 3 });
    let admitted = 0;
    for (let i = 0; i < 1_000; i++) if (passes(api.consumePublic(NETWORK, `token-${i}`, 1, 1))) admitted++;
    expect(admitted).toBe(3);
    expect(store.size).toBe(1 + 3);
  });

  it('I03 SA-42 SA-44 a call costs its price in each bucket; what a full token refuses cost the network one unit', () => {
    const { api } = setup({ publicIpRatePerMin: 100, publicTokenRatePerMin: 6 });
    const results: boolean[] = [];
    for (let call = 0; call < 10; call++) {
      expect(passes(api.consumePublic(NETWORK, null, 1, 1))).toBe(true);
      results.push(passes(api.consumePublic(NETWORK, 'hash', 3, 2)));
    }
    expect(results).toEqual([true, true, ...Array<boolean>(8).fill(false)]);
    const [network, token] = now(api.consumePublic(NETWORK, 'hash', 0, 0));
    expect([network.remaining, token.remaining]).toEqual([86, 0]);
  });

  it('SA-31 I11 a network cost of 0 charges the network nothing, passes where it is full, and reports it', () => {
    const { api } = setup({ publicIpRatePerMin: 2, publicTokenRatePerMin: 60 });
    expect(passes(api.consumePublic(NETWORK, null, 2, 2))).toBe(true);
    const verdicts = now(api.consumePublic(NETWORK, 'hash', 3, 0));
    expect(allAllowed(verdicts)).toBe(true);
    expect(told(verdicts)).toMatchObject({ policy: 'public-network', remaining: 0 });
    expect(verdicts[1].remaining).toBe(57);
  });

  it('SA-12 SA-13 SA-16 a new row that everybody’s quota refuses leaves the network’s unpaid', () => {
    const { api } = setup({ publicNewRowsPerIpHour: 5, publicNewRowsGlobalHour: 2 });
    expect([1, 2, 3].map(() => passes(api.consumeNewRow(NETWORK)))).toEqual([true, true, false]);
    const [network, all] = now(api.consumeNewRow(NETWORK));
    expect([network.remaining, all.remaining]).toEqual([3, 0]);
    expect(told(api.consumeNewRow('198.51.100.9'))).toMatchObject({ policy: 'new-rows', retryAfter: 3_580 });
  });

  it('J07 SA-17 SA-30 SA-41 looking at failures charges nothing; a failure that is refused isn’t charged again', () => {
    const { api, clock } = setup({ adminPreauthFailPerMin: 3 });
    for (let i = 0; i < 100; i++) expect(passes(api.peekFailures(NETWORK))).toBe(true);
    expect([1, 2, 3, 4].map(() => passes(api.consumeFailure(NETWORK)))).toEqual([true, true, true, false]);
    for (let i = 0; i < 200; i++) now(api.consumeFailure(NETWORK));
    expect(told(api.peekFailures(NETWORK))).toMatchObject({ allowed: false, retryAfter: 40 });
    clock.advance('40s');
    expect(passes(api.peekFailures(NETWORK))).toBe(true);
  });

  it('clients are told how long to wait for the failures of their network, never what is left', () => {
    const { api } = setup({ adminPreauthFailPerMin: 1 });
    const headers = new ResponseHeaders(['draft-6']);
    expect(headers.of(now(api.consumeFailure(NETWORK)))).toEqual({});
    const refused = now(api.consumeFailure(NETWORK));
    expect(headers.ofRefusal(refused, tightest(refused))).toEqual({
      'retry-after': '40',
      'cache-control': 'no-store',
    });
  });

  it('SA-05 P04 an edit of a setting takes effect with the next call, for buckets in use too', () => {
    const settings = { publicIpRatePerMin: 100 };
    const { api } = setup({}, () => settings);
    expect(passes(api.consumePublic(NETWORK, null, 50, 50))).toBe(true);
    settings.publicIpRatePerMin = 10;
    expect(told(api.consumePublic(NETWORK, null, 1, 1))).toMatchObject({
      allowed: false,
      limit: 10,
      remaining: 0,
    });
    settings.publicIpRatePerMin = 60;
    expect(told(api.consumePublic(NETWORK, null, 1, 1))).toMatchObject({ allowed: true, remaining: 9 });
  });

  it('D15 one check reads the settings once, and an invalid one keeps the last good', () => {
    let reads = 0;
    let limit: unknown = 5;
    const { api, events } = setup({}, () => {
      reads++;
      return { publicIpRatePerMin: limit, publicTokenRatePerMin: 7 };
    });
    now(api.consumePublic(NETWORK, 'hash', 1, 1));
    expect(reads).toBe(1);
    for (limit of [0, -1, 1.5, Number.NaN, '6O', null, true]) {
      expect(now(api.consumePublic(NETWORK, null, 0, 0))[0].bucket.rate.limit).toBe(5);
    }
    expect(events.length).toBeGreaterThan(0);
    expect(events.every(({ type }) => type === 'invalid-setting')).toBe(true);
  });

  it('a token is never charged without its network, nor a network without its token', () => {
    assert(
      property(array(tuple(nat(8), nat(8), constantFrom(null, 'a', 'b')), { maxLength: 60 }), (calls) => {
        const { api } = setup({ publicIpRatePerMin: 40, publicTokenRatePerMin: 15 });
        const spent = { network: 0, a: 0, b: 0 };
        for (const [cost, networkCost, token] of calls) {
          const room =
            (networkCost === 0 || spent.network + networkCost <= 40) &&
            (token === null || cost === 0 || spent[token] + cost <= 15);
          expect(passes(api.consumePublic(NETWORK, token, cost, networkCost))).toBe(room);
          if (!room) continue;
          spent.network += networkCost;
          if (token !== null) spent[token] += cost;
        }
        const [network, a] = now(api.consumePublic(NETWORK, 'a', 0, 0));
        expect([network.remaining, a.remaining]).toEqual([40 - spent.network, 15 - spent.a]);
      }),
      { numRuns: 300 },
    );
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Quota } from '../../../lib/index.js';
import { BucketRequests, checkCost } from '../../../lib/nest/service/bucket-request.js';

function setup(policies: Record<string, Quota> = { exports: { limit: 10, per: '1m' } }): BucketRequests {
  return new BucketRequests(new Map(Object.entries(policies)), () => {});
}

const ODD_COSTS = [-1, -0.5, 0.5, Number.NaN, Infinity, -Infinity, '5', 2 ** 53, null, true, {}, [], 1n];

describe('BucketRequests', () => {
  it('names buckets by policy and key, with a cost of 1 unless told', () => {
    const buckets = setup().buckets([
      { policy: 'exports', key: 'a' },
      { policy: 'exports', key: 'b', cost: 3 },
    ]);
    expect(buckets).toMatchObject([
      {
        policy: 'exports',
        namespace: 'service:exports',
        key: 'a',
        cost: 1,
        rate: { limit: 10, window: 60e6 },
      },
      { policy: 'exports', namespace: 'service:exports', key: 'b', cost: 3 },
    ]);
  });

  it('I11 keeps 0 and absent apart', () => {
    expect(setup().buckets([{ policy: 'exports', key: 'a', cost: 0 }])).toMatchObject([{ cost: 0 }]);
    expect(setup().buckets([{ policy: 'exports', key: 'a', cost: undefined }])).toMatchObject([{ cost: 1 }]);
  });

  it.each(ODD_COSTS)('I04 throws RangeError when the cost is %s', (cost) => {
    expect(() => setup().bucket('exports', 'a', cost as never)).toThrow(RangeError);
    expect(() => setup().buckets([{ policy: 'exports', key: 'a', cost: cost as never }])).toThrow(RangeError);
    expect(() => checkCost(cost)).toThrow(/^cost is /);
  });

  it.each(['', null, undefined, 7, {}])('throws RangeError when the key is %j', (key) => {
    expect(() => setup().bucket('exports', key as never, 1)).toThrow(RangeError);
  });

  it('throws RangeError on no bucket, and on one that is named twice, also by two quotas of one name', () => {
    const requests = setup();
    expect(() => requests.buckets([])).toThrow(RangeError);
    const twice = [
      { policy: 'exports', key: 'a' },
      { policy: { name: 'exports', limit: 3, per: '1m' }, key: 'a' },
    ];
    expect(() => requests.buckets(twice)).toThrow(/"a" is named twice/);
    expect(requests.buckets([twice[0], { policy: 'exports', key: 'b' }])).toHaveLength(2);
  });

  it('says which policies there are when it knows no such one', () => {
    const unknown = expect.objectContaining({ code: 'TOLLGATE_UNKNOWN_POLICY' });
    expect(() => setup().bucket('export', 'a', 1)).toThrow(unknown);
    expect(() => setup().bucket('export', 'a', 1)).toThrow("'export': policies declares exports");
    expect(() => setup({}).bucket('toString', 'a', 1)).toThrow('policies declares none');
  });

  it('takes a quota with a name of its own, checked once', () => {
    const requests = setup();
    const quota = { name: 'mail', limit: 2, per: '1h', algorithm: 'fixed' } as const;
    expect(requests.bucket(quota, 'a', 1)).toMatchObject({
      namespace: 'service:mail',
      rate: { algorithm: 'fixed' },
    });
    expect(requests.bucket(quota, 'a', 1).rate).toBe(requests.bucket(quota, 'b', 1).rate);
  });

  it.each([
    [{ limit: 2, per: '1h' }, 'name is missing'],
    [{ name: 'mail', limit: 0, per: '1h' }, 'quota.limit'],
    [{ name: 'mail', limit: 2, per: 60 }, 'quota.per'],
    [{ name: 'mail', limit: 2, per: '1h', cost: 1 }, 'quota.cost'],
  ])('refuses the quota %j', (quota, finding) => {
    expect(() => setup().bucket(quota as never, 'a', 1)).toThrow(finding);
  });

  it("calls a policy by the quota's own name, and counts it by that of the policy", () => {
    const bucket = setup({ exports: { name: 'Exports of a user', limit: 10, per: '1m' } }).bucket(
      'exports',
      'a',
      1,
    );
    expect(bucket).toMatchObject({ policy: 'Exports of a user', namespace: 'service:exports' });
  });

  it('gives the function of a limit a call without a caller', () => {
    const seen: unknown[] = [];
    const limit: Quota['limit'] = (call) => {
      seen.push(call);
      return call.user === null ? 5 : 50;
    };
    expect(setup({ tiers: { limit, per: '1m' } }).bucket('tiers', 'a', 1).rate.limit).toBe(5);
    expect(seen[0]).toMatchObject({ address: null, user: null, context: null, request: null });
  });

  it('C01 gives different pairs of policy and key different buckets, with keys of at most 64 printable bytes', () => {
    const name = fc.string({
      unit: fc.constantFrom(':', '|', '/', '{', 'a', ' ', '#'),
      minLength: 1,
      maxLength: 6,
    });
    const key = fc.oneof(name, fc.string({ unit: 'binary', minLength: 1, maxLength: 100 }));
    const requests = setup();
    fc.assert(
      fc.property(name, key, name, key, (name1, key1, name2, key2) => {
        fc.pre(name1 !== name2 || key1 !== key2);
        const first = requests.bucket({ name: name1, limit: 1, per: '1m' }, key1, 1);
        const second = requests.bucket({ name: name2, limit: 1, per: '1m' }, key2, 1);
        expect([first.namespace, first.key]).not.toEqual([second.namespace, second.key]);
        expect(first.key).toMatch(/^[\x21-\x7e]{1,64}$/);
      }),
      { numRuns: 1_000 },
    );
  });
});

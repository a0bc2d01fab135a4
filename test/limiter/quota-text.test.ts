import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuota, parseRate } from '../../lib/limiter/quota-text.js';

/** A good quota between bad ones: what must be refused and why. */
const BAD: [unknown, RegExp][] = [
  ['', /"" is no quota: write '600\/1m'/],
  [' ', /" " is no quota/],
  ['600', /is no quota/],
  ['600/', /is no quota/],
  ['/1m', /is no quota/],
  ['6O/1m', /is no quota/],
  ['-1/1m', /is no quota/],
  ['1.5/1m', /is no quota/],
  ['1e3/1m', /is no quota/],
  ['0x10/1m', /is no quota/],
  ['600/1m/1h', /is no quota/],
  [' 600/1m', /is no quota/],
  ['600 /1m', /is no quota/],
  ['600/1m\n', /per is/],
  ['600/ 1m', /per is " 1m"/],
  ['600/60', /per is "60"/],
  ['600/0s', /per is "0s"/],
  ['600/1d', /per is "1d"/],
  ['0/1m', /limit is 0: give a whole number above 0/],
  ['9999999999999999/1m', /limit/],
  ['99999999999999999999/1m', /is no quota/],
  [undefined, /undefined is no quota: give \{ limit, per \}/],
  [null, /null is no quota/],
  [600, /600 is no quota/],
  [true, /true is no quota/],
  [Number.NaN, /NaN is no quota/],
  [[], /a list is no quota/],
  [{}, /an object is no quota/],
  [{ limit: 5 }, /an object is no quota/],
  [{ per: '1m' }, /an object is no quota/],
  [{ limit: '5', per: '1m' }, /limit is "5"/],
  [{ limit: 5, per: 60 }, /per is 60/],
  [{ limit: 0, per: '1m' }, /limit is 0/],
  [{ limit: Infinity, per: '1m' }, /limit is Infinity/],
  [{ limit: 2 ** 53, per: '1m' }, /limit is/],
];

describe('quotas in settings', () => {
  it.each(['600/1m', { limit: 600, per: '1m' }])('reads %j', (quota) => {
    expect(parseQuota(quota, 'gcra')).toEqual({
      rate: { algorithm: 'gcra', limit: 600, window: 60e6, unit: 100_000, capacity: 60e6 },
    });
  });

  it('reads the algorithm into the rate', () => {
    expect(parseQuota('10/1h', 'fixed')).toEqual({
      rate: { algorithm: 'fixed', limit: 10, window: 3600e6, unit: 1, capacity: 10 },
    });
  });

  it.each(BAD)('P01, P03 refuses %j', (quota, problem) => {
    expect(parseQuota(quota, 'gcra')).toEqual({ problem: expect.stringMatching(problem) });
  });

  it('refuses what whole microseconds can’t space', () => {
    expect(parseQuota('700000/1s', 'gcra')).toEqual({ problem: expect.stringMatching(/700000/) });
    expect(parseQuota('700000/1s', 'fixed')).toHaveProperty('rate.limit', 700_000);
  });

  it('reads what it is given, both ways alike, or says why not', () => {
    const numbers = fc.integer({ min: -5, max: 2_000_000 });
    const units = fc.constantFrom('ms', 's', 'm', 'h', 'd', '');
    fc.assert(
      fc.property(numbers, fc.integer({ min: 0, max: 9999 }), units, (limit, length, unit) => {
        const per = `${length}${unit}`;
        const text = parseQuota(`${limit}/${per}`, 'fixed');
        const object = parseRate('fixed', limit, per);
        expect('rate' in text).toBe('rate' in object);
        if ('rate' in text && 'rate' in object) expect(text.rate).toEqual(object.rate);
      }),
    );
  });

  it('throws on nothing', () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom('gcra' as const, 'fixed' as const), (quota, algorithm) => {
        const parsed = parseQuota(quota, algorithm);
        expect('rate' in parsed || parsed.problem.length > 0).toBe(true);
      }),
    );
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import type { RateLimitEvent } from '../../lib/events/event.js';
import {
  checkLoginQuotas,
  LOGIN_LIMITS,
  LoginRates,
  type LoginLimitName,
  type LoginQuotas,
} from '../../lib/policies/login-rates.js';

const NAMES: readonly LoginLimitName[] = ['failures', 'perNetwork', 'perIdentifier', 'codes', 'mails'];

function ratesOf(given: LoginQuotas, settings: unknown = {}) {
  const events: RateLimitEvent[] = [];
  const live = { settings };
  const rates = new LoginRates(
    given,
    () => live.settings,
    (event) => void events.push(event),
  );
  return { rates, live, events };
}

function findingsOf(quotas: unknown): string[] {
  const findings: string[] = [];
  checkLoginQuotas(quotas, (name) => `login.${name}`, findings);
  return findings;
}

describe('LoginRates', () => {
  it('SB-31 SB-33 by default 5 failures and 5 codes a minute of the clock, a mail a minute, the rest off', () => {
    const { rates } = ratesOf({});
    expect(Object.keys(LOGIN_LIMITS)).toEqual(NAMES);
    expect(NAMES.map((name) => rates.read(name))).toEqual([
      createRate('fixed', 5, 60e6),
      null,
      null,
      createRate('fixed', 5, 60e6),
      createRate('gcra', 1, 60e6),
    ]);
  });

  it('numbers in code hold, whatever settings say; null is off', () => {
    const { rates } = ratesOf(
      { failures: { limit: 3, per: '1h' }, codes: null },
      { failures: '9/1m', codes: '9/1m' },
    );
    expect(rates.read('failures')).toEqual(createRate('fixed', 3, 3600e6));
    expect(rates.read('codes')).toBeNull();
  });

  it('P04 what code leaves out is read from settings on every try', () => {
    const { rates, live } = ratesOf({ codes: null });
    for (const [said, limit] of [
      ['7/1m', 7],
      [{ limit: 8, per: '1m' }, 8],
      [null, undefined],
      ['9/1m', 9],
      [undefined, 9],
    ] as const) {
      live.settings = { failures: said };
      expect(rates.read('failures')?.limit).toBe(limit);
    }
  });

  it('P01 a bad value keeps the last good one, and is reported once', () => {
    const { rates, live, events } = ratesOf({}, { failures: '7/1m' });
    expect(rates.read('failures')?.limit).toBe(7);
    for (const bad of ['0/1m', '6O/1m', '', {}, 5, true, '5/0s']) {
      live.settings = { failures: bad };
      expect(rates.read('failures')?.limit).toBe(7);
      expect(rates.read('failures')?.limit).toBe(7);
    }
    expect(events).toHaveLength(7);
    expect(events[0]).toMatchObject({ type: 'invalid-setting', setting: 'rateLimit.login.failures' });
  });

  it('P01 no settings but null ever switch a limit off', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.anything(), fc.string(), fc.constant('3/1m')), { maxLength: 5 }),
        (said) => {
          const { rates, live } = ratesOf({});
          for (const quota of said) {
            fc.pre(quota !== null);
            live.settings = { failures: quota };
            expect(rates.read('failures')?.limit).toBeGreaterThanOrEqual(1);
          }
          for (const whole of said) {
            fc.pre(typeof whole !== 'object' || whole === null || !('failures' in whole));
            live.settings = whole;
            expect(rates.read('failures')?.limit).toBeGreaterThanOrEqual(1);
          }
        },
      ),
    );
  });
});

describe('checkLoginQuotas', () => {
  it('accepts what holds, nothing, and null', () => {
    for (const quotas of [undefined, null, {}, { failures: null, mails: undefined }, { failures: '5/1m' }]) {
      expect(findingsOf(quotas)).toEqual([]);
    }
    expect(findingsOf(Object.fromEntries(NAMES.map((name) => [name, { limit: 5, per: '1m' }])))).toEqual([]);
  });

  it('P01 P02 names everything that is wrong', () => {
    expect(
      findingsOf({
        failures: { limit: 0, per: '1m' },
        codes: '5',
        mails: { limit: 1, per: '0s' },
        toString: '1/1m',
      }),
    ).toEqual([
      expect.stringContaining('login.failures: limit is 0'),
      expect.stringContaining('login.codes: "5" is no quota'),
      expect.stringContaining('login.mails: per is "0s"'),
      'login.toString is unknown: there are failures, perNetwork, perIdentifier, codes, mails',
    ]);
  });
});

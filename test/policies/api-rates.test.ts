import { describe, expect, it } from 'vitest';
import { API_LIMITS, ApiRates, checkApiLimits } from '../../lib/policies/api-rates.js';

describe('the rates of the machine API', () => {
  it('SA-07 to SA-13: the defaults', () => {
    const rate = new ApiRates(
      {},
      () => undefined,
      () => {},
    ).read();
    const numbers = Object.keys(API_LIMITS).map((name) => {
      const { limit, window, algorithm } = rate(name as keyof typeof API_LIMITS);
      return [name, limit, window / 1e6, algorithm];
    });
    expect(numbers).toEqual([
      ['adminPreauthFailPerMin', 10, 60, 'fixed'],
      ['adminRatePerMin', 600, 60, 'fixed'],
      ['publicTokenRatePerMin', 60, 60, 'fixed'],
      ['publicIpRatePerMin', 120, 60, 'fixed'],
      ['publicNewRowsPerIpHour', 20, 3_600, 'fixed'],
      ['publicNewRowsGlobalHour', 1_000, 3_600, 'fixed'],
    ]);
  });

  it('numbers given in code are fixed, the others follow the settings', () => {
    const settings = { adminRatePerMin: 5, publicIpRatePerMin: 6 };
    const rates = new ApiRates(
      { adminRatePerMin: 7 },
      () => settings,
      () => {},
    );
    expect(rates.read()('adminRatePerMin').limit).toBe(7);
    expect(rates.read()('publicIpRatePerMin').limit).toBe(6);
    settings.adminRatePerMin = 8;
    settings.publicIpRatePerMin = 9;
    expect(rates.read()('adminRatePerMin').limit).toBe(7);
    expect(rates.read()('publicIpRatePerMin').limit).toBe(9);
  });

  it('names what is wrong, where it stands and what to do', () => {
    const findings: string[] = [];
    checkApiLimits(
      { adminRatePerMin: 0, publicRate: 3, publicIpRatePerMin: undefined },
      (name) => `limits.${name}`,
      findings,
    );
    expect(findings).toEqual([
      expect.stringMatching(/^limits\.adminRatePerMin: limit is 0: give a whole number above 0/),
      expect.stringMatching(/^limits\.publicRate is unknown: there are adminPreauthFailPerMin, /),
    ]);
  });
});

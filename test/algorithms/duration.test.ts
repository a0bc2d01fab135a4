import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ceilSeconds, DURATION_RULE, parseDuration } from '../../lib/algorithms/duration.js';

describe('parseDuration', () => {
  it('P03 reads a whole number and a unit, in microseconds', () => {
    expect(parseDuration('1ms')).toBe(1_000);
    expect(parseDuration('500ms')).toBe(500_000);
    expect(parseDuration('30s')).toBe(30_000_000);
    expect(parseDuration('1m')).toBe(60_000_000);
    expect(parseDuration('1h')).toBe(3_600_000_000);
    expect(parseDuration('8760h')).toBe(31_536_000_000_000);
  });

  it('P03 takes nothing else: the unit is never guessed', () => {
    const wrong = [
      '60',
      '1 m',
      ' 1m',
      '1m ',
      '1.5m',
      '-1s',
      '+1s',
      '1d',
      '1M',
      '1S',
      '1min',
      'm',
      '',
      '0s',
      '00s',
      '01s',
    ];
    const odd = ['1e3s', '0x1s', '1_000s', '1m30s', '١m', '1m\n', 'Infinitys', 'NaNs', '1us', '1µs', '1m1m'];
    for (const text of [...wrong, ...odd]) expect(parseDuration(text), JSON.stringify(text)).toBeNull();
  });

  it('P03 takes nothing but strings', () => {
    for (const value of [60, 0, null, undefined, true, ['1m'], { toString: () => '1m' }, 1n, Symbol('1m')]) {
      expect(parseDuration(value)).toBeNull();
    }
  });

  it('takes up to ten years, in any unit', () => {
    expect(parseDuration('87600h')).toBe(315_360_000_000_000);
    expect(parseDuration('87601h')).toBeNull();
    expect(parseDuration('5256000m')).toBe(315_360_000_000_000);
    expect(parseDuration('5256001m')).toBeNull();
    expect(parseDuration('315360000000ms')).toBe(315_360_000_000_000);
    expect(parseDuration('315360000001ms')).toBeNull();
    expect(parseDuration(`${'9'.repeat(400)}h`)).toBeNull();
  });

  it('gives exact whole numbers for every duration it takes', () => {
    const sizes = { ms: 1_000n, s: 1_000_000n, m: 60_000_000n, h: 3_600_000_000n };
    const units = fc.constantFrom('ms', 's', 'm', 'h');
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 87_600n }), units, (count, unit) => {
        expect(parseDuration(`${count}${unit}`)).toBe(Number(count * sizes[unit]));
      }),
      { numRuns: 1_000 },
    );
  });

  it('says in one phrase what it takes', () => {
    expect(DURATION_RULE).toMatch(/whole number above 0.*ms, s, m or h/);
  });
});

describe('ceilSeconds', () => {
  it('G04 rounds up, never to nearest', () => {
    expect([0, 1, 1_000_000, 1_000_001, 1_400_000, 12_345_000].map(ceilSeconds)).toEqual([0, 1, 1, 2, 2, 13]);
  });

  it('G04 stays a whole number for the longest window', () => {
    expect(String(ceilSeconds(315_360_000_000_000))).toBe('315360000');
  });
});

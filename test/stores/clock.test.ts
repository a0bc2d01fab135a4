import { describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/stores/clock.js';

describe('systemClock', () => {
  it('tells whole microseconds on both clocks', () => {
    for (let reading = 0; reading < 1_000; reading++) {
      expect(Number.isSafeInteger(systemClock.monotonic())).toBe(true);
      expect(Number.isSafeInteger(systemClock.wall())).toBe(true);
    }
  });

  it('tells the time since the epoch on the wall', () => {
    expect(Math.abs(systemClock.wall() - Date.now() * 1_000)).toBeLessThan(1_000_000);
  });

  it('never goes back on the monotonic clock, advances with real time and lies above the fresh TAT', () => {
    const start = systemClock.monotonic();
    const real = performance.now();
    const readings = [start];
    while (performance.now() - real < 5) readings.push(systemClock.monotonic());
    readings.push(systemClock.monotonic());
    expect(start).toBeGreaterThan(0);
    expect(readings.every((reading, i) => i === 0 || reading >= readings[i - 1])).toBe(true);
    expect(readings[readings.length - 1] - start).toBeGreaterThanOrEqual(4_900);
  });
});

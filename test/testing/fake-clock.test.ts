import { describe, expect, it } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';

describe('FakeClock', () => {
  it('stands still until told otherwise', () => {
    const clock = new FakeClock(new Date('2026-03-01T12:00:00.250Z'));
    expect(clock.wall()).toBe(Date.UTC(2026, 2, 1, 12, 0, 0, 250) * 1000);
    expect(clock.wall()).toBe(clock.wall());
    expect(clock.monotonic()).toBe(clock.monotonic());
  });

  it('starts at midnight of 2026-01-01 UTC unless told otherwise', () => {
    expect(new FakeClock().wall()).toBe(Date.UTC(2026, 0, 1) * 1000);
  });

  it('keeps its two clocks far apart, and the monotonic one above 0', () => {
    const clock = new FakeClock(new Date(0));
    expect(clock.monotonic()).toBeGreaterThan(0);
    expect(Math.abs(clock.wall() - clock.monotonic())).toBeGreaterThan(60e6);
  });

  it('lets the same time pass on both clocks', () => {
    const clock = new FakeClock();
    const before = [clock.monotonic(), clock.wall()];
    clock.advance('30s');
    clock.advance('1ms');
    clock.advanceMicroseconds(1);
    clock.advanceMicroseconds(0);
    expect([clock.monotonic(), clock.wall()]).toEqual(before.map((time) => time + 30_001_001));
  });

  it('steps the wall clock alone, and lets both go on from there', () => {
    const clock = new FakeClock();
    const monotonic = clock.monotonic();
    clock.setWall(new Date('2025-12-31T23:00:00Z'));
    expect(clock.monotonic()).toBe(monotonic);
    clock.advance('1h');
    expect(clock.wall()).toBe(Date.UTC(2026, 0, 1) * 1000);
    expect(clock.monotonic()).toBe(monotonic + 3600e6);
  });

  it('refuses what is no duration, no whole number or no date', () => {
    const clock = new FakeClock();
    const text: string = '30';
    expect(() => clock.advance(text)).toThrow(RangeError);
    expect(() => clock.advance(text)).toThrow('duration is "30": give a whole number above 0 followed by');
    for (const microseconds of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
      expect(() => clock.advanceMicroseconds(microseconds)).toThrow(RangeError);
    }
    expect(() => clock.setWall(new Date('yesterday'))).toThrow(RangeError);
    expect(() => new FakeClock(new Date(NaN))).toThrow(RangeError);
    expect(clock.wall()).toBe(Date.UTC(2026, 0, 1) * 1000);
  });

  it('H10 is the one clock of a store, for decisions and for what it keeps', () => {
    for (const algorithm of ['gcra', 'fixed'] as const) {
      const clock = new FakeClock(new Date('2020-01-01T00:00:00Z'));
      const store = new MemoryStore({ clock });
      const bucket = { policy: 'p', namespace: 'p', key: 'k', cost: 1, rate: createRate(algorithm, 3, 60e6) };
      const answers = Array.from({ length: 6 }, () => store.consume([bucket])[0].allowed);
      expect(answers).toEqual([true, true, true, false, false, false]);
      store.sweep();
      expect(store.size).toBe(1);
      clock.advance('1m');
      expect(store.consume([bucket])[0].allowed).toBe(true);
      clock.advance('1m');
      store.sweep();
      expect(store.size).toBe(0);
      store.close();
    }
  });
});

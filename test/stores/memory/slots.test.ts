import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_SLOT, OVERFLOW_SLOT, Slots } from '../../../lib/stores/memory/slots.js';

function filled(count: number, width = 1): Slots {
  const slots = new Slots(width, 1_000_000);
  for (let i = 0; i < count; i++) {
    const slot = slots.add(`k${i}`);
    slots.numbers[slot * width] = i + 1;
  }
  return slots;
}

describe('Slots', () => {
  it('finds what was added, and nothing else', () => {
    const slots = filled(2);
    expect(slots.find('k0')).not.toBe(NO_SLOT);
    expect(slots.find('k0')).not.toBe(slots.find('k1'));
    expect(slots.find('k2')).toBe(NO_SLOT);
    expect(slots.find('')).toBe(NO_SLOT);
    expect(slots.size).toBe(2);
  });

  it('never hands out the overflow slot, and cannot remove it', () => {
    const slots = new Slots(1, 10);
    slots.numbers[OVERFLOW_SLOT] = 7;
    expect(slots.add('a')).not.toBe(OVERFLOW_SLOT);
    slots.remove('');
    slots.sweep(100, () => true);
    expect(slots.size).toBe(0);
    expect(slots.numbers[OVERFLOW_SLOT]).toBe(7);
    expect(slots.add('b')).not.toBe(OVERFLOW_SLOT);
  });

  it('is full at its maximum, and not before', () => {
    const slots = new Slots(1, 2);
    slots.add('a');
    expect(slots.full).toBe(false);
    slots.add('b');
    expect(slots.full).toBe(true);
    slots.remove('a');
    expect(slots.full).toBe(false);
  });

  it('grows without losing a number, and hands out slots that read 0', () => {
    const slots = filled(10_000, 2);
    const wrong: number[] = [];
    for (let i = 0; i < 10_000; i++) {
      const slot = slots.find(`k${i}`);
      if (slots.numbers[slot * 2] !== i + 1 || slots.numbers[slot * 2 + 1] !== 0) wrong.push(i);
    }
    expect(wrong).toEqual([]);
    slots.remove('k5');
    const reused = slots.add('new');
    expect([slots.numbers[reused * 2], slots.numbers[reused * 2 + 1]]).toEqual([0, 0]);
  });

  it('shrinks after a sweep, down to a few hundred bytes, without losing a number', () => {
    const slots = filled(100_000);
    const grown = slots.numbers.length;
    const survivors = new Set([1, 500, 99_999].map((i) => slots.find(`k${i}`)));
    const keep = new Set([...survivors].map((slot) => slots.numbers[slot]));
    while (slots.size > 3) slots.sweep(1_000, (slot) => !keep.has(slots.numbers[slot]));
    for (let i = 0; i < 20; i++) slots.sweep(1_000, () => false);
    expect(grown).toBeGreaterThanOrEqual(100_000);
    expect(slots.numbers.length).toBe(16);
    for (const i of [1, 500, 99_999]) expect(slots.numbers[slots.find(`k${i}`)]).toBe(i + 1);
  });

  it('looks at no more slots in a sweep than it was told', () => {
    const slots = filled(500);
    for (const [count, looks] of [
      [0, 0],
      [1, 1],
      [32, 32],
      [499, 499],
      [500, 500],
      [5_000, 500],
    ]) {
      let looked = 0;
      slots.sweep(count, () => {
        looked++;
        return false;
      });
      expect(looked).toBe(looks);
    }
  });

  it('looks at every slot in turn, wherever the last sweep stopped', () => {
    const slots = filled(100);
    const looked = new Set<number>();
    for (let i = 0; i < 10; i++) slots.sweep(10, (slot) => looked.add(slots.numbers[slot]) && false);
    expect(looked.size).toBe(100);
  });

  it('removes in one pass from the top all that was fresh, though gaps are filled from the end', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 60 }),
        fc.array(fc.boolean()),
        fc.integer({ min: 1, max: 7 }),
        (count, flags, step) => {
          const slots = filled(count);
          const fresh = (slot: number) => flags[slots.numbers[slot] - 1] ?? false;
          slots.rewind();
          let removed = 0;
          for (let left = slots.size; left > 0; left -= step)
            removed += slots.sweep(Math.min(step, left), fresh);
          const live = Array.from({ length: count }, (_, i) => i).filter((i) => !flags[i]);
          expect(slots.size).toBe(live.length);
          expect(removed).toBe(count - live.length);
          expect(live.map((i) => slots.numbers[slots.find(`k${i}`)])).toEqual(live.map((i) => i + 1));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('holds what a Map holds, after any additions, removals and sweeps', () => {
    const actions = fc.array(
      fc.tuple(fc.constantFrom('set', 'set', 'remove', 'sweep'), fc.integer({ min: 0, max: 30 })),
      { maxLength: 120 },
    );
    fc.assert(
      fc.property(fc.constantFrom(1, 2), actions, (width, run) => {
        const slots = new Slots(width, 1_000);
        const map = new Map<string, number>();
        for (const [time, [action, n]] of run.entries()) {
          const key = `k${n}`;
          if (action === 'set') {
            const found = slots.find(key);
            const slot = found === NO_SLOT ? slots.add(key) : found;
            slots.numbers[slot * width + width - 1] = time;
            map.set(key, time);
          } else if (action === 'remove') {
            slots.remove(key);
            map.delete(key);
          } else {
            slots.sweep(1_000, (slot) => slots.numbers[slot * width + width - 1] % 3 === n % 3);
            for (const [name, value] of map) if (value % 3 === n % 3) map.delete(name);
          }
        }
        const held = [...map.keys()].map((name) => slots.numbers[slots.find(name) * width + width - 1]);
        expect(slots.size).toBe(map.size);
        expect(held).toEqual([...map.values()]);
      }),
      { numRuns: 300 },
    );
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRate } from '../../../lib/algorithms/rate.js';
import { GcraTable } from '../../../lib/stores/memory/gcra-table.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { Sweeper } from '../../../lib/stores/memory/sweeper.js';

const MINUTE = 60_000_000;
const rate = createRate('gcra', 1, MINUTE);

/** A table that notes how many slots were looked at. */
class WatchedTable extends GcraTable {
  looked = 0;

  override isFresh(slot: number, now: number): boolean {
    this.looked++;
    return super.isFresh(slot, now);
  }
}

function tableOf(clients: number, now: number): WatchedTable {
  const table = new WatchedTable(1_000_000, () => {});
  for (let i = 0; i < clients; i++) {
    table.consume({ policy: 'p', namespace: 'p', key: `k${i}`, cost: 1, rate }, now);
  }
  return table;
}

describe('Sweeper', () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: [
        'setInterval',
        'clearInterval',
        'setTimeout',
        'clearTimeout',
        'setImmediate',
        'clearImmediate',
      ],
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('looks at no more than 1,000 buckets in one go, and at all of them in one pass', () => {
    const table = tableOf(10_500, 1);
    const sweeper = new Sweeper(() => [{ table, now: 1 + MINUTE }]);
    const steps: number[] = [];
    vi.advanceTimersByTime(9_999);
    expect(table.looked).toBe(0);
    for (let last = 0; table.size > 0 && steps.length < 20; last = table.looked) {
      vi.advanceTimersToNextTimer();
      steps.push(table.looked - last);
    }
    expect(Math.max(...steps)).toBe(1_000);
    expect(table.looked).toBe(10_500);
    expect(table.size).toBe(0);
    sweeper.stop();
  });

  it('drops what equals a fresh bucket and nothing else', () => {
    const table = tableOf(3_000, 1);
    for (let i = 0; i < 1_500; i++) {
      table.charge({ policy: 'p', namespace: 'p', key: `k${i * 2}`, cost: 1, rate }, MINUTE);
    }
    const sweeper = new Sweeper(() => [{ table, now: 1 + MINUTE }]);
    vi.advanceTimersByTime(10_010);
    expect(table.size).toBe(1_500);
    sweeper.stop();
  });

  it('misses nothing, wherever a search for room had stopped', () => {
    const table = tableOf(2_500, 1);
    for (let i = 1; i < 2_499; i++) {
      table.charge({ policy: 'p', namespace: 'p', key: `k${i}`, cost: 1, rate }, MINUTE);
    }
    // The first and the last are left: the last one moves into the gap of the first.
    table.sweep(700, 1);
    const sweeper = new Sweeper(() => [{ table, now: 1 + MINUTE }]);
    sweeper.sweepAll();
    expect(table.size).toBe(2_498);
    sweeper.stop();
  });

  it('passes over every table, and again every ten seconds', () => {
    const tables = [tableOf(10, 1), tableOf(1_500, 1), tableOf(0, 1)];
    let now = 1;
    const sweeper = new Sweeper(() => tables.map((table) => ({ table, now })));
    vi.advanceTimersByTime(10_010);
    expect(tables.map((table) => table.size)).toEqual([10, 1_500, 0]);
    now = 1 + MINUTE;
    vi.advanceTimersByTime(10_000);
    expect(tables.map((table) => table.size)).toEqual([0, 0, 0]);
    sweeper.stop();
  });

  it('stops at once, also amid a pass, and twice', () => {
    const table = tableOf(5_000, 1);
    const sweeper = new Sweeper(() => [{ table, now: 1 + MINUTE }]);
    vi.advanceTimersByTime(10_000);
    const looked = table.looked;
    expect(looked).toBeGreaterThan(0);
    sweeper.stop();
    sweeper.stop();
    vi.advanceTimersByTime(60_000);
    expect(table.looked).toBe(looked);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('H08 leaves no timer behind, however many stores are made and closed', () => {
    for (let i = 0; i < 200; i++) {
      const store = new MemoryStore();
      store.consume([{ policy: 'p', namespace: 'p', key: 'k', cost: 1, rate }]);
      store.close();
      store.close();
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  it('H06 H07 makes one timer per store, of ten seconds, whatever the windows and the traffic', () => {
    // Not on the fake ones: what is spied on is not put back when those go.
    vi.useRealTimers();
    const spies = [vi.spyOn(globalThis, 'setInterval'), vi.spyOn(globalThis, 'setTimeout')];
    const store = new MemoryStore();
    for (let i = 0; i < 1_000; i++) {
      const key = `k${i}`;
      store.consume([
        { policy: 'p', namespace: 'p', key, cost: 1, rate: createRate('gcra', 2, 8_760 * 60 * MINUTE) },
      ]);
      store.consume([
        { policy: 'p', namespace: 'p', key, cost: 1, rate: createRate('fixed', 2, 8_760 * 60 * MINUTE) },
      ]);
    }
    expect(spies.map((spy) => spy.mock.calls.map(([, delay]) => delay))).toEqual([[10_000], []]);
    store.close();
    for (const spy of spies) spy.mockRestore();
  });
});

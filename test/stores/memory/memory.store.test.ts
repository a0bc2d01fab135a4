import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { createRate, type Algorithm } from '../../../lib/algorithms/rate.js';
import type { Bucket } from '../../../lib/algorithms/verdict.js';
import { FixedTable } from '../../../lib/stores/memory/fixed-table.js';
import { GcraTable } from '../../../lib/stores/memory/gcra-table.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

const MINUTE = 60_000_000;
const HOUR = 60 * MINUTE;
const ALGORITHMS: readonly Algorithm[] = ['gcra', 'fixed'];

const open: MemoryStore[] = [];
afterEach(() => {
  for (const store of open.splice(0)) store.close();
});

function storeWith(options: ConstructorParameters<typeof MemoryStore>[0]): MemoryStore {
  const store = new MemoryStore(options);
  open.push(store);
  return store;
}

function bucketOf(algorithm: Algorithm, limit: number, window: number, key = 'k', namespace = 'p'): Bucket {
  return { policy: 'p', namespace, key, cost: 1, rate: createRate(algorithm, limit, window) };
}

/** Bytes in use after a full collection. */
function heap(): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  for (let i = 0; i < 3; i++) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** The value that `share` of the times don't exceed. */
function quantile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1];
}

describe('MemoryStore', () => {
  it('answers at once, without a promise', () => {
    const store = storeWith({});
    const bucket = bucketOf('gcra', 3, MINUTE);
    const [charge] = store.consume([bucket]);
    expect(charge.allowed).toBe(true);
    expect(store.peek([bucket])).toHaveLength(1);
    expect(store.charge([bucket])).toHaveLength(1);
    expect(store.refund([{ charge, cost: 1 }])).toBeUndefined();
    expect(store.clear([bucket])).toBeUndefined();
    expect(store.close()).toBeUndefined();
  });

  it('takes a whole number of keys from 1 to 16 million, and says so', () => {
    for (const maxKeys of [0, -1, 1.5, NaN, Infinity, 16_000_001]) {
      expect(() => new MemoryStore({ maxKeys })).toThrow(
        expect.objectContaining({
          code: 'TOLLGATE_BAD_CONFIGURATION',
          message: expect.stringContaining(`maxKeys is ${maxKeys}`),
        }),
      );
    }
    for (const maxKeys of [1, 16_000_000]) storeWith({ maxKeys });
  });

  it('counts its keys over all namespaces, and forgets all of them when told', () => {
    const store = storeWith({});
    for (const algorithm of ALGORITHMS) {
      for (const namespace of ['p', 'q']) store.consume([bucketOf(algorithm, 1, MINUTE, 'k', namespace)]);
    }
    expect(store.size).toBe(4);
    store.clearAll();
    expect(store.size).toBe(0);
    expect(store.consume([bucketOf('gcra', 1, MINUTE)])[0].allowed).toBe(true);
  });

  it('counts GCRA on the monotonic clock: steps of the wall clock change nothing', () => {
    const clock = new FakeClock();
    const store = storeWith({ clock });
    const bucket = bucketOf('gcra', 3, MINUTE);
    store.consume([{ ...bucket, cost: 3 }]);
    for (const date of ['2025-06-01', '2036-06-01', '1970-01-01']) {
      clock.setWall(new Date(date));
      expect(store.consume([bucket])[0].retryAfter).toBe(20_000_000);
    }
    clock.advance('20s');
    expect(store.consume([bucket])[0].allowed).toBe(true);
  });

  it.each(ALGORITHMS)(
    'H09 %s: decides by its clock on each read, whether or not a timer ever fires',
    (algorithm) => {
      const clock = new FakeClock();
      const store = storeWith({ clock });
      const bucket = bucketOf(algorithm, 3, MINUTE);
      store.consume([{ ...bucket, cost: 3 }]);
      for (const duration of ['1m', '1h', '8760h'] as const) {
        clock.advance(duration);
        const [verdict] = store.consume([{ ...bucket, cost: 1 }]);
        expect([verdict.remaining, verdict.retryAfter]).toEqual([2, 0]);
        store.consume([{ ...bucket, cost: 2 }]);
        expect(store.consume([bucket])[0].retryAfter).toBeGreaterThan(0);
      }
    },
  );

  it('H05 keeps windows of months and years, on the real clock and with real timers', async () => {
    const warnings: string[] = [];
    const listen = (warning: Error) => warnings.push(warning.name);
    process.on('warning', listen);
    const store = storeWith({});
    const buckets = [600, 720, 8_760].map((hours) => bucketOf('gcra', 2, hours * HOUR, `${hours} h`));
    for (const bucket of buckets) store.consume([{ ...bucket, cost: 2 }]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    for (const bucket of buckets) {
      const { allowed, retryAfter } = store.consume([bucket])[0];
      expect(allowed).toBe(false);
      expect(retryAfter).toBeLessThan(bucket.rate.unit - 45_000);
      expect(retryAfter).toBeGreaterThan(bucket.rate.unit - 30_000_000);
    }
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  it.each(ALGORITHMS)('M01 %s: 100,000 clients leave no entry and no memory behind', (algorithm) => {
    const clock = new FakeClock();
    const store = storeWith({ clock });
    const visit = (key: string) => store.consume([bucketOf(algorithm, 10, MINUTE, key)]);
    visit('warm up');
    const before = heap();
    for (let i = 0; i < 100_000; i++) visit(`198.51.${i >> 8}.${i & 255}`);
    const held = heap();
    expect(store.size).toBe(100_001);
    clock.advance('1m');
    store.sweep();
    expect(store.size).toBe(0);
    const after = heap();
    console.log(
      `M01 ${algorithm}: ${Math.round((held - before) / 100_000)} bytes per live client, ` +
        `${Math.round((after - before) / 1_000)} kB left of ${Math.round((held - before) / 1_000)} kB`,
    );
    expect(after - before).toBeLessThan((held - before) / 10);
    expect(after).toBeLessThan(before * 1.1);
  });

  it.each(ALGORITHMS)('M05 %s: neither a check nor a sweep step waits for a full table', (algorithm) => {
    const clock = new FakeClock();
    const store = storeWith({ clock, maxKeys: 100_000 });
    const rate = createRate(algorithm, 10, MINUTE);
    for (let i = 0; i < 100_000; i++)
      store.consume([{ policy: 'p', namespace: 'p', key: `k${i}`, cost: 1, rate }]);
    const checks: number[] = [];
    for (let i = 0; i < 20_000; i++) {
      const key = i % 2 === 0 ? `newcomer ${i}` : `k${(i * 7_919) % 100_000}`;
      const start = performance.now();
      store.consume([{ policy: 'p', namespace: 'p', key, cost: 1, rate }]);
      checks.push(performance.now() - start);
    }
    expect(store.size).toBe(100_000);

    const table = new { gcra: GcraTable, fixed: FixedTable }[algorithm](100_000, () => {});
    const fill = () => {
      for (let i = 0; i < 100_000; i++)
        table.consume({ policy: 'p', namespace: 'p', key: `k${i}`, cost: 1, rate }, HOUR);
    };
    const sweep = (now: number) => {
      table.rewind();
      return Array.from({ length: 100 }, () => {
        const start = performance.now();
        table.sweep(1_000, now);
        return performance.now() - start;
      });
    };
    fill();
    const looking = sweep(HOUR);
    const removing = sweep(HOUR + MINUTE);
    expect(table.size).toBe(0);
    const figures = {
      'check p99': quantile(checks, 0.99),
      'step, all live, median': quantile(looking, 0.5),
      'step, all expired, median': quantile(removing, 0.5),
      'step, p95': quantile([...looking, ...removing], 0.95),
    };
    const shown = Object.entries(figures).map(([name, ms]) => `${name} ${(ms * 1_000).toFixed(1)} µs`);
    console.log(`M05 ${algorithm}: ${shown.join(', ')}`);
    // Ten times what a slow machine needs; a look at the whole table would take longer than any of these.
    expect(figures['check p99']).toBeLessThan(0.1);
    expect(figures['step, all live, median']).toBeLessThan(0.1);
    expect(figures['step, all expired, median']).toBeLessThan(1);
    expect(figures['step, p95']).toBeLessThan(5);
  });

  it.each(ALGORITHMS)('M06 %s: one client’s refunds never reach another, over 100 cycles', (algorithm) => {
    const clock = new FakeClock();
    const store = storeWith({ clock });
    const a = bucketOf(algorithm, 5, MINUTE, 'a');
    const b = bucketOf(algorithm, 5, MINUTE, 'b');
    for (let cycle = 0; cycle < 100; cycle++) {
      expect(store.consume([{ ...b, cost: 2 }])[0].remaining).toBe(3);
      const [charge] = store.consume([{ ...a, cost: 5 }]);
      expect(store.consume([a])[0].allowed).toBe(false);
      if (cycle % 2 === 0) store.refund([{ charge, cost: 5 }]);
      else store.clear([a]);
      expect(store.peek([a])[0].remaining).toBe(5);
      expect(store.peek([b])[0].remaining).toBe(3);
      clock.advance('1m');
      expect(store.peek([b])[0].remaining).toBe(5);
    }
  });

  it.each(ALGORITHMS)(
    'M07 K16 %s: of 100 calls at once, in the same microsecond, exactly the limit passes',
    async (algorithm) => {
      const store = storeWith({ clock: new FakeClock() });
      const bucket = bucketOf(algorithm, 10, MINUTE);
      const call = async () => {
        const [verdict] = await Promise.resolve(store.consume([bucket]));
        return verdict.allowed;
      };
      const answers = await Promise.all(Array.from({ length: 100 }, call));
      expect(answers.filter(Boolean)).toHaveLength(10);
    },
  );
});

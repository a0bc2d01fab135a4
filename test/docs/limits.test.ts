// The bounds that docs/limits.md gives, against clients that take all they can get.
import { describe, expect, it } from 'vitest';
import { createRate, type Algorithm } from '../../lib/algorithms/rate.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { rowsOf, sectionOf } from './markdown.js';

const MINUTE = 60e6;

/** The most that passes within `stretch` when a client takes all it can, the limit of 10 in 1m untouched before. */
async function mostWithin(algorithm: Algorithm, stretch: number): Promise<number> {
  const clock = new FakeClock();
  const store = new MemoryStore({ clock });
  const bucket = { policy: 'p', namespace: 'n', key: 'k', rate: createRate(algorithm, 10, MINUTE), cost: 1 };
  // Right before the end of a window, where the clock reads a whole minute in a moment.
  clock.advanceMicroseconds(MINUTE - 1);
  let passed = 0;
  for (let elapsed = 0; elapsed < stretch;) {
    const [{ allowed, retryAfter }] = store.consume([bucket]);
    if (allowed) {
      passed += 1;
      continue;
    }
    clock.advanceMicroseconds(retryAfter);
    elapsed += retryAfter;
  }
  store.close();
  return passed;
}

describe('the bounds in docs/limits.md', () => {
  const rows = rowsOf(sectionOf('docs/limits.md', 'Two algorithms'));
  const lengths: Record<string, number> = { '1ms': 1000, '1m': MINUTE, '10m': 10 * MINUTE };

  it('are three', () => {
    expect(rows.map(([stretch]) => stretch)).toEqual(Object.keys(lengths));
  });

  it.each(rows)(
    'in any %s at most %s (gcra) and %s (fixed) of 10 in 1m pass',
    async (stretch, gcra, fixed) => {
      expect(await mostWithin('gcra', lengths[stretch])).toBe(Number(gcra));
      expect(await mostWithin('fixed', lengths[stretch])).toBe(Number(fixed));
    },
  );
});

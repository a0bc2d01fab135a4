import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ServerClock } from '../../../../lib/stores/redis/calls/server-clock.js';

it('gives no deadline before it has heard the time', () => {
  expect(new ServerClock().deadline(5_000_000, 4_000_000)).toBe(0);
});

it('never gives a deadline that is later on the server than it is here, and hardly an earlier one', () => {
  const answer = fc.record({
    pause: fc.integer({ min: 0, max: 30_000_000 }),
    there: fc.integer({ min: 0, max: 5_000 }),
    back: fc.integer({ min: 0, max: 5_000 }),
  });
  const property = fc.property(
    fc.integer({ min: -1e15, max: 1e15 }),
    fc.integer({ min: -400, max: 400 }),
    fc.array(answer, { minLength: 1, maxLength: 30 }),
    (offset, partsPerMillion, answers) => {
      const clock = new ServerClock();
      const server = (at: number): number => at + offset + (at * partsPerMillion) / 1e6;
      let now = 1_000_000;
      for (const { pause, there, back } of answers) {
        now += pause;
        const due = now + 100_000;
        const deadline = clock.deadline(due, now);
        if (deadline !== 0) {
          expect(deadline).toBeLessThanOrEqual(server(due) + 100);
          expect(deadline).toBeGreaterThan(server(due) - 10_100 - 30_000);
        }
        clock.learn(Math.floor(server(now + there)), now, now + there + back);
        now += there + back;
      }
    },
  );
  fc.assert(property, { numRuns: 500 });
});

it('starts anew when the clock of the server has stepped', () => {
  const clock = new ServerClock();
  clock.learn(10_000_000, 1_000, 1_100);
  for (const step of [-7_000_000, 9_000_000]) {
    clock.learn(10_000_000 + step + 1_000, 2_000, 2_100);
    const deadline = clock.deadline(3_000, 2_100);
    expect(Math.abs(deadline - (10_000_000 + step + 2_000))).toBeLessThan(200);
  }
});

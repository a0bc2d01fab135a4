// The contract of wall clocks that step: nobody waits longer than one window, whichever clock a store counts on.

import { strict as assert } from 'node:assert';
import type { FakeClock } from '../fake-clock.js';
import { ALGORITHMS, bucketOf, type Specify } from './bench.js';

export function clockSteps(specify: Specify): void {
  for (const algorithm of ALGORITHMS) {
    for (const [title, seconds] of [
      ['back 11 seconds', -11],
      ['back an hour', -3_600],
      ['back ten years', -315_360_000],
      ['forth 11 seconds', 11],
      ['forth an hour', 3_600],
    ] as const) {
      specify(
        `${algorithm}: after the clock stepped ${title} nobody waits longer than one window`,
        async (bench) => {
          const bucket = bucketOf(algorithm, 3, '1m');
          await bench.consume(bucket, 3);
          step(bench.clock, seconds);
          const { retryAfter } = await bench.consume(bucket, 3);
          assert(retryAfter <= 60_000_000, `waits ${retryAfter} µs`);
          bench.clock.advance('1m');
          const passed = await bench.consume(bucket, 3);
          assert.equal(passed.allowed, true);
          assert(passed.resetAfter <= 60_000_000, `stored ${passed.resetAfter} µs ahead`);
        },
      );
    }

    specify(
      `${algorithm}: a client within its limit is never refused while the clock steps to and fro`,
      async (bench) => {
        const bucket = bucketOf(algorithm, 3, '1m');
        for (let second = 0; second < 84; second++) {
          if (second % 21 === 0)
            assert.equal((await bench.consume(bucket)).allowed, true, `second ${second}`);
          if (second % 2 === 0) step(bench.clock, second % 4 === 0 ? -11 : 11);
          bench.clock.advance('1s');
        }
      },
    );

    specify(
      `${algorithm}: debts made while the clock steps never add up to more than one window`,
      async (bench) => {
        const bucket = bucketOf(algorithm, 3, '1m');
        for (const seconds of [-40, 90, -3_600, 7_200, -1, 1, -59]) {
          await bench.charge(bucket, 5);
          step(bench.clock, seconds);
        }
        const { retryAfter } = await bench.consume(bucket, 3);
        assert(retryAfter <= 60_000_000, `waits ${retryAfter} µs`);
        bench.clock.advance('1m');
        assert.equal((await bench.consume(bucket, 3)).allowed, true);
      },
    );
  }

  specify('gcra: a full bucket still waits one interval after the clock stepped back', async (bench) => {
    const bucket = bucketOf('gcra', 3, '1m');
    await bench.consume(bucket, 3);
    step(bench.clock, -11);
    const { allowed, retryAfter } = await bench.consume(bucket);
    assert.deepEqual([allowed, retryAfter], [false, 20_000_000]);
  });

  specify('fixed: a clock that steps into another window opens it empty', async (bench) => {
    const bucket = bucketOf('fixed', 3, '1m');
    await bench.consume(bucket, 3);
    step(bench.clock, -3_600);
    assert.equal((await bench.consume(bucket)).remaining, 2);
    step(bench.clock, 7_200);
    assert.equal((await bench.consume(bucket)).remaining, 2);
  });
}

function step(clock: FakeClock, seconds: number): void {
  clock.setWall(new Date(clock.wall() / 1000 + seconds * 1000));
}

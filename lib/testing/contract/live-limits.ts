// The contract of limits that change while buckets are in use: the limit of the call at hand is the one that counts.

import { strict as assert } from 'node:assert';
import { ALGORITHMS, bucketOf, type Specify } from './bench.js';

export function liveLimits(specify: Specify): void {
  specify('fixed: a changed limit is compared with what was used so far', async (bench) => {
    await bench.consume(bucketOf('fixed', 100, '1m'), 50);
    const lowered = await bench.consume(bucketOf('fixed', 10, '1m'));
    assert.deepEqual([lowered.allowed, lowered.remaining], [false, 0]);
    const raised = await bench.consume(bucketOf('fixed', 60, '1m'));
    assert.deepEqual([raised.allowed, raised.remaining], [true, 9]);
    assert.equal(await bench.admitted(bucketOf('fixed', 60, '1m'), 9), 9);
  });

  specify('gcra: a changed limit keeps the share used: 50 of 100 becomes 30 of 60', async (bench) => {
    await bench.consume(bucketOf('gcra', 100, '1m'), 50);
    assert.equal((await bench.peek(bucketOf('gcra', 60, '1m'))).remaining, 30);
    assert.equal(await bench.admitted(bucketOf('gcra', 60, '1m'), 30), 30);
    assert.equal((await bench.peek(bucketOf('gcra', 10, '1m'))).remaining, 0);
  });

  specify('gcra: a bucket full by a high limit drains at the pace of the new one', async (bench) => {
    await bench.consume(bucketOf('gcra', 600, '1m'), 600);
    const lowered = bucketOf('gcra', 3, '1m');
    assert.equal((await bench.consume(lowered)).retryAfter, 20_000_000);
    const passed: number[] = [];
    for (let second = 1; second <= 60; second++) {
      bench.clock.advance('1s');
      if ((await bench.consume(lowered)).allowed) passed.push(second);
    }
    assert.deepEqual(passed, [20, 40, 60]);
  });

  for (const algorithm of ALGORITHMS) {
    specify(`${algorithm}: a cost above the limit passes once the limit is raised`, async (bench) => {
      assert.equal((await bench.consume(bucketOf(algorithm, 10, '1m'), 11)).retryAfter, Infinity);
      assert.equal((await bench.consume(bucketOf(algorithm, 20, '1m'), 11)).remaining, 9);
    });

    specify(
      `${algorithm}: after the window was shortened nobody waits longer than the new one`,
      async (bench) => {
        await bench.consume(bucketOf(algorithm, 10, '1h'), 10);
        const shorter = bucketOf(algorithm, 10, '1m');
        const { retryAfter } = await bench.consume(shorter, 10);
        assert(retryAfter <= 60_000_000, `waits ${retryAfter} µs`);
        bench.clock.advance('1m');
        assert.equal((await bench.consume(shorter, 10)).allowed, true);
      },
    );
  }

  specify('gcra: the same holds for a bucket of a refused list', async (bench) => {
    await bench.consume(bucketOf('gcra', 10, '1h'), 10);
    const shorter = bucketOf('gcra', 10, '1m', { cost: 10 });
    const [{ retryAfter }] = await bench.consumeAll([
      shorter,
      bucketOf('fixed', 1, '1h', { policy: 'other' }),
    ]);
    assert.equal(retryAfter, 60_000_000);
    bench.clock.advance('1m');
    assert.equal((await bench.consume(shorter)).allowed, true);
  });

  specify(
    'a policy whose algorithm changes goes on without an error, and clearing it reaches both',
    async (bench) => {
      const before = bucketOf('gcra', 3, '1m');
      const after = bucketOf('fixed', 3, '1m');
      await bench.consume(before, 3);
      assert.equal(await bench.admitted(after, 3), 3);
      await bench.consume(before);
      await bench.clear(before);
      assert.equal(await bench.admitted(before, 3), 3);
      assert.equal(await bench.admitted(after, 3), 3);
    },
  );
}

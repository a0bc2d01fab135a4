// The contract of GCRA's waits: a burst of the whole limit, then one unit per interval, exact to the microsecond.

import { strict as assert } from 'node:assert';
import type { Bucket } from '../../algorithms/verdict.js';
import { bucketOf, type Bench, type Specify } from './bench.js';

export function waits(specify: Specify): void {
  specify('gcra: the whole limit passes at once, then the wait is one interval', async (bench) => {
    for (const [limit, wait] of [
      [1, 60_000_000],
      [3, 20_000_000],
      [5, 12_000_000],
    ]) {
      const bucket = bucketOf('gcra', limit, '1m', { key: `limit ${limit}` });
      assert.equal(await bench.admitted(bucket, limit), limit);
      assert.equal((await bench.consume(bucket)).retryAfter, wait);
    }
  });

  specify('gcra: a call passes at the end of its wait and not a microsecond before', async (bench) => {
    for (const [limit, cost] of [
      [600, 1],
      [10, 4],
      [7, 3],
      [7, 7],
      [59_999, 1],
    ]) {
      const bucket = bucketOf('gcra', limit, '1m', { key: `${cost} of ${limit}` });
      await bench.consume(bucket, limit);
      const { retryAfter } = await bench.consume(bucket, cost);
      assert.equal(retryAfter, cost * Math.ceil(60_000_000 / limit));
      await passesAfter(bench, bucket, cost, retryAfter);
    }
  });

  specify('gcra: intervals below a millisecond are kept', async (bench) => {
    const bucket = bucketOf('gcra', 120_000, '1m');
    await bench.consume(bucket, 120_000);
    await passesAfter(bench, bucket, 1, 500);
    assert.equal((await bench.consume(bucket)).retryAfter, 500);
    bench.clock.advance('1s');
    assert.equal((await bench.consume(bucket, 2_000)).allowed, true);
    assert.equal((await bench.consume(bucket)).allowed, false);
  });

  specify('gcra: room returns steadily, not in lumps', async (bench) => {
    const bucket = bucketOf('gcra', 600, '1m');
    await bench.consume(bucket, 600);
    bench.clock.advance('99ms');
    assert.equal((await bench.consume(bucket)).retryAfter, 1_000);
    bench.clock.advance('1ms');
    assert.equal((await bench.consume(bucket)).allowed, true);
    bench.clock.advance('50ms');
    assert.equal((await bench.consume(bucket)).retryAfter, 50_000);
    bench.clock.advance('950ms');
    assert.equal((await bench.peek(bucket)).remaining, 10);
  });

  specify('gcra: whoever polls a full bucket gets exactly the rate', async (bench) => {
    const bucket = bucketOf('gcra', 2, '1m');
    await bench.consume(bucket, 2);
    const passed: number[] = [];
    for (let second = 1; second <= 120; second++) {
      bench.clock.advance('1s');
      if ((await bench.consume(bucket)).allowed) passed.push(second);
    }
    assert.deepEqual(passed, [30, 60, 90, 120]);
  });

  specify('gcra: resetAfter is the time until the bucket is empty', async (bench) => {
    const bucket = bucketOf('gcra', 10, '1m');
    assert.equal((await bench.peek(bucket)).resetAfter, 0);
    assert.equal((await bench.consume(bucket, 3)).resetAfter, 18_000_000);
    bench.clock.advanceMicroseconds(17_999_999);
    assert.equal((await bench.peek(bucket)).remaining, 9);
    bench.clock.advanceMicroseconds(1);
    const empty = await bench.peek(bucket);
    assert.deepEqual([empty.remaining, empty.resetAfter], [10, 0]);
  });
}

async function passesAfter(bench: Bench, bucket: Bucket, cost: number, wait: number): Promise<void> {
  bench.clock.advanceMicroseconds(wait - 1);
  assert.equal((await bench.consume(bucket, cost)).retryAfter, 1);
  bench.clock.advanceMicroseconds(1);
  assert.equal((await bench.consume(bucket, cost)).allowed, true);
}

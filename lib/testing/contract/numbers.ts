// The contract of large numbers: windows of years, limits of a trillion, debts without end, all exact.

import { strict as assert } from 'node:assert';
import { ALGORITHMS, bucketOf, type Specify } from './bench.js';

const YEAR = 8_760 * 3_600_000_000;
const TRILLION = 2 ** 40;

export function numbers(specify: Specify): void {
  specify('gcra: a window of a year is exact to the microsecond', async (bench) => {
    const bucket = bucketOf('gcra', 1, '8760h');
    bench.clock.advanceMicroseconds(1);
    assert.equal((await bench.consume(bucket)).resetAfter, YEAR);
    bench.clock.advanceMicroseconds(1);
    assert.equal((await bench.consume(bucket)).retryAfter, YEAR - 1);
    bench.clock.advanceMicroseconds(YEAR - 2);
    assert.equal((await bench.consume(bucket)).retryAfter, 1);
    bench.clock.advanceMicroseconds(1);
    assert.equal((await bench.consume(bucket)).allowed, true);
  });

  specify('fixed: a window of a year is exact to the microsecond', async (bench) => {
    const bucket = bucketOf('fixed', 2, '8760h');
    bench.clock.advanceMicroseconds(1_234_567);
    const end = YEAR - (bench.clock.wall() % YEAR);
    assert.equal((await bench.consume(bucket, 2)).resetAfter, end);
    assert.equal((await bench.consume(bucket)).retryAfter, end);
    bench.clock.advanceMicroseconds(end - 1);
    assert.equal((await bench.consume(bucket)).retryAfter, 1);
    bench.clock.advanceMicroseconds(1);
    assert.equal((await bench.consume(bucket)).remaining, 1);
  });

  for (const algorithm of ALGORITHMS) {
    specify(`${algorithm}: ten years are a window like any other`, async (bench) => {
      const bucket = bucketOf(algorithm, 3, '87600h');
      assert.equal(await bench.admitted(bucket, 3), 3);
      bench.clock.advance('1h');
      assert.equal((await bench.consume(bucket)).allowed, false);
    });

    specify(`${algorithm}: a debt of any size is no error`, async (bench) => {
      const bucket = bucketOf(algorithm, 10, '1m');
      for (const cost of [2 ** 31, 2 ** 32, 2 ** 52, Number.MAX_SAFE_INTEGER])
        await bench.charge(bucket, cost);
      assert.equal((await bench.peek(bucket)).remaining, 0);
    });
  }

  specify('fixed: a limit of 2^40 counts every unit', async (bench) => {
    const bucket = bucketOf('fixed', TRILLION, '1h');
    assert.equal((await bench.consume(bucket, TRILLION - 2)).remaining, 2);
    assert.equal((await bench.consume(bucket)).remaining, 1);
    assert.equal((await bench.consume(bucket, 2)).allowed, false);
    const last = await bench.consume(bucket);
    assert.equal(last.remaining, 0);
    await bench.refund({ charge: last, cost: 1 });
    assert.equal((await bench.peek(bucket)).remaining, 1);
  });

  specify('fixed: counts pass 2^31 and 2^32 without a break', async (bench) => {
    const bucket = bucketOf('fixed', TRILLION, '1h');
    await bench.consume(bucket, 2 ** 31 - 2);
    assert.equal((await bench.consume(bucket, 10)).remaining, TRILLION - 2 ** 31 - 8);
    await bench.consume(bucket, 2 ** 31 - 10);
    assert.equal((await bench.consume(bucket, 10)).remaining, TRILLION - 2 ** 32 - 8);
  });

  specify('gcra: a million in a second is one per microsecond', async (bench) => {
    const bucket = bucketOf('gcra', 60_000_000, '1m');
    await bench.consume(bucket, 60_000_000);
    assert.equal((await bench.consume(bucket)).retryAfter, 1);
    bench.clock.advanceMicroseconds(1);
    assert.equal((await bench.consume(bucket)).allowed, true);
    assert.equal((await bench.consume(bucket, 1_000_000)).retryAfter, 1_000_000);
  });
}

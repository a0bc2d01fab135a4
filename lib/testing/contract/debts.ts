// The contract of `charge`: costs already incurred count whether there is room or not.

import { strict as assert } from 'node:assert';
import { ALGORITHMS, bucketOf, type Specify } from './bench.js';

export function debts(specify: Specify): void {
  for (const algorithm of ALGORITHMS) {
    specify(`${algorithm}: a charge with room answers and counts as a consume does`, async (bench) => {
      const one = bucketOf(algorithm, 10, '1m', { key: 'one' });
      const two = { ...one, key: 'two' };
      const { bucket: _consumed, ...consumed } = await bench.consume(one, 4);
      const { bucket: _charged, ...charged } = await bench.charge(two, 4);
      assert.deepEqual(charged, consumed);
      assert.equal(charged.taken, 4 * one.rate.unit);
    });

    specify(
      `${algorithm}: a charge without room is not allowed, and fills the bucket all the same`,
      async (bench) => {
        const bucket = bucketOf(algorithm, 10, '1m');
        await bench.consume(bucket, 8);
        const charged = await bench.charge(bucket, 5);
        assert.deepEqual([charged.allowed, charged.remaining], [false, 0]);
        assert(charged.retryAfter > 0);
        assert.equal((await bench.consume(bucket)).allowed, false);
      },
    );

    specify(
      `${algorithm}: a charge above the limit says that it never fits, and fills the bucket`,
      async (bench) => {
        const bucket = bucketOf(algorithm, 10, '1m');
        const charged = await bench.charge(bucket, 25);
        assert.deepEqual([charged.allowed, charged.retryAfter, charged.remaining], [false, Infinity, 0]);
        assert.equal((await bench.consume(bucket)).allowed, false);
      },
    );

    specify(`${algorithm}: no debt makes anyone wait longer than one window`, async (bench) => {
      const bucket = bucketOf(algorithm, 10, '1m');
      for (let call = 0; call < 5; call++) await bench.charge(bucket, 1_000);
      bench.clock.advance('1m');
      assert.equal((await bench.consume(bucket, 10)).allowed, true);
    });
  }

  specify('fixed: a debt is kept until the window ends', async (bench) => {
    const bucket = bucketOf('fixed', 10, '1m');
    assert.equal((await bench.charge(bucket, 15)).taken, 15);
    bench.clock.advance('30s');
    assert.equal((await bench.consume(bucketOf('fixed', 15, '1m'))).allowed, false);
    assert.equal((await bench.consume(bucketOf('fixed', 16, '1m'))).allowed, true);
    bench.clock.advanceMicroseconds(29_999_999);
    assert.equal((await bench.consume(bucket)).retryAfter, 1);
    bench.clock.advanceMicroseconds(1);
    assert.equal((await bench.consume(bucket)).remaining, 9);
  });

  specify('gcra: a debt fills the bucket up at one window and is forgotten beyond', async (bench) => {
    const bucket = bucketOf('gcra', 10, '1m');
    await bench.consume(bucket, 4);
    const charged = await bench.charge(bucket, 25);
    assert.deepEqual([charged.taken, charged.resetAfter], [36_000_000, 60_000_000]);
    assert.equal((await bench.charge(bucket, 1)).taken, 0);
    assert.equal((await bench.consume(bucket)).retryAfter, 6_000_000);
    bench.clock.advance('6s');
    assert.equal((await bench.consume(bucket)).allowed, true);
  });
}

// The contract of fixed windows: they start at multiples of their length since the epoch, and start empty.

import { strict as assert } from 'node:assert';
import { ALGORITHMS, bucketOf, type Specify } from './bench.js';

export function windows(specify: Specify): void {
  specify('fixed: resetAfter is the time left in the window, down to its last microsecond', async (bench) => {
    const bucket = bucketOf('fixed', 10, '1m');
    bench.clock.advance('20s');
    const used = await bench.consume(bucket, 3);
    assert.deepEqual([used.remaining, used.resetAfter], [7, 40_000_000]);
    bench.clock.advance('39s');
    assert.equal((await bench.peek(bucket)).resetAfter, 1_000_000);
    bench.clock.advanceMicroseconds(999_999);
    assert.deepEqual(pick(await bench.peek(bucket)), [7, 1]);
    bench.clock.advanceMicroseconds(1);
    assert.deepEqual(pick(await bench.peek(bucket)), [10, 60_000_000]);
  });

  specify('fixed: a refusal waits for the rest of the window, not for a whole one', async (bench) => {
    const bucket = bucketOf('fixed', 1, '1m');
    bench.clock.advance('5s');
    await bench.consume(bucket);
    bench.clock.advance('20s');
    assert.equal((await bench.consume(bucket)).retryAfter, 35_000_000);
    bench.clock.advanceMicroseconds(34_200_000);
    assert.equal((await bench.consume(bucket)).retryAfter, 800_000);
  });

  specify(
    'fixed: a full window passes right before a boundary, and another one right after',
    async (bench) => {
      const bucket = bucketOf('fixed', 6, '1m');
      bench.clock.advanceMicroseconds(59_999_999);
      assert.equal(await bench.admitted(bucket, 6), 6);
      bench.clock.advanceMicroseconds(1);
      assert.equal(await bench.admitted(bucket, 6), 6);
    },
  );

  specify('fixed: windows of any length are aligned to the epoch', async (bench) => {
    bench.clock.advanceMicroseconds(12_345_678);
    const lengths = [
      bucketOf('fixed', 1, '500ms', { key: 'half a second' }),
      bucketOf('fixed', 1, '7m', { key: 'seven minutes' }),
      bucketOf('fixed', 1, '1h', { key: 'an hour' }),
      bucketOf('fixed', 1, '24h', { key: 'a day' }),
    ];
    for (const bucket of lengths) {
      const { window } = bucket.rate;
      assert.equal(
        (await bench.consume(bucket)).resetAfter,
        window - (bench.clock.wall() % window),
        bucket.key,
      );
    }
  });

  specify('fixed: an hour of one minute after another starts each minute afresh', async (bench) => {
    const bucket = bucketOf('fixed', 2, '1m');
    for (let minute = 0; minute < 60; minute++) {
      assert.equal((await bench.consume(bucket)).remaining, 1);
      bench.clock.advance('1m');
    }
  });

  for (const algorithm of ALGORITHMS) {
    specify(`${algorithm}: one call per second passes a limit of one per second for ever`, async (bench) => {
      const bucket = bucketOf(algorithm, 1, '1s');
      for (let second = 0; second < 60; second++) {
        assert.equal((await bench.consume(bucket)).allowed, true, `second ${second}`);
        bench.clock.advance('1s');
      }
    });

    specify(`${algorithm}: 30 idle days save up nothing beyond the limit`, async (bench) => {
      const bucket = bucketOf(algorithm, 3, '1s');
      await bench.consume(bucket);
      bench.clock.advance('720h');
      assert.deepEqual((await bench.consume(bucket)).remaining, 2);
      assert.equal(await bench.admitted(bucket, 2), 2);
    });
  }
}

function pick(verdict: { remaining: number; resetAfter: number }): [number, number] {
  return [verdict.remaining, verdict.resetAfter];
}

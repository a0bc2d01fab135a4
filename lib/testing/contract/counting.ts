// The contract of one bucket: how many calls it admits, what it says about itself, and what it never charges for.

import { strict as assert } from 'node:assert';
import { ALGORITHMS, bucketOf, type Specify } from './bench.js';

export function counting(specify: Specify): void {
  for (const algorithm of ALGORITHMS) {
    for (const limit of [1, 2, 10]) {
      specify(
        `${algorithm}: a limit of ${limit} admits exactly ${limit}, and refuses the next`,
        async (bench) => {
          const bucket = bucketOf(algorithm, limit, '1m');
          assert.equal(await bench.admitted(bucket, limit), limit);
        },
      );
    }

    specify(`${algorithm}: remaining counts down to 0 and stays there on refusals`, async (bench) => {
      const bucket = bucketOf(algorithm, 3, '1m');
      const remaining: number[] = [];
      for (let call = 0; call < 5; call++) remaining.push((await bench.consume(bucket)).remaining);
      assert.deepEqual(remaining, [2, 1, 0, 0, 0]);
    });

    specify(`${algorithm}: costs add up to the limit`, async (bench) => {
      const bucket = bucketOf(algorithm, 10, '1m');
      assert.equal((await bench.consume(bucket, 7)).remaining, 3);
      assert.equal((await bench.consume(bucket, 3)).remaining, 0);
      assert.equal((await bench.consume(bucket, 1)).allowed, false);
    });

    specify(`${algorithm}: a call that asks for too much leaves the room to a smaller one`, async (bench) => {
      const bucket = bucketOf(algorithm, 10, '1m');
      await bench.consume(bucket, 8);
      const refused = await bench.consume(bucket, 5);
      assert.deepEqual([refused.allowed, refused.remaining], [false, 2]);
      const passed = await bench.consume(bucket, 2);
      assert.deepEqual([passed.allowed, passed.remaining], [true, 0]);
    });

    specify(`${algorithm}: refusals neither cost anything nor make anyone wait longer`, async (bench) => {
      const bucket = bucketOf(algorithm, 3, '1m');
      await bench.consume(bucket, 1);
      const first = await bench.consume(bucket, 3);
      for (let call = 0; call < 20; call++) assert.deepEqual(await bench.consume(bucket, 3), first);
      bench.clock.advanceMicroseconds(first.retryAfter);
      assert.equal((await bench.consume(bucket, 3)).allowed, true);
    });

    specify(`${algorithm}: a cost above the limit can never pass and charges nothing`, async (bench) => {
      const bucket = bucketOf(algorithm, 10, '1m');
      const never = await bench.consume(bucket, 11);
      assert.deepEqual([never.allowed, never.retryAfter, never.remaining], [false, Infinity, 10]);
      await bench.holds(0);
      assert.equal((await bench.consume(bucket, 10)).allowed, true);
      assert.equal((await bench.peek(bucket, 11)).retryAfter, Infinity);
    });

    specify(
      `${algorithm}: a cost of 0 always passes, takes nothing and tells what is left`,
      async (bench) => {
        const bucket = bucketOf(algorithm, 3, '1m');
        assert.equal((await bench.consume(bucket, 0)).remaining, 3);
        await bench.holds(0);
        await bench.consume(bucket, 3);
        const look = await bench.consume(bucket, 0);
        assert.deepEqual([look.allowed, look.remaining], [true, 0]);
        assert.equal((await bench.charge(bucket, 0)).taken, 0);
        await bench.charge(bucket, 10);
        assert.equal((await bench.consume(bucket, 0)).allowed, true);
      },
    );

    specify(`${algorithm}: of 50 calls at once exactly as many pass as the limit says`, async (bench) => {
      const admitted = await bench.race(50, bucketOf(algorithm, 10, '1m'));
      const remaining = admitted.map((verdict) => verdict.remaining).toSorted((a, b) => b - a);
      assert.deepEqual(remaining, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    });

    specify(`${algorithm}: a peek changes nothing, however often`, async (bench) => {
      const bucket = bucketOf(algorithm, 3, '1m');
      await bench.peek(bucket);
      await bench.holds(0);
      await bench.consume(bucket);
      const before = await bench.peek(bucket, 0);
      for (let call = 0; call < 20; call++) await bench.peek(bucket, call % 5);
      assert.deepEqual(await bench.peek(bucket, 0), before);
      assert.equal(await bench.admitted(bucket, 2), 2);
    });

    specify(`${algorithm}: a peek answers what a consume of the same cost would`, async (bench) => {
      const bucket = bucketOf(algorithm, 4, '1m');
      for (const cost of [1, 2, 3, 0, 1, 1, 5]) {
        const peeked = await bench.peek(bucket, cost);
        const consumed = await bench.consume(bucket, cost);
        assert.deepEqual([peeked.allowed, peeked.retryAfter], [consumed.allowed, consumed.retryAfter]);
        const spent = consumed.allowed ? cost : 0;
        assert.equal(peeked.remaining - spent, consumed.remaining);
        bench.clock.advance('2s');
      }
    });
  }

  specify('closing a store twice is fine', async (bench) => {
    await bench.consume(bucketOf('gcra', 1, '1m'));
    await bench.store.close();
    await bench.store.close();
  });
}

// The contract of `refund`: only what its own charge still occupies comes back, and nothing is created.

import { strict as assert } from 'node:assert';
import { ALGORITHMS, bucketOf, type Specify } from './bench.js';

export function refunds(specify: Specify): void {
  for (const algorithm of ALGORITHMS) {
    const bucket = bucketOf(algorithm, 10, '1m');

    specify(`${algorithm}: a refund gives the room back at once`, async (bench) => {
      const charge = await bench.consume(bucket, 10);
      await bench.refund({ charge, cost: 1 });
      assert.equal((await bench.peek(bucket)).remaining, 1);
      assert.equal((await bench.consume(bucket)).allowed, true);
      assert.equal((await bench.consume(bucket)).allowed, false);
    });

    specify(`${algorithm}: a refund of more than was charged gives back what was charged`, async (bench) => {
      await bench.consume(bucket, 2);
      const charge = await bench.consume(bucket, 3);
      await bench.refund({ charge, cost: 50 });
      assert.equal((await bench.peek(bucket)).remaining, 8);
    });

    specify(
      `${algorithm}: a refund of the only charge leaves the bucket as if never charged`,
      async (bench) => {
        const charge = await bench.consume(bucket, 3);
        await bench.refund({ charge, cost: 3 });
        assert.equal(await bench.admitted(bucket, 10), 10);
      },
    );

    specify(
      `${algorithm}: a refund of a refusal, of a peek or of cost 0 gives nothing back`,
      async (bench) => {
        const full = await bench.consume(bucket, 10);
        await bench.refund({ charge: await bench.consume(bucket), cost: 1 });
        await bench.refund({ charge: await bench.peek(bucket), cost: 1 });
        await bench.refund({ charge: full, cost: 0 });
        assert.equal((await bench.peek(bucket)).remaining, 0);
      },
    );

    specify(`${algorithm}: a refund to a bucket that is gone creates none`, async (bench) => {
      const charge = await bench.consume(bucket, 3);
      await bench.clear(bucket);
      await bench.refund({ charge, cost: 3 });
      await bench.holds(0);
      assert.equal(await bench.admitted(bucket, 10), 10);
    });

    specify(`${algorithm}: a refund one window later gives nothing back`, async (bench) => {
      const charge = await bench.consume(bucket, 10);
      bench.clock.advance('1m');
      await bench.consume(bucket, 4);
      await bench.refund({ charge, cost: 10 });
      assert.equal((await bench.peek(bucket)).remaining, 6);
    });

    specify(`${algorithm}: a debt gives back no more than it took`, async (bench) => {
      await bench.consume(bucket, 6);
      const charge = await bench.charge(bucket, 9);
      await bench.refund({ charge, cost: 9 });
      assert.equal((await bench.peek(bucket)).remaining, 4);
    });

    specify(`${algorithm}: a refund reaches only its own client`, async (bench) => {
      const other = { ...bucket, key: 'other' };
      await bench.consume(other, 10);
      const charge = await bench.consume(bucket, 10);
      await bench.refund({ charge, cost: 10 });
      assert.equal((await bench.peek(other)).remaining, 0);
    });
  }

  specify('fixed: a refund at the start of the next window does not reach into it', async (bench) => {
    const bucket = bucketOf('fixed', 10, '1m');
    bench.clock.advance('59s');
    const charge = await bench.consume(bucket, 10);
    bench.clock.advance('1s');
    await bench.consume(bucket, 10);
    await bench.refund({ charge, cost: 10 });
    assert.equal((await bench.peek(bucket)).remaining, 0);
  });

  specify('gcra: a refund gives back what the charge still occupies, not what has drained', async (bench) => {
    const bucket = bucketOf('gcra', 10, '1m');
    const charge = await bench.consume(bucket, 10);
    bench.clock.advance('30s');
    await bench.consume(bucket, 5);
    await bench.refund({ charge, cost: 10 });
    assert.equal((await bench.peek(bucket)).resetAfter, 30_000_000);
  });

  specify('gcra: a refund after the limit changed gives back the share that was charged', async (bench) => {
    const charge = await bench.consume(bucketOf('gcra', 100, '1m'), 50);
    const lowered = bucketOf('gcra', 60, '1m');
    assert.equal((await bench.consume(lowered, 6)).remaining, 24);
    await bench.refund({ charge, cost: 50 });
    assert.equal((await bench.peek(lowered)).remaining, 54);
  });

  specify(
    'gcra: a refund after the window was lengthened takes nothing from later charges',
    async (bench) => {
      const charge = await bench.consume(bucketOf('gcra', 10, '1m'));
      const longer = bucketOf('gcra', 10, '1h');
      await bench.charge(longer, 10);
      await bench.refund({ charge, cost: 1 });
      assert.equal((await bench.peek(longer)).resetAfter, 3_594_000_000);
    },
  );
}

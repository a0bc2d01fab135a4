// The contract of several buckets in one step: all are charged, or none is.

import { strict as assert } from 'node:assert';
import type { Bucket } from '../../algorithms/verdict.js';
import { bucketOf, type Specify } from './bench.js';

const user = bucketOf('gcra', 10, '1m', { policy: 'user', key: 'u1' });
const network = bucketOf('fixed', 5, '1m', { policy: 'network', key: '203.0.113.7' });
const total = bucketOf('fixed', 100, '1h', { policy: 'total', key: 'all' });

export function lists(specify: Specify): void {
  specify('a list with room in every bucket charges every bucket, each by its own cost', async (bench) => {
    const verdicts = await bench.consumeAll([costing(user, 4), network, costing(total, 30)]);
    assert.deepEqual(
      verdicts.map(({ allowed, remaining }) => [allowed, remaining]),
      [
        [true, 6],
        [true, 4],
        [true, 70],
      ],
    );
  });

  specify('a list with one full bucket charges none, whatever its place and algorithm', async (bench) => {
    await bench.consume(network, 5);
    const orders = [
      [user, network, total],
      [network, user, total],
      [user, total, network],
    ];
    for (const order of orders) {
      const verdicts = await bench.consumeAll(order);
      for (const { bucket, allowed } of verdicts) assert.equal(allowed, bucket.policy !== 'network');
    }
    assert.equal((await bench.peek(user)).remaining, 10);
    assert.equal((await bench.peek(total)).remaining, 100);

    await bench.clear(network);
    await bench.consume(user, 10);
    await bench.consumeAll([network, user]);
    assert.equal((await bench.peek(network)).remaining, 5);
  });

  specify('a refused list creates no counter', async (bench) => {
    await bench.consume(network, 5);
    await bench.consumeAll([user, network, total]);
    await bench.holds(1);
    assert.equal((await bench.peek(user)).resetAfter, 0);
  });

  specify('each verdict of a refused list tells the wait of its own bucket', async (bench) => {
    await bench.consume(user, 10);
    await bench.consume(network, 5);
    bench.clock.advance('20s');
    const verdicts = await bench.consumeAll([costing(user, 6), network, total]);
    assert.deepEqual(
      verdicts.map((verdict) => verdict.retryAfter),
      [16_000_000, 40_000_000, 0],
    );
  });

  specify('a cost above one limit refuses the whole list', async (bench) => {
    const verdicts = await bench.consumeAll([user, costing(network, 6)]);
    assert.deepEqual(
      verdicts.map((verdict) => verdict.retryAfter),
      [0, Infinity],
    );
    assert.equal((await bench.peek(user)).remaining, 10);
  });

  specify('a full bucket of cost 0 refuses nothing', async (bench) => {
    await bench.consume(network, 5);
    const verdicts = await bench.consumeAll([user, costing(network, 0)]);
    assert.deepEqual(
      verdicts.map(({ allowed, remaining }) => [allowed, remaining]),
      [
        [true, 9],
        [true, 0],
      ],
    );
  });

  specify('a peek at a list answers for each bucket and charges none', async (bench) => {
    await bench.consume(network, 5);
    const verdicts = await bench.peekAll([user, network]);
    assert.deepEqual(
      verdicts.map((verdict) => verdict.allowed),
      [true, false],
    );
    await bench.holds(1);
  });

  specify('a charge of a list charges every bucket, full ones too', async (bench) => {
    await bench.consume(network, 5);
    const verdicts = await bench.chargeAll([costing(user, 3), network]);
    assert.deepEqual(
      verdicts.map(({ allowed, taken }) => [allowed, taken]),
      [
        [true, 3 * user.rate.unit],
        [false, 1],
      ],
    );
    assert.equal((await bench.peek(user)).remaining, 7);
  });

  specify(
    'a refund of a list gives back every charge, and a clear of a list forgets every bucket',
    async (bench) => {
      const charges = await bench.consumeAll([costing(user, 10), costing(network, 5), total]);
      await bench.refund(...charges.map((charge) => ({ charge, cost: 2 })));
      assert.deepEqual(
        (await bench.peekAll([user, network, total])).map((verdict) => verdict.remaining),
        [2, 2, 100],
      );
      await bench.clear(user, network);
      assert.deepEqual(
        (await bench.peekAll([user, network])).map((verdict) => verdict.remaining),
        [10, 5],
      );
    },
  );

  specify('of 20 lists at once none is charged in part, and no limit is passed', async (bench) => {
    const calls = Array.from({ length: 20 }, () => bench.consumeAll([user, network]));
    const answers = await Promise.all(calls);
    const admitted = answers.filter((verdicts) => verdicts.every((verdict) => verdict.allowed)).length;
    assert(admitted >= 1 && admitted <= 5, `${admitted} of at most 5 admitted`);
    assert.equal((await bench.peek(user)).remaining, 10 - admitted);
    assert.equal((await bench.peek(network)).remaining, 5 - admitted);
  });
}

function costing(bucket: Bucket, cost: number): Bucket {
  return { ...bucket, cost };
}

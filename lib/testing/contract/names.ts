// The contract of names: buckets are told apart by namespace and key, whatever text a key is.

import { strict as assert } from 'node:assert';
import type { Bucket } from '../../algorithms/verdict.js';
import { ALGORITHMS, bucketOf, type Bench, type Specify } from './bench.js';

/** Pairs and lists of names that careless stores mix up, fold, cut, quote wrongly or read as something else. */
const KEYS: readonly string[] = [
  'client',
  'Client',
  'client ',
  ' client',
  'clien',
  'client:1',
  'client\\1',
  '203.0.113.7',
  '2001:db8::/64',
  '{tag}',
  '{}',
  '*',
  '?',
  '%',
  '_',
  '0',
  '-1',
  '1e3',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  'a"b',
  "a'b",
  "'; DROP TABLE buckets; --",
  '$1',
  ':1',
  'ключ',
  '鍵',
  '\u{1F511}',
  'caf\u00e9',
  'cafe\u0301',
  'k'.repeat(63),
  'k'.repeat(64),
];

export function names(specify: Specify): void {
  for (const algorithm of ALGORITHMS) {
    specify(`${algorithm}: keys are told apart, whatever printable text they are`, async (bench) => {
      const buckets = KEYS.map((key) => bucketOf(algorithm, KEYS.length, '1m', { key }));
      await countApart(bench, buckets);
      await bench.holds(KEYS.length);
    });

    specify(
      `${algorithm}: namespaces are told apart, also where parts of names look alike`,
      async (bench) => {
        const pairs = [
          ['a', 'b'],
          ['b', 'a'],
          ['a:b', 'c'],
          ['a', 'b:c'],
          ['a:b:c', ':'],
          ['a|user', '1'],
          ['a', 'user|1'],
          ['a user', '1'],
          ['__proto__', '1'],
        ];
        await countApart(
          bench,
          pairs.map(([namespace, key]) => bucketOf(algorithm, pairs.length, '1m', { namespace, key })),
        );
      },
    );

    specify(`${algorithm}: a clear forgets that bucket alone`, async (bench) => {
      const bucket = bucketOf(algorithm, 3, '1m');
      const sameKey = bucketOf(algorithm, 3, '1m', { namespace: 'other policy' });
      const sameNamespace = bucketOf(algorithm, 3, '1m', { key: 'other client' });
      for (const each of [bucket, sameKey, sameNamespace]) await bench.consume(each, 3);
      await bench.clear({ namespace: bucket.namespace, key: bucket.key });
      await bench.holds(2);
      assert.equal((await bench.peek(sameKey)).remaining, 0);
      assert.equal((await bench.peek(sameNamespace)).remaining, 0);
      assert.equal(await bench.admitted(bucket, 3), 3);
    });
  }

  specify('a clear of a bucket that does not exist does nothing', async (bench) => {
    await bench.clear({ namespace: 'policy', key: 'nobody' }, { namespace: 'nothing', key: 'nobody' });
    await bench.holds(0);
  });

  specify('the same name counts once, whatever the policy is called in decisions', async (bench) => {
    const bucket = bucketOf('gcra', 2, '1m', { namespace: 'shared' });
    await bench.consume(bucket);
    const renamed = bucketOf('gcra', 2, '1m', { policy: 'renamed', namespace: 'shared' });
    const verdict = await bench.consume(renamed);
    assert.deepEqual([verdict.remaining, verdict.bucket.policy], [0, 'renamed']);
  });
}

/** Charges the first bucket once, the second twice and so on, then finds exactly that in each. */
async function countApart(bench: Bench, buckets: readonly Bucket[]): Promise<void> {
  for (const [index, bucket] of buckets.entries()) await bench.consume(bucket, index + 1);
  for (const [index, bucket] of buckets.entries()) {
    const { remaining } = await bench.peek(bucket);
    assert.equal(remaining, buckets.length - index - 1, `${bucket.namespace} / ${bucket.key}`);
  }
}

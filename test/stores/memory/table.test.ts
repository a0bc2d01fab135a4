import { describe, expect, it } from 'vitest';
import { createRate, type Algorithm } from '../../../lib/algorithms/rate.js';
import type { Bucket } from '../../../lib/algorithms/verdict.js';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

function setUp(maxKeys: number) {
  const clock = new FakeClock();
  const store = new MemoryStore({ clock, maxKeys });
  const events: RateLimitEvent[] = [];
  store.report = (event) => events.push(event);
  return { clock, store, events };
}

function bucketOf(algorithm: Algorithm, key: string, cost = 1, namespace = 'p'): Bucket {
  return { policy: 'p', namespace, key, cost, rate: createRate(algorithm, 5, 60_000_000) };
}

describe.each<Algorithm>(['gcra', 'fixed'])('a full table of %s', (algorithm) => {
  const remaining = (store: MemoryStore, key: string) => store.peek([bucketOf(algorithm, key)])[0].remaining;
  const consume = (store: MemoryStore, key: string, cost = 1) =>
    store.consume([bucketOf(algorithm, key, cost)])[0];

  it('M02 never holds more keys than its maximum', () => {
    const { store } = setUp(1_000);
    let most = 0;
    for (let i = 0; i < 5_000; i++) {
      consume(store, `k${i}`);
      most = Math.max(most, store.size);
    }
    expect([store.size, most]).toEqual([1_000, 1_000]);
  });

  it('M03 forgets nobody: who is exhausted stays exhausted whatever newcomers come', () => {
    const { store, clock } = setUp(1_000);
    consume(store, 'x', 5);
    for (let i = 0; i < 5_000; i++) consume(store, `k${i}`);
    expect(consume(store, 'x').allowed).toBe(false);
    clock.advanceMicroseconds(1);
    for (let i = 0; i < 5_000; i++) consume(store, `m${i}`);
    expect(consume(store, 'x').allowed).toBe(false);
  });

  it('makes newcomers share one bucket while all others are live', () => {
    const { store } = setUp(2);
    consume(store, 'a');
    consume(store, 'b');
    expect(consume(store, 'c', 3).remaining).toBe(2);
    expect(consume(store, 'd', 2).remaining).toBe(0);
    expect(consume(store, 'e').allowed).toBe(false);
    expect(store.size).toBe(2);
  });

  it('leaves everyone alone who has a bucket of his own', () => {
    const { store } = setUp(2);
    consume(store, 'a');
    consume(store, 'b');
    for (let i = 0; i < 20; i++) consume(store, `newcomer ${i}`);
    expect(consume(store, 'a').remaining).toBe(3);
    expect(consume(store, 'b').remaining).toBe(3);
  });

  it('reports once per namespace that newcomers share', () => {
    const { store, events } = setUp(1);
    for (let i = 0; i < 10; i++) consume(store, `k${i}`);
    expect(events).toEqual([{ type: 'overflow', namespace: 'p', maxKeys: 1 }]);
    for (let i = 0; i < 10; i++) store.consume([bucketOf(algorithm, `k${i}`, 1, 'q')]);
    expect(events).toHaveLength(2);
    expect(events[1]).toMatchObject({ namespace: 'q' });
  });

  it('cannot be cleared of the shared bucket, by any name', () => {
    const { store } = setUp(1);
    consume(store, 'a');
    consume(store, 'b', 5);
    store.clear([
      { namespace: 'p', key: 'b' },
      { namespace: 'p', key: '' },
    ]);
    expect(consume(store, 'b').allowed).toBe(false);
    store.clearAll();
    expect(consume(store, 'b').allowed).toBe(true);
  });

  it('gives a refund of the shared bucket to the shared bucket', () => {
    const { store } = setUp(1);
    consume(store, 'a', 4);
    const charge = consume(store, 'b', 5);
    store.refund([{ charge, cost: 3 }]);
    expect(remaining(store, 'c')).toBe(3);
    expect(remaining(store, 'a')).toBe(1);
  });

  it('gives such a refund to the shared bucket also when the client has got a bucket since', () => {
    const { store } = setUp(1);
    consume(store, 'a', 1);
    const charge = consume(store, 'b', 5);
    store.clear([{ namespace: 'p', key: 'a' }]);
    consume(store, 'b', 2);
    store.refund([{ charge, cost: 5 }]);
    expect(remaining(store, 'b')).toBe(3);
  });

  it('charges debts to the shared bucket too', () => {
    const { store } = setUp(1);
    consume(store, 'a');
    expect(store.charge([bucketOf(algorithm, 'b', 50)])[0].allowed).toBe(false);
    expect(remaining(store, 'c')).toBe(0);
  });

  it('peeks at the shared bucket for newcomers', () => {
    const { store } = setUp(1);
    consume(store, 'a');
    consume(store, 'b', 2);
    expect(remaining(store, 'nobody')).toBe(3);
  });

  it('drops a bucket that equals a fresh one for a newcomer, and only such a one', () => {
    const { store, clock } = setUp(3);
    consume(store, 'live', 5);
    consume(store, 'old');
    clock.advance('1m');
    store.charge([bucketOf(algorithm, 'live', 5)]);
    consume(store, 'other');
    expect(consume(store, 'new').remaining).toBe(4);
    expect(consume(store, 'newer').remaining).toBe(4);
    expect(consume(store, 'live').allowed).toBe(false);
    expect(store.size).toBe(3);
  });

  it('looks at 32 buckets at most to find room for a newcomer', () => {
    const { store, clock, events } = setUp(200);
    for (let i = 0; i < 100; i++) consume(store, `old ${i}`);
    clock.advance('1m');
    for (let i = 0; i < 100; i++) consume(store, `live ${i}`);
    // The search goes from the end, where the live ones are: 32, 64, 96, then room.
    for (let i = 0; i < 3; i++) expect(consume(store, `newcomer ${i}`).remaining).toBe(4 - i);
    expect(events).toHaveLength(1);
    expect(consume(store, 'newcomer 3').remaining).toBe(4);
    expect(store.size).toBeLessThan(200);
  });

  it('charges all or none of a list of newcomers that meet in the shared bucket', () => {
    const { store } = setUp(1);
    consume(store, 'a');
    const list = [bucketOf(algorithm, 'b', 3), bucketOf(algorithm, 'c', 3)];
    const verdicts = store.consume(list);
    expect(verdicts.some((verdict) => !verdict.allowed)).toBe(true);
    expect(verdicts.map((verdict) => verdict.taken)).toEqual([0, 0]);
    expect(remaining(store, 'b')).toBe(5);
    expect(
      store.consume([bucketOf(algorithm, 'b', 3), bucketOf(algorithm, 'c', 2)]).map((v) => v.allowed),
    ).toEqual([true, true]);
  });

  it('charges all or none of a list when its first bucket takes the last slot', () => {
    const { store } = setUp(2);
    consume(store, 'a');
    consume(store, 'b');
    consume(store, 'full', 4);
    store.clear([{ namespace: 'p', key: 'b' }]);
    const verdicts = store.consume([bucketOf(algorithm, 'c', 2), bucketOf(algorithm, 'd', 2)]);
    expect(verdicts.map((verdict) => verdict.allowed)).toContain(false);
    expect(remaining(store, 'c')).toBe(5);
    expect(consume(store, 'a').remaining).toBe(3);
  });
});

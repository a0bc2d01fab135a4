import { describe, expect, it, test } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import type { Bucket, OnStoreError, Verdict } from '../../lib/algorithms/verdict.js';
import { TollgateError } from '../../lib/errors.js';
import type { RateLimitEvent } from '../../lib/events/event.js';
import { FailoverStore, unlimited } from '../../lib/limiter/failover.store.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { RateLimitStore, type BucketName, type Refund } from '../../lib/stores/store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { storeContract } from '../../lib/testing/store-contract.js';

const MINUTE = createRate('fixed', 3, 60e6);

/** A store behind a connection: it answers later, or not at all. */
class Remote extends RateLimitStore {
  readonly memory: MemoryStore;
  override readonly clock;
  down = false;
  asked = 0;

  constructor(clock: FakeClock) {
    super();
    this.clock = clock;
    this.memory = new MemoryStore({ clock });
  }

  override consume = (buckets: readonly Bucket[]) => this.answer(() => this.memory.consume(buckets));
  override peek = (buckets: readonly Bucket[]) => this.answer(() => this.memory.peek(buckets));
  override charge = (buckets: readonly Bucket[]) => this.answer(() => this.memory.charge(buckets));
  override refund = (refunds: readonly Refund[]) => this.answer(() => this.memory.refund(refunds));
  override clear = (names: readonly BucketName[]) => this.answer(() => this.memory.clear(names));
  override lease: RateLimitStore['lease'] = (calls) => this.answer(() => this.memory.lease(calls));
  override close = () => this.memory.close();

  private async answer<T>(step: () => T): Promise<T> {
    this.asked++;
    await Promise.resolve();
    if (this.down) throw new TollgateError('TOLLGATE_STORE_UNKNOWN', 'no answer');
    return step();
  }
}

function setup(onStoreError: OnStoreError = 'local') {
  const remote = new Remote(new FakeClock());
  const store = new FailoverStore(remote, { onStoreError, unavailable: () => new Error('closed') });
  const events: RateLimitEvent[] = [];
  store.report = (event) => void events.push(event);
  return { remote, store, events };
}

function bucket(key: string, more: Partial<Bucket> = {}): Bucket {
  return { policy: 'p', namespace: 'user:p', key, rate: MINUTE, cost: 1, ...more };
}

const pass = async (store: FailoverStore, ...buckets: Bucket[]) =>
  (await store.consume(buckets, 100)).every(({ allowed }) => allowed);

/** How many of `tries` pass. */
async function admitted(store: FailoverStore, tries: number, of: Bucket): Promise<number> {
  let passed = 0;
  for (let i = 0; i < tries; i++) if (await pass(store, of)) passed++;
  return passed;
}

storeContract({
  test,
  create: (clock) =>
    new FailoverStore(new MemoryStore({ clock }), {
      onStoreError: 'closed',
      unavailable: () => new Error('closed'),
    }),
});

describe('while the store is down', () => {
  it('K11 local limits go on with the same numbers, and a store that comes and goes gives no fresh bucket', async () => {
    const { remote, store } = setup();
    expect(await admitted(store, 2, bucket('a'))).toBe(2);
    remote.down = true;
    expect(await admitted(store, 9, bucket('a'))).toBe(3);
    remote.down = false;
    remote.clock.advance('300ms');
    expect(await admitted(store, 3, bucket('a'))).toBe(1);
    remote.down = true;
    expect(await admitted(store, 9, bucket('a'))).toBe(0);
  });

  it('open limits pass and count nothing, but those against guessing are local', async () => {
    const { remote, store } = setup('open');
    remote.down = true;
    expect(await admitted(store, 9, bucket('a'))).toBe(9);
    expect(await admitted(store, 9, bucket('b', { hidden: true }))).toBe(3);
    expect(await admitted(store, 9, bucket('c', { onStoreError: 'local' }))).toBe(3);
  });

  it('closed limits let nothing pass, and nothing else of the step is charged', async () => {
    const { remote, store } = setup();
    remote.down = true;
    const closed = bucket('a', { onStoreError: 'closed' });
    await expect(store.consume([bucket('b'), closed], 100)).rejects.toThrow('closed');
    await expect(store.peek([closed], 100)).rejects.toThrow('closed');
    await expect(store.charge([closed], 100)).rejects.toThrow('closed');
    expect(await admitted(store, 9, bucket('b'))).toBe(3);
  });

  it('mixed limits of one step each go their way, in the order they were asked', async () => {
    const { remote, store } = setup();
    remote.down = true;
    const asked = [bucket('a', { onStoreError: 'open' }), bucket('b'), bucket('c', { onStoreError: 'open' })];
    const verdicts = await store.consume(asked, 100);
    expect(verdicts.map(({ bucket: of }) => of)).toEqual(asked);
    expect(verdicts.map(({ taken }) => taken)).toEqual([0, 1, 0]);
  });

  it('I06 K12 what was charged here is given back here, what was charged there is given back there or not at all', async () => {
    const { remote, store } = setup();
    const [there] = await store.consume([bucket('a', { cost: 3 })], 100);
    remote.down = true;
    const [here] = await store.consume([bucket('a', { cost: 3 })], 100);
    await expect(store.refund([{ charge: there, cost: 3 }], 100)).rejects.toThrow('no answer');
    expect(await pass(store, bucket('a'))).toBe(false);
    await store.refund([{ charge: here, cost: 3 }], 100);
    expect(await pass(store, bucket('a'))).toBe(true);
    remote.down = false;
    remote.clock.advance('300ms');
    expect((await store.peek([bucket('a')], 100))[0].remaining).toBe(0);
    await store.refund([{ charge: there, cost: 3 }], 100);
    expect((await store.peek([bucket('a')], 100))[0].remaining).toBe(3);
  });

  it('clearing forgets what was counted here, and fails nobody', async () => {
    const { remote, store } = setup();
    remote.down = true;
    expect(await admitted(store, 9, bucket('a'))).toBe(3);
    await store.clear([bucket('a')], 100);
    expect(await admitted(store, 9, bucket('a'))).toBe(3);
  });

  it('it is asked three times, then one call in a while tries; told once when it ends and once when it is back', async () => {
    const { remote, store, events } = setup();
    remote.down = true;
    await admitted(store, 100, bucket('a'));
    expect(remote.asked).toBe(3);
    remote.clock.advance('300ms');
    await admitted(store, 50, bucket('a'));
    expect(remote.asked).toBe(4);
    expect(events).toEqual([{ type: 'store-down', problem: 'TOLLGATE_STORE_UNKNOWN' }]);
    remote.down = false;
    remote.clock.advance('300ms');
    await admitted(store, 2, bucket('b'));
    expect(events.map(({ type }) => type)).toEqual(['store-down', 'store-up']);
  });

  it('a request without time left is answered by the policy, and says nothing about the store', async () => {
    const { remote, store, events } = setup();
    for (let i = 0; i < 10; i++) await store.consume([bucket('a')], 0);
    expect([remote.asked, events]).toEqual([0, []]);
  });

  it('a request without time left is refused as one with time where its limit is closed', async () => {
    const { store } = setup('closed');
    await expect(Promise.resolve().then(() => store.consume([bucket('a')], 0))).rejects.toThrow('closed');
  });

  it('limits on trial are never closed', async () => {
    const remote = new Remote(new FakeClock());
    const unavailable = () => new Error('closed');
    const store = new FailoverStore(remote, { onStoreError: 'closed', unavailable, dryRun: true });
    remote.down = true;
    expect(await admitted(store, 9, bucket('a'))).toBe(3);
    expect(await admitted(store, 9, bucket('b', { onStoreError: 'closed' }))).toBe(3);
  });

  it('what the store remembers is answered at once, and says nothing about its servers', async () => {
    const { remote, store, events } = setup();
    remote.down = true;
    const remembered: Verdict[] = [unlimited(bucket('a'))];
    const { consume } = remote;
    for (let i = 0; i < 3; i++) {
      await store.consume([bucket('a')], 100);
      if (i === 2) break;
      Object.assign(remote, { consume: () => remembered });
      expect(store.consume([bucket('a')], 100)).toBe(remembered);
      Object.assign(remote, { consume });
    }
    expect(events.map(({ type }) => type)).toEqual(['store-down']);
  });

  it('no bucket at all is everything left', () => {
    const free: Verdict = unlimited(bucket('a'));
    expect(free).toMatchObject({ allowed: true, remaining: 3, taken: 0, retryAfter: 0 });
  });
});

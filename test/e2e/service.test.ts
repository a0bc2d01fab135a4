import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  MemoryStore,
  RateLimitModule,
  RateLimitService,
  type NamedQuota,
  type Quota,
  type RateLimitOptions,
  type Receipt,
  type ServiceDecision,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { checkNestVersion } from './support/nest-version.js';

const UNITS: Quota = { limit: 10, per: '1m', algorithm: 'fixed' };
const CALLS: Quota = { limit: 10, per: '1m' };

/** The service of an app without HTTP: a worker, a command. */
async function setup(options: RateLimitOptions = {}) {
  const clock = new FakeClock();
  const policies = { units: UNITS, calls: CALLS, network: { ...UNITS, limit: 100 } };
  const app = await NestFactory.createApplicationContext(
    RateLimitModule.forRoot({ policies, store: new MemoryStore({ clock }), ...options }),
    { logger: false, abortOnError: false },
  );
  onTestFinished(() => app.close());
  return { app, clock, service: app.get(RateLimitService) };
}

function receiptOf(decision: ServiceDecision): Receipt {
  if (decision.receipt === null) throw new Error('nothing was charged');
  return decision.receipt;
}

const remaining = async (service: RateLimitService, policy: string | NamedQuota, key: string) =>
  (await service.peek(policy, key)).remaining;

checkNestVersion();

describe('RateLimitService', () => {
  it('consumes by a named policy, and tells the client', async () => {
    const { service } = await setup();
    const decision = await service.consume('units', 'a', 3);
    expect(decision).toMatchObject({
      allowed: true,
      policy: 'units',
      limit: 10,
      cost: 3,
      remaining: 7,
      resetAfter: 60,
      retryAfter: 0,
      reason: null,
      headers: { 'ratelimit-limit': '10', 'ratelimit-remaining': '7', 'ratelimit-reset': '60' },
    });
    const refused = await service.consume('units', 'a', 8);
    expect(refused).toMatchObject({
      allowed: false,
      remaining: 7,
      retryAfter: 60,
      reason: 'limit-exceeded',
      receipt: null,
      headers: { 'retry-after': '60', 'cache-control': 'no-store' },
    });
    expect(await service.consume('units', 'b')).toMatchObject({ allowed: true, cost: 1, remaining: 9 });
  });

  it('is injected anywhere, as the module is global', async () => {
    @Injectable()
    class Mailer {
      constructor(private readonly limits: RateLimitService) {}

      send(to: string): Promise<ServiceDecision> {
        return this.limits.consume({ name: 'mail', limit: 1, per: '1h' }, to);
      }
    }

    @Module({ providers: [Mailer] })
    class Mail {}

    @Module({ imports: [RateLimitModule.forRoot(), Mail] })
    class App {}
    const app = await NestFactory.createApplicationContext(App, { logger: false });
    onTestFinished(() => app.close());
    const mailer = app.get(Mailer, { strict: false });
    expect(await mailer.send('a@x.example')).toMatchObject({ allowed: true });
    // Another quota object of the name: the bucket goes by the name.
    expect(await mailer.send('a@x.example')).toMatchObject({ allowed: false, policy: 'mail' });
  });

  it('I02 is all or nothing: what a refused call asked for stays', async () => {
    const { service } = await setup();
    for (const policy of ['units', 'calls']) {
      await service.consume(policy, 'a', 8);
      expect(await service.consume(policy, 'a', 5)).toMatchObject({ allowed: false, remaining: 2 });
      expect(await service.consume(policy, 'a', 2)).toMatchObject({ allowed: true, remaining: 0 });
    }
  });

  it('I01 says that a cost above the limit never passes, and lets it once the limit is raised', async () => {
    let limit = 10;
    const { service } = await setup({
      policies: { units: { ...UNITS, limit: () => limit }, calls: { ...CALLS, limit: () => limit } },
    });
    for (const policy of ['units', 'calls']) {
      limit = 10;
      const never = await service.consume(policy, 'a', 11);
      expect(never).toMatchObject({
        allowed: false,
        reason: 'cost-exceeds-limit',
        retryAfter: null,
        remaining: 10,
        receipt: null,
      });
      expect(never.headers).not.toHaveProperty('retry-after');
      expect(await remaining(service, policy, 'a')).toBe(10);
      limit = 20;
      expect(await service.consume(policy, 'a', 11)).toMatchObject({ allowed: true, remaining: 9 });
    }
  });

  it('M07 lets exactly the limit pass of 100 calls at once', async () => {
    const { service } = await setup();
    for (const policy of ['units', 'calls']) {
      const decisions = await Promise.all(Array.from({ length: 100 }, () => service.consume(policy, 'a')));
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
    }
  });

  it('F02 and F03 count down to 0, for every limit and algorithm', async () => {
    const { service } = await setup();
    for (const algorithm of ['gcra', 'fixed'] as const) {
      for (const limit of [1, 2, 10]) {
        const quota: NamedQuota = { name: `${algorithm}-${limit}`, limit, per: '1m', algorithm };
        const seen: number[] = [];
        for (let call = 0; call < limit + 2; call++) {
          const decision = await service.consume(quota, 'a');
          expect(decision.allowed).toBe(call < limit);
          seen.push(decision.remaining);
        }
        expect(seen).toEqual([...Array.from({ length: limit }, (_, call) => limit - 1 - call), 0, 0]);
      }
    }
  });

  it('I11 looks with a cost of 0 and charges nothing, however often', async () => {
    const { service } = await setup();
    await service.consume('units', 'a', 4);
    for (let look = 0; look < 100; look++) {
      await service.peek('units', 'a');
      await service.consume('units', 'a', 0);
      await service.charge('units', 'a', 0);
    }
    expect(await service.peek('units', 'a')).toMatchObject({ remaining: 6, receipt: null });
    // Room for nothing is always there, and the state is told.
    await service.consume('units', 'a', 6);
    expect(await service.consume('units', 'a', 0)).toMatchObject({
      allowed: true,
      remaining: 0,
      receipt: null,
    });
    // Among others a bucket that is only looked at is told when it is the tightest.
    await service.consume('network', 'n', 99);
    const decision = await service.consume([
      { policy: 'units', key: 'b', cost: 3 },
      { policy: 'network', key: 'n', cost: 0 },
    ]);
    expect(decision).toMatchObject({ allowed: true, policy: 'network', remaining: 1 });
    expect(await remaining(service, 'network', 'n')).toBe(1);
  });

  it.each([-1, -0.5, 0.5, Number.NaN, Infinity, '5', 2 ** 53, null])(
    'I04 rejects a cost of %s and changes nothing',
    async (cost) => {
      const { service } = await setup();
      const decision = await service.consume('units', 'a', 3);
      const odd = cost as number;
      await expect(service.consume('units', 'a', odd)).rejects.toThrow(RangeError);
      await expect(service.peek('units', 'a', odd)).rejects.toThrow(RangeError);
      await expect(service.charge('units', 'a', odd)).rejects.toThrow(RangeError);
      await expect(service.refund(receiptOf(decision), odd)).rejects.toThrow(RangeError);
      const list = [
        { policy: 'units', key: 'a', cost: 1 },
        { policy: 'calls', key: 'a', cost: odd },
      ];
      await expect(service.consume(list)).rejects.toThrow(RangeError);
      expect(await remaining(service, 'units', 'a')).toBe(7);
      expect(receiptOf(decision).used).toBe(false);
    },
  );

  it('rejects unknown policies, empty keys and lists without buckets', async () => {
    const { service } = await setup();
    await expect(service.consume('missing', 'a')).rejects.toMatchObject({ code: 'TOLLGATE_UNKNOWN_POLICY' });
    await expect(service.consume('units', '')).rejects.toThrow(RangeError);
    await expect(service.consume([])).rejects.toThrow(RangeError);
    await expect(service.clear('missing', 'a')).rejects.toMatchObject({ code: 'TOLLGATE_UNKNOWN_POLICY' });
    await expect(service.peek({ limit: 1, per: '1m' } as NamedQuota, 'a')).rejects.toMatchObject({
      code: 'TOLLGATE_BAD_CONFIGURATION',
    });
  });

  describe('with a list', () => {
    const list = (key: string, cost: number) => [
      { policy: 'units', key, cost },
      { policy: 'network', key: 'n', cost },
    ];

    it('charges all or none, and reports the tightest or the longest wait', async () => {
      const { service } = await setup();
      expect(await service.consume(list('a', 4))).toMatchObject({
        allowed: true,
        policy: 'units',
        remaining: 6,
      });
      expect(await service.consume(list('a', 7))).toMatchObject({ allowed: false, policy: 'units' });
      expect(await remaining(service, 'units', 'a')).toBe(6);
      expect(await remaining(service, 'network', 'n')).toBe(96);
      await service.charge('network', 'n', 96);
      expect(await service.consume(list('b', 1))).toMatchObject({ allowed: false, policy: 'network' });
      expect(await remaining(service, 'units', 'b')).toBe(10);
    });

    it('reports the bucket with the longest wait when several refuse', async () => {
      const { service } = await setup();
      const hour: NamedQuota = { name: 'hour', limit: 1, per: '1h', algorithm: 'fixed' };
      await service.consume(hour, 'a');
      await service.consume('units', 'a', 10);
      for (const buckets of [
        [
          { policy: hour, key: 'a' },
          { policy: 'units', key: 'a' },
        ],
        [
          { policy: 'units', key: 'a' },
          { policy: hour, key: 'a' },
        ],
      ]) {
        expect(await service.consume(buckets)).toMatchObject({ policy: 'hour', retryAfter: 3600 });
      }
    });

    it('refunds all of its buckets by one receipt, and clears them in one call', async () => {
      const { service } = await setup();
      const decision = await service.consume(list('a', 4));
      expect(await service.refund(receiptOf(decision), 3)).toBe(true);
      expect(await remaining(service, 'units', 'a')).toBe(9);
      expect(await remaining(service, 'network', 'n')).toBe(99);
      await service.clear(list('a', 1));
      expect(await remaining(service, 'network', 'n')).toBe(100);
    });

    it('never charges a bucket without the others: a law', async () => {
      const { service } = await setup();
      const step = fc.record({ a: fc.integer({ min: 0, max: 6 }), b: fc.integer({ min: 0, max: 6 }) });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.uuid(), async (steps, key) => {
          let [usedA, usedB] = [0, 0];
          for (const { a, b } of steps) {
            const { allowed } = await service.consume([
              { policy: 'units', key, cost: a },
              { policy: 'calls', key, cost: b },
            ]);
            const fits = (usedA + a <= 10 || a === 0) && (usedB + b <= 10 || b === 0);
            expect(allowed).toBe(fits);
            if (fits) {
              usedA += a;
              usedB += b;
            }
            expect(await remaining(service, 'units', key)).toBe(10 - usedA);
            expect(await remaining(service, 'calls', key)).toBe(10 - usedB);
          }
        }),
        { numRuns: 100 },
      );
    });
  });

  describe('charge', () => {
    it('counts what was spent, room or not, and a fixed window keeps the debt', async () => {
      const { service, clock } = await setup();
      expect(await service.charge('units', 'a', 25)).toMatchObject({ allowed: false, remaining: 0 });
      expect(await service.consume('units', 'a')).toMatchObject({ allowed: false, retryAfter: 60 });
      clock.advance('60s');
      expect(await remaining(service, 'units', 'a')).toBe(10);
    });

    it('fills GCRA up at one window', async () => {
      const { service, clock } = await setup();
      await service.charge('calls', 'a', 25);
      expect(await service.consume('calls', 'a')).toMatchObject({ allowed: false, retryAfter: 6 });
      clock.advance('6s');
      expect(await service.consume('calls', 'a')).toMatchObject({ allowed: true });
    });
  });

  describe('refund', () => {
    it('I06 gives a charge back once', async () => {
      const { service } = await setup();
      for (const policy of ['units', 'calls']) {
        await service.consume(policy, 'a', 4);
        const receipt = receiptOf(await service.consume(policy, 'a', 3));
        expect(await service.refund(receipt)).toBe(true);
        expect(await remaining(service, policy, 'a')).toBe(6);
        expect(await service.refund(receipt)).toBe(false);
        expect(receipt.used).toBe(true);
        expect(await remaining(service, policy, 'a')).toBe(6);
      }
    });

    it('I06 gives a charge back once when asked twice at the same time', async () => {
      const { service } = await setup();
      await service.consume('units', 'a', 4);
      const receipt = receiptOf(await service.consume('units', 'a', 3));
      const answers = await Promise.all([
        service.refund(receipt),
        service.refund(receipt),
        service.refund(receipt),
      ]);
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await remaining(service, 'units', 'a')).toBe(6);
    });

    it('I05 gives back no more than was taken, and helps where nothing is left', async () => {
      const { service } = await setup();
      for (const policy of ['units', 'calls']) {
        await service.consume(policy, 'a', 4);
        const receipt = receiptOf(await service.consume(policy, 'a', 3));
        await service.refund(receipt, 50);
        expect(await remaining(service, policy, 'a')).toBe(6);
        const last = receiptOf(await service.consume(policy, 'a', 6));
        expect(await service.consume(policy, 'a')).toMatchObject({ allowed: false });
        await service.refund(last, 1);
        expect(await service.consume(policy, 'a')).toMatchObject({ allowed: true, remaining: 0 });
      }
    });

    it('I05 gives back a debt, unit by unit', async () => {
      const { service } = await setup();
      const receipt = receiptOf(await service.charge('units', 'a', 25));
      await service.refund(receipt, 20);
      expect(await remaining(service, 'units', 'a')).toBe(5);
    });

    it('does nothing once the window of the charge is over', async () => {
      const { service, clock } = await setup();
      const receipt = receiptOf(await service.consume('units', 'a', 3));
      clock.advance('60s');
      await service.consume('units', 'a', 5);
      expect(await service.refund(receipt)).toBe(true);
      expect(await remaining(service, 'units', 'a')).toBe(5);
    });

    it('gives back of GCRA only what the charge still occupies', async () => {
      const { service, clock } = await setup();
      const receipt = receiptOf(await service.consume('calls', 'a', 3));
      // Two of the three have drained, one is left to give back.
      clock.advance('12s');
      await service.consume('calls', 'a', 5);
      expect(await remaining(service, 'calls', 'a')).toBe(4);
      await service.refund(receipt);
      expect(await remaining(service, 'calls', 'a')).toBe(5);
      const late = receiptOf(await service.consume('calls', 'b', 3));
      clock.advance('18s');
      await service.consume('calls', 'b', 2);
      await service.refund(late);
      expect(await remaining(service, 'calls', 'b')).toBe(8);
    });

    it('makes no bucket where there is none', async () => {
      const store = new MemoryStore({ clock: new FakeClock() });
      const { service } = await setup({ store });
      const receipt = receiptOf(await service.consume('units', 'a', 3));
      await service.clear('units', 'a');
      expect(store.size).toBe(0);
      await service.refund(receipt);
      expect(store.size).toBe(0);
      expect(await remaining(service, 'units', 'a')).toBe(10);
    });

    it('never makes room for more than was charged: a law', async () => {
      const { service, clock } = await setup();
      const call = fc.record({
        cost: fc.integer({ min: 1, max: 5 }),
        back: fc.integer({ min: 0, max: 8 }),
        wait: fc.integer({ min: 0, max: 20_000_000 }),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(call, { maxLength: 10 }),
          fc.constantFrom('units', 'calls'),
          fc.uuid(),
          async (calls, policy, key) => {
            for (const { cost, back, wait } of calls) {
              const before = await remaining(service, policy, key);
              const decision = await service.consume(policy, key, cost);
              const after = await remaining(service, policy, key);
              if (decision.receipt !== null) await service.refund(decision.receipt, back);
              const refunded = await remaining(service, policy, key);
              expect(after).toBe(decision.allowed ? before - cost : before);
              expect(refunded).toBe(decision.allowed ? after + Math.min(back, cost) : before);
              clock.advanceMicroseconds(wait);
            }
          },
        ),
        { numRuns: 100 },
      );
    });
  });

  it('C07 reaches one counter by all operations, whatever the key', async () => {
    const { service } = await setup();
    const same = async (key: string) => {
      const receipt = receiptOf(await service.consume('units', key, 3));
      expect(await remaining(service, 'units', key)).toBe(7);
      await service.charge('units', key, 2);
      expect(await remaining(service, 'units', key)).toBe(5);
      await service.refund(receipt);
      expect(await remaining(service, 'units', key)).toBe(8);
      await service.clear('units', key);
      expect(await remaining(service, 'units', key)).toBe(10);
    };
    for (const key of ["o'brien", 'a b\n<x>&amp;', '🙂', '\ud800', '\udfff', 'x'.repeat(1_000_000)])
      await same(key);
    await fc.assert(fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1 }), same), { numRuns: 300 });
  });

  it('C05 and C06 keep no long or unprintable key readable, and keys that differ apart', async () => {
    const store = new MemoryStore({ clock: new FakeClock() });
    const keys = new Set<string>();
    const { consume } = store;
    store.consume = (buckets) => {
      for (const { key } of buckets) keys.add(key);
      return consume.call(store, buckets);
    };
    const { service } = await setup({ store });
    const long = `sk_test_SECRET${'x'.repeat(1_000_000)}`;
    for (const key of [`${long}a`, `${long}b`, 'user a@x.example']) await service.consume('units', key, 6);
    expect(keys.size).toBe(3);
    for (const key of keys) expect(key).toMatch(/^[\x21-\x7e]{1,64}$/);
    expect([...keys].join()).not.toMatch(/SECRET|x\.example/);
    expect(await remaining(service, 'units', `${long}b`)).toBe(4);
  });

  it("shares no counter with a route's throttle of the same policy", async () => {
    const { service } = await setup();
    await service.consume('units', '127.0.0.1', 10);
    expect(await service.consume({ ...UNITS, name: 'other' }, '127.0.0.1')).toMatchObject({ allowed: true });
  });

  it('waits for a store that needs I/O', async () => {
    class Slow extends MemoryStore {
      override consume(...given: Parameters<MemoryStore['consume']>): never {
        return Promise.resolve(super.consume(...given)) as never;
      }

      override peek(...given: Parameters<MemoryStore['peek']>): never {
        return Promise.resolve(super.peek(...given)) as never;
      }

      override charge(...given: Parameters<MemoryStore['charge']>): never {
        return Promise.resolve(super.charge(...given)) as never;
      }
    }
    const { service } = await setup({ store: new Slow({ clock: new FakeClock() }) });
    expect(await service.consume('units', 'a', 3)).toMatchObject({ allowed: true, remaining: 7 });
    expect(await service.charge('units', 'a', 3)).toMatchObject({ allowed: true, remaining: 4 });
    expect(await remaining(service, 'units', 'a')).toBe(4);
  });
});

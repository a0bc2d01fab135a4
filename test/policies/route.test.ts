import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import type { RateLimitEvent } from '../../lib/events/event.js';
import { RouteLimit, type CountBy, type Counting, type Subject } from '../../lib/policies/route.js';

const rate = createRate('gcra', 2, 60e6);
const GUEST: Subject = { key: null, user: null, network: '192.0.2.1' };
const USER: Subject = { key: null, user: 'u1', network: '192.0.2.1' };

function setup(by: CountBy<Subject>, counter = 'route GET /reports #1') {
  const events: RateLimitEvent[] = [];
  return {
    events,
    limit: new RouteLimit<Subject>(
      'GET /reports',
      counter,
      () => rate,
      { by },
      (event) => events.push(event),
    ),
  };
}

/** What makes two calls share a bucket. */
function name(limit: RouteLimit<Subject>, subject: Subject): string {
  const bucket = limit.bucket(subject);
  return JSON.stringify([bucket?.namespace, bucket?.key]);
}

describe('RouteLimit', () => {
  it('counts users by their id and guests by their network', () => {
    const { limit } = setup('user');
    expect(limit.bucket(USER)).toEqual({
      policy: 'GET /reports',
      namespace: 'user:route GET /reports #1',
      key: 'u1',
      rate,
      cost: 1,
      hidden: false,
    });
    expect(limit.bucket(GUEST)).toMatchObject({
      namespace: 'network:route GET /reports #1',
      key: '192.0.2.1',
    });
  });

  it('counts everyone by network where it says so', () => {
    const { limit } = setup('ip');
    expect(name(limit, USER)).toBe(name(limit, GUEST));
  });

  it("counts by the app's own text, which is never readable", () => {
    const { limit } = setup((call) => `tenant-of-${call.user}`);
    const bucket = limit.bucket(USER);
    expect(bucket?.namespace).toBe('custom:route GET /reports #1');
    expect(bucket?.key).not.toContain('tenant');
    expect(name(limit, USER)).toBe(name(limit, { ...USER, network: '192.0.2.9' }));
    expect(name(limit, USER)).not.toBe(name(limit, { ...USER, user: 'u2' }));
  });

  it('has no bucket while its rate is null', () => {
    const off = new RouteLimit<Subject>(
      'x',
      'x',
      () => null,
      { by: 'user' },
      () => {},
    );
    expect(off.bucket(USER)).toBeNull();
  });

  it('C02 never lets a user, a guest and a key of the app share, whatever the id', () => {
    const id = '192.0.2.1';
    const { limit } = setup('user');
    const { limit: own } = setup(() => id);
    const names = [
      name(limit, { key: null, user: id, network: '192.0.2.7' }),
      name(limit, GUEST),
      name(own, USER),
    ];
    expect(new Set(names).size).toBe(3);
  });

  it('C01 gives different pairs of counter and user different buckets', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 80 }),
      fc.string({ unit: fc.constantFrom(':', '|', '/', '{', '}', ',', '\0', '#', ' ', 'a'), maxLength: 6 }),
    );
    const pair = fc.record({ counter: part, user: part.filter((text) => text !== '') });
    fc.assert(
      fc.property(pair, pair, (a, b) => {
        fc.pre(a.counter !== b.counter || a.user !== b.user);
        const first = name(setup('user', a.counter).limit, { ...USER, user: a.user });
        const second = name(setup('user', b.counter).limit, { ...USER, user: b.user });
        expect(first).not.toBe(second);
      }),
      { numRuns: 1_000 },
    );
  });

  it('C06 keeps keys within 64 printable bytes, and long ids apart in their last character', () => {
    const { limit } = setup('user');
    const long = 'x'.repeat(1_000_000);
    const keys = [`${long}a`, `${long}b`, '√ñ', 'a b', 'x'.repeat(64), 'x'.repeat(65)].map(
      (user) => limit.bucket({ ...USER, user })?.key ?? '',
    );
    for (const key of keys) expect(key).toMatch(/^[\x21-\x7e]{1,64}$/);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys[5]).not.toContain('xxx');
  });

  it.each([undefined, null, '', NaN, true, {}, 0, Symbol('key'), ['a']])(
    'C04 falls back to the network when by() gives %s, and says so',
    (given) => {
      const { limit, events } = setup(() => given as never);
      expect(limit.bucket(USER)).toMatchObject({
        namespace: 'network:route GET /reports #1',
        key: '192.0.2.1',
      });
      expect(limit.bucket({ ...USER, network: '192.0.2.2' })?.key).toBe('192.0.2.2');
      expect(events[0]).toMatchObject({ type: 'unusable-key', policy: 'GET /reports' });
    },
  );

  it('C04 falls back to the network when by() throws, whatever it throws', () => {
    for (const thrown of [new Error('no tenant'), 'text', undefined, null]) {
      const { limit, events } = setup(() => {
        throw thrown;
      });
      expect(limit.bucket(USER)).toMatchObject({ key: '192.0.2.1' });
      expect(events).toHaveLength(1);
    }
  });

  it('C04 falls back when by() is async by mistake, and leaves no rejection behind', async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', note);
    try {
      const { limit, events } = setup((() => Promise.reject(new Error('too late'))) as never);
      expect(limit.bucket(USER)).toMatchObject({ key: '192.0.2.1' });
      expect(events).toMatchObject([{ type: 'unusable-key' }]);
      // Node tells of unhandled rejections once the microtasks are done.
      await new Promise((resolve) => setImmediate(resolve));
      expect(rejections).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('counts by user, and for real, where nothing else is said', () => {
    const limit = new RouteLimit<Subject>(
      'x',
      'x',
      () => rate,
      {},
      () => {},
    );
    expect(limit.bucket(USER)?.namespace).toBe('user:x');
    expect(limit.dryRun).toBe(false);
  });

  it.each<[Counting<Subject>, string]>([
    [{ limit: 10, per: '1m' }, '10/1m by user'],
    [{ limit: 10, per: '1m', by: 'ip' }, '10/1m by ip'],
    [{ limit: 10, per: '1m', by: () => 'tenant' }, '10/1m by a key'],
    [{ limit: () => 10, per: '500ms' }, 'live/500ms by user'],
    [{}, 'from settings by user'],
    [{ limit: 10, per: '1m', dryRun: true }, '10/1m by user (dry run)'],
    [{ limit: 10, per: '1m', dryRun: false }, '10/1m by user'],
  ])('describes %o as %s, and asks no function for it', (counting, text) => {
    const never = (): never => {
      throw new Error('asked');
    };
    const limit = new RouteLimit<Subject>('x', 'x', never, counting, never);
    expect(limit.describe()).toBe(text);
  });
});

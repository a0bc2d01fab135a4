import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../lib/events/event.js';
import { CallCost, costProblem } from '../../lib/policies/cost.js';

const LARGEST = Number.MAX_SAFE_INTEGER;

/** A cost whose function may break its promise. */
function dynamic(give: (call: unknown) => unknown) {
  const events: RateLimitEvent[] = [];
  const cost = new CallCost<unknown>(
    '@Cost() on A.b',
    (call) => give(call) as number,
    (event) => events.push(event),
  );
  return { cost, events };
}

describe('costProblem', () => {
  it.each([1, 20, LARGEST])('takes %j', (cost) => {
    expect(costProblem(cost)).toBeNull();
  });

  it.each([
    [0, '0'],
    [-0, '0'],
    [-1, '-1'],
    [-0.5, '-0.5'],
    [0.5, '0.5'],
    [Number.NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [2 ** 53, '9007199254740992'],
    ['5', '"5"'],
    [null, 'null'],
    [undefined, 'undefined'],
    [true, 'true'],
    [5n, '5'],
    [[5], 'a list'],
    [{}, 'an object'],
    [() => 5, 'a function'],
  ])('I04 refuses %o, naming it and what to do', (cost, shown) => {
    expect(costProblem(cost)).toMatch(/^cost is \S+.*: give a whole number above 0/);
    expect(costProblem(cost)).toContain(`cost is ${shown}:`);
  });
});

describe('the cost of a call', () => {
  it('is what was given, for every call', () => {
    const events: RateLimitEvent[] = [];
    const cost = new CallCost('@Cost() on A.b', 20, (event) => events.push(event));
    expect([cost.of({}), cost.fixed, cost.describe()]).toEqual([20, 20, '20']);
    expect(events).toEqual([]);
  });

  it('is what the function says of this call', () => {
    const cost = new CallCost<{ rows: number }>(
      '@Cost() on A.b',
      ({ rows }) => rows * 2,
      () => {},
    );
    expect([cost.of({ rows: 1 }), cost.of({ rows: 50 })]).toEqual([2, 100]);
    expect([cost.fixed, cost.describe()]).toEqual([null, 'dynamic']);
  });

  it.each([
    [1, 1],
    [LARGEST, LARGEST],
  ])('is %j as it is, and nothing to report', (given, charged) => {
    const { cost, events } = dynamic(() => given);
    expect(cost.of({})).toBe(charged);
    expect(events).toEqual([]);
  });

  it.each([
    [0, 1, 'it is 0, not above 0'],
    [-0, 1, 'it is 0, not above 0'],
    [-1, 1, 'it is -1, not above 0'],
    [-0.5, 1, 'it is -0.5, not above 0'],
    [-Infinity, 1, 'it is -Infinity, not above 0'],
    [Number.NaN, 1, 'it is NaN, not above 0'],
    [0.5, 1, 'it is 0.5, no whole number'],
    [5e-324, 1, 'it is 5e-324, no whole number'],
    [2.1, 3, 'it is 2.1, no whole number'],
    [2 ** 53, LARGEST, 'it is 9007199254740992, too large'],
    [Infinity, LARGEST, 'it is Infinity, too large'],
    ['5', 1, 'it is a string, no number'],
    [null, 1, 'it is null, no number'],
    [undefined, 1, 'it is undefined, no number'],
    [true, 1, 'it is a boolean, no number'],
    [5n, 1, 'it is a bigint, no number'],
    [[5], 1, 'it is an object, no number'],
    [{ valueOf: () => 5 }, 1, 'it is an object, no number'],
  ])('I04 of %o is %o, and reported', (given, charged, problem) => {
    const { cost, events } = dynamic(() => given);
    expect(cost.of({})).toBe(charged);
    expect(events).toEqual([{ type: 'invalid-cost', where: '@Cost() on A.b', problem, cost: charged }]);
  });

  it('I04 is 1 when the function throws, and what was thrown is told by its name', () => {
    const { cost, events } = dynamic(() => {
      throw new RangeError('token abc');
    });
    expect(cost.of({})).toBe(1);
    expect(events).toEqual([
      { type: 'invalid-cost', where: '@Cost() on A.b', problem: 'it threw RangeError', cost: 1 },
    ]);
  });

  it('I04 is 1 when the function is async, and its rejection ends no process', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const { cost, events } = dynamic(() => Promise.reject(new Error('late')));
      expect(cost.of({})).toBe(1);
      await new Promise(setImmediate);
      expect(unhandled).toEqual([]);
      expect(events).toMatchObject([{ problem: 'it is a promise, no number', cost: 1 }]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('I04 is 1 of what throws as soon as it is looked at', () => {
    const hostile = new Proxy(
      {},
      {
        getPrototypeOf() {
          throw new Error('no');
        },
      },
    );
    expect(dynamic(() => hostile).cost.of({})).toBe(1);
    expect(
      dynamic(() => {
        throw hostile;
      }).cost.of({}),
    ).toBe(1);
  });

  it('I04 is a safe whole number above 0, whatever is returned', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.anything()), (given) => {
        const charged = dynamic(() => given).cost.of({});
        expect(Number.isSafeInteger(charged) && charged >= 1).toBe(true);
        // Never less than what was asked, as far as numbers go.
        if (typeof given === 'number' && given <= LARGEST) expect(charged).toBeGreaterThanOrEqual(given);
      }),
      { numRuns: 1_000 },
    );
  });

  it('reports each kind of problem once: numbers that clients vary hide no other', () => {
    const { cost, events } = dynamic(Number);
    for (let i = 0; i < 100; i++) cost.of(-i);
    expect(events).toHaveLength(1);
    for (let i = 0; i < 100; i++) expect(cost.of(i + 0.5)).toBe(i + 1);
    expect(events).toHaveLength(2);
    cost.of(Infinity);
    cost.of(Symbol('no number'));
    expect(events).toHaveLength(4);
  });

  it('reports ten problems at most', () => {
    let calls = 0;
    const { cost, events } = dynamic(() => {
      throw Object.assign(Object.create(Error.prototype), { constructor: { name: `Problem${calls++}` } });
    });
    for (let i = 0; i < 100; i++) cost.of(1);
    expect(events).toHaveLength(10);
  });
});

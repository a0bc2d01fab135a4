import { runInNewContext } from 'node:vm';
import type { ExecutionContext } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import { Identities } from '../../../lib/nest/throttle/identity.js';
import type { Identify } from '../../../lib/nest/options.js';

const context = {} as ExecutionContext;

function setup(identify: Identify | null = null) {
  const events: RateLimitEvent[] = [];
  return { events, identities: new Identities(identify, (event) => events.push(event)) };
}

function ofUser(user: unknown) {
  const { events, identities } = setup();
  return { id: identities.ofRequest({ headers: {}, user }), events };
}

/** As MongoDB's driver has it: an id that is an object. */
class ObjectId {
  toHexString(): string {
    return '65a1';
  }
}

class Uuid {
  toString(): string {
    return '0c8e';
  }
}

describe('Identities', () => {
  it.each([
    [{ id: 'a', sub: 'b', userId: 'c' }, 'a'],
    [{ sub: 'b', userId: 'c' }, 'b'],
    [{ id: null, sub: undefined, userId: 'c' }, 'c'],
    [{ id: 0 }, '0'],
    [{ id: 12n }, '12'],
    [{ id: new ObjectId() }, '65a1'],
    [{ id: new Uuid() }, '0c8e'],
    ['a', 'a'],
    [7, '7'],
  ])('finds the id of the user %o', (user, id) => {
    expect(ofUser(user)).toEqual({ id, events: [] });
  });

  it.each([undefined, null, false])('takes %s for a guest, without a word', (user) => {
    expect(ofUser(user)).toEqual({ id: null, events: [] });
  });

  it.each([
    {},
    { id: '' },
    { id: Number.NaN },
    { id: Infinity },
    { id: true },
    { id: {} },
    { id: Object.create(null) },
    { id: Symbol('id') },
    { id: () => 'a' },
    true,
    '',
    [],
  ])('counts the network, and says so, for the user %o', (user) => {
    const { id, events } = ofUser(user);
    expect(id).toBeNull();
    expect(events).toMatchObject([{ type: 'unusable-key', policy: 'identify' }]);
  });

  it("asks the app's own function, and answers at once where that does", () => {
    expect(setup(() => 'a').identities.of(context)).toBe('a');
    expect(setup(() => 7).identities.of(context)).toBe('7');
    for (const guest of [null, undefined]) {
      const { events, identities } = setup(() => guest);
      expect(identities.of(context)).toBeNull();
      expect(events).toEqual([]);
    }
  });

  it('waits for a promise, of whatever kind', async () => {
    const foreign: PromiseConstructor = runInNewContext('Promise');
    expect(foreign.resolve('a')).not.toBeInstanceOf(Promise);
    for (const promise of [Promise, foreign]) {
      expect(await setup(() => promise.resolve('a')).identities.of(context)).toBe('a');
      const { events, identities } = setup(() => promise.reject(new Error('no session')));
      expect(await identities.of(context)).toBeNull();
      expect(events).toMatchObject([{ problem: 'identify() failed with Error' }]);
    }
  });

  it.each([new Error('no session'), 'no session', undefined])(
    'counts the network when it throws %s',
    (thrown) => {
      const { events, identities } = setup(() => {
        throw thrown;
      });
      expect(identities.of(context)).toBeNull();
      expect(events).toMatchObject([{ type: 'unusable-key', policy: 'identify' }]);
    },
  );
});

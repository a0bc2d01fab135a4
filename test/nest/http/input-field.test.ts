import { describe, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import { HttpCaller } from '../../../lib/nest/http/http-caller.js';
import { readInput, type InputSource } from '../../../lib/nest/http/input-field.js';
import type { FrameworkRequest } from '../../../lib/nest/http/request-state.js';
import { FakeResponse, makeLimits, rawRequestFrom } from './support.js';

/** What is read of a request, and what is reported. */
function read(source: InputSource, parts: Partial<FrameworkRequest> = {}) {
  const { limits } = makeLimits();
  const request: FrameworkRequest = { ...rawRequestFrom('203.0.113.5'), ...parts };
  const caller = new HttpCaller(limits.capture(request), request, new FakeResponse(), 'u', null);
  const events: RateLimitEvent[] = [];
  const value = readInput(source, caller, '@PublicTool', (event) => void events.push(event));
  return { value, events };
}

const post = (body: unknown): Partial<FrameworkRequest> => ({ method: 'POST', body, url: '/?session=q' });

describe('a field of the input', () => {
  it.each<[unknown, unknown]>([
    [{ session: 't' }, 't'],
    [{ session: '' }, ''],
    [{ session: ['t'] }, ['t']],
    [{ session: 5 }, 5],
    [{ session: null }, null],
    [Object.assign(Object.create(null), { session: 't' }), 't'],
    [{}, undefined],
    [Object.create({ session: 't' }), undefined],
    ['session=t', undefined],
    [null, undefined],
    [undefined, undefined],
  ])('of the body %o is %o', (body, value) => {
    expect(read('session', post(body)).value).toEqual(value);
  });

  it.each(['toString', 'constructor', '__proto__', 'hasOwnProperty'])(
    'is none that every object has: %s',
    (name) => {
      expect(read(name, post({ session: 't' })).value).toBeUndefined();
    },
  );

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'QUERY', undefined])('is of the body on %s', (method) => {
    expect(read('session', { ...post({ session: 't' }), method }).value).toBe('t');
    expect(read('session', { ...post(undefined), method }).value).toBeUndefined();
  });

  it.each(['GET', 'HEAD'])('is a query parameter on %s, whatever the body', (method) => {
    expect(read('session', { ...post({ session: 't' }), method }).value).toBe('q');
  });

  it.each<[string | undefined, string | undefined]>([
    ['/?session=t', 't'],
    ['/?a=1&session=a%20b', 'a b'],
    ['/?session=a+b', 'a b'],
    ['/?session=', ''],
    ['/?session', ''],
    ['/?sess%69on=t', 't'],
    ['/?session=t&session=t', undefined],
    ['/?session[]=t', undefined],
    ['/?Session=t', undefined],
    ['/session=t', undefined],
    ['/', undefined],
    [undefined, undefined],
  ])('of the URL %j is %j', (url, value) => {
    expect(read('session', { url }).value).toBe(value);
  });
});

describe('a function of the call', () => {
  it('sees who is calling and how', () => {
    const source: InputSource = ({ address, user, transport }) => `${transport} ${address} ${user}`;
    expect(read(source)).toEqual({ value: 'http 203.0.113.5 u', events: [] });
  });

  it.each<[unknown, unknown]>([
    ['t', 't'],
    [5, '5'],
    [5n, '5'],
    [null, null],
    [undefined, undefined],
    [['t'], ['t']],
  ])('that gives %o finds %o', (given, value) => {
    expect(read(() => given)).toEqual({ value, events: [] });
  });

  it('that throws finds nothing, and what it threw is told by its name', () => {
    const source: InputSource = () => {
      throw new RangeError('SECRET');
    };
    expect(read(source)).toEqual({
      value: undefined,
      events: [{ type: 'unusable-key', policy: '@PublicTool', problem: 'its function threw RangeError' }],
    });
  });

  it('that is async by mistake gives no text, and its rejection ends no process', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      expect(read(() => Promise.reject(new Error('late')))).toMatchObject({
        value: undefined,
        events: [{ problem: 'its function is async: it must answer at once' }],
      });
      await new Promise(setImmediate);
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });
});

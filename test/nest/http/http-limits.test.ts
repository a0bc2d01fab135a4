import { describe, expect, it } from 'vitest';
import { createRate } from '../../../lib/algorithms/rate.js';
import type { HeaderFormat } from '../../../lib/responses/headers.js';
import { RateLimitException } from '../../../lib/nest/http/rate-limit.exception.js';
import { FakeReply, FakeResponse, exchanges, makeLimits, rawRequestFrom } from './support.js';

const PREFLIGHT = { origin: 'https://app.example', 'access-control-request-method': 'GET' };

describe('what happens to a request before routing', () => {
  it('the limit is charged, and told', () => {
    for (const [name, request, response] of exchanges(() => rawRequestFrom('203.0.113.5'))) {
      const { limits } = makeLimits();
      expect([name, limits.onRequest(request, response)]).toEqual([name, true]);
      expect(response.lines.get('ratelimit-remaining')).toBe('1');
    }
  });

  it('a refusal is thrown, told and no promise', () => {
    const { limits } = makeLimits(createRate('gcra', 1, 60e6));
    void limits.onRequest(rawRequestFrom('203.0.113.5'), new FakeResponse());
    const response = new FakeResponse();
    expect(() => limits.onRequest(rawRequestFrom('203.0.113.5'), response)).toThrow(RateLimitException);
    expect(response.lines.get('retry-after')).toBe('60');
  });

  it('SB-13 a refusal is an event: the per-IP limit, the address, what it is counted by, and nobody yet', () => {
    const { limits, events } = makeLimits(createRate('gcra', 1, 60e6));
    void limits.onRequest(rawRequestFrom('2001:db8::7'), new FakeResponse());
    expect(events).toEqual([]);
    expect(() => limits.onRequest(rawRequestFrom('2001:db8::8'), new FakeResponse())).toThrow(
      RateLimitException,
    );
    expect(events).toEqual([
      {
        type: 'refusal',
        limit: 'ip',
        decision: expect.objectContaining({
          policy: 'per-ip',
          retryAfter: 60,
          headers: expect.objectContaining({ 'retry-after': '60', 'ratelimit-limit': '1' }),
        }),
        address: '2001:db8::8',
        network: '2001:db8::/64',
        user: null,
        dryRun: false,
      },
    ]);
  });

  it('on trial the limit counts and reports, and refuses nothing', () => {
    const { limits, events, store } = makeLimits(createRate('gcra', 1, 60e6), null, [], { dryRun: true });
    expect(limits.perIpOnTrial).toBe(true);
    for (let sent = 0; sent < 3; sent++) {
      const response = new FakeResponse();
      expect(limits.onRequest(rawRequestFrom('203.0.113.5'), response)).toBe(true);
      expect(response.lines.has('retry-after')).toBe(false);
      expect(response.lines.has('cache-control')).toBe(false);
    }
    expect(store.size).toBe(1);
    expect(events).toHaveLength(2);
    expect(events[0]).toMatchObject({ type: 'refusal', limit: 'ip', dryRun: true });
  });

  it.each<[HeaderFormat[], string[]]>([
    [['draft-6'], ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']],
    [['draft-11'], ['ratelimit', 'ratelimit-policy']],
    [['x-ratelimit'], ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']],
    [['retry-after'], []],
    [[], []],
  ])('in the formats %j it tells %j, and exposes them beside the wait', (formats, names) => {
    for (const [, request, response] of exchanges(() =>
      rawRequestFrom('203.0.113.5', { origin: 'https://app.example' }),
    )) {
      const { limits } = makeLimits(undefined, null, [], { formats });
      const set = 'raw' in response ? response.header.bind(response) : response.setHeader.bind(response);
      set('access-control-allow-origin', '*');
      void limits.onRequest(request, response);
      expect([...response.lines.keys()].filter((name) => name.includes('ratelimit')).toSorted()).toEqual(
        names,
      );
      const exposed = String(response.lines.get('access-control-expose-headers')).toLowerCase().split(', ');
      expect(exposed.toSorted()).toEqual(['retry-after', ...names].toSorted());
    }
  });

  it('D01 once per request, however often it is asked', () => {
    const { limits, store } = makeLimits();
    const request = rawRequestFrom('203.0.113.5');
    const response = new FakeResponse();
    for (let asked = 0; asked < 5; asked++) expect(limits.onRequest(request, response)).toBe(true);
    // Fastify's wrapper of the same request is the same request.
    expect(limits.onRequest({ ...request, raw: request }, new FakeReply())).toBe(true);
    expect(response.lines.get('ratelimit-remaining')).toBe('1');
    expect(store.size).toBe(1);
  });

  it.each([
    ['a preflight', 'OPTIONS', PREFLIGHT, 0],
    ['OPTIONS without Origin', 'OPTIONS', { 'access-control-request-method': 'GET' }, 1],
    ['OPTIONS without the method asked for', 'OPTIONS', { origin: 'https://app.example' }, 1],
    ['OPTIONS alone', 'OPTIONS', {}, 1],
    ['another method with all of it', 'GET', PREFLIGHT, 1],
  ])('SB-07 %s: %s %j is counted %i times', (_name, method, headers, counted) => {
    const { limits, store } = makeLimits();
    expect(limits.onRequest({ ...rawRequestFrom('203.0.113.5', headers), method }, new FakeResponse())).toBe(
      true,
    );
    expect(store.size).toBe(counted);
  });

  it('nothing is counted or told when the limit is off', () => {
    const { limits, store } = makeLimits(null);
    const response = new FakeResponse();
    expect(limits.onRequest(rawRequestFrom('203.0.113.5'), response)).toBe(true);
    expect(store.size).toBe(0);
    expect(response.lines.size).toBe(0);
  });

  it('only true skips', () => {
    for (const [skipped, counted] of [
      [true, 0],
      [false, 1],
      [1, 1],
      ['yes', 1],
      [undefined, 1],
      [Promise.resolve(true), 1],
    ]) {
      const { limits, store } = makeLimits(undefined, (() => skipped) as () => boolean);
      void limits.onRequest(rawRequestFrom('203.0.113.5'), new FakeResponse());
      expect([skipped, store.size]).toEqual([skipped, counted]);
    }
  });

  it('a skipIf that throws skips nothing, and is reported', () => {
    const { limits, store, events } = makeLimits(undefined, () => {
      throw new Error('down');
    });
    void limits.onRequest(rawRequestFrom('203.0.113.5'), new FakeResponse());
    expect(store.size).toBe(1);
    expect(events).toEqual([{ type: 'unusable-key', policy: 'skipIf', problem: 'skipIf() threw Error' }]);
  });
});

describe('the address of a request', () => {
  it('A13 is captured once, when the request arrives', () => {
    const { limits } = makeLimits(undefined, null, ['127.0.0.1']);
    const headers = { 'x-forwarded-for': '198.51.100.7' };
    const request = { headers, socket: { remoteAddress: '127.0.0.1' as string | undefined } };
    const state = limits.capture(request);
    request.socket.remoteAddress = undefined;
    headers['x-forwarded-for'] = '203.0.113.1';
    expect(limits.capture(request)).toBe(state);
    expect(state.client).toEqual({ address: '198.51.100.7', network: '198.51.100.7' });
  });

  it.each([undefined, ''])('A12 is unknown for the peer %o: one shared bucket, reported', (peer) => {
    const { limits, store, events } = makeLimits();
    for (const path of ['/a', '/b']) {
      void limits.onRequest({ ...rawRequestFrom(peer), url: path }, new FakeResponse());
    }
    expect(() => limits.onRequest(rawRequestFrom(peer), new FakeResponse())).toThrow(RateLimitException);
    expect(store.size).toBe(1);
    const reported = events.filter(({ type }) => type !== 'refusal');
    expect(reported.every(({ type }) => type === 'unknown-address')).toBe(true);
    expect(reported).not.toHaveLength(0);
  });

  it('is unknown where there is no socket at all', () => {
    const { limits } = makeLimits();
    expect(limits.capture({ headers: {} }).client.address).toBeNull();
  });

  it('B12 headers of an untrusted peer are reported once per app', () => {
    const { limits, events } = makeLimits();
    for (let sent = 0; sent < 5; sent++) {
      limits.capture(rawRequestFrom('10.0.0.2', { 'x-forwarded-for': `203.0.113.${sent}` }));
    }
    expect(events).toEqual([{ type: 'forwarding-ignored', peer: '10.0.0.2' }]);
  });
});

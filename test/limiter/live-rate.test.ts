import { describe, expect, it } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import type { RateLimitEvent } from '../../lib/events/event.js';
import { LiveLimit, LiveQuota } from '../../lib/limiter/live-rate.js';

const DEFAULT = createRate('gcra', 600, 60e6);

const INVALID: unknown[] = [
  0,
  -1,
  1.5,
  Number.NaN,
  Infinity,
  true,
  '',
  ' ',
  '10',
  '6O/1m',
  '0/1m',
  [],
  {},
  { limit: 5 },
  { limit: Number.NaN, per: '1m' },
  { limit: 5, per: '1d' },
];

function liveQuota(): { live: LiveQuota; events: RateLimitEvent[] } {
  const events: RateLimitEvent[] = [];
  return { live: new LiveQuota('rateLimit.perIp', 'gcra', DEFAULT, (event) => events.push(event)), events };
}

describe('a quota in settings', () => {
  it('is the default until settings say something', () => {
    const { live, events } = liveQuota();
    expect(live.current(undefined)).toBe(DEFAULT);
    expect(live.current('10/1s')).toEqual(createRate('gcra', 10, 1e6));
    expect(live.current(undefined)).toEqual(createRate('gcra', 10, 1e6));
    expect(events).toEqual([]);
  });

  it('is parsed only when it changed', () => {
    const { live } = liveQuota();
    const first = live.current('10/1s');
    expect(live.current('10/1s')).toBe(first);
    expect(live.current({ limit: 10, per: '1s' })).toEqual(first);
    const second = live.current({ limit: 11, per: '1s' });
    expect(live.current({ limit: 11, per: '1s' })).toBe(second);
  });

  it('sees an object that is changed in place', () => {
    const { live } = liveQuota();
    const quota = { limit: 10, per: '1s' };
    expect(live.current(quota)?.limit).toBe(10);
    quota.limit = 20;
    expect(live.current(quota)?.limit).toBe(20);
    quota.per = '1m';
    expect(live.current(quota)?.window).toBe(60e6);
  });

  it('P02 null turns it off, and a good one on again', () => {
    const { live, events } = liveQuota();
    expect(live.current(null)).toBeNull();
    expect(live.current(undefined)).toBeNull();
    expect(live.current('10/1s')?.limit).toBe(10);
    expect(live.current(null)).toBeNull();
    expect(events).toEqual([]);
  });

  it.each(INVALID.map((value) => [value]))(
    'P01, P02 %o keeps the last good value, and is reported once',
    (value) => {
      const { live, events } = liveQuota();
      const good = live.current('10/1s');
      // A source may make its objects anew each time.
      for (let call = 0; call < 5; call++) expect(live.current(structuredClone(value))).toBe(good);
      expect(events).toEqual([
        { type: 'invalid-setting', setting: 'rateLimit.perIp', problem: expect.any(String) },
      ]);
      expect(live.current('20/1s')?.limit).toBe(20);
      // After a good one the same mistake is news again.
      expect(live.current(value)?.limit).toBe(20);
      expect(events).toHaveLength(2);
    },
  );
});

describe('a limit that a function gives', () => {
  function liveLimit(): { live: LiveLimit; events: RateLimitEvent[] } {
    const events: RateLimitEvent[] = [];
    return { live: new LiveLimit('perIp.limit', 'gcra', 60e6, (event) => events.push(event)), events };
  }

  it('is asked on every call, and made a rate only when it changed', () => {
    const { live } = liveLimit();
    const first = live.of(() => 10);
    expect(first).toEqual(createRate('gcra', 10, 60e6));
    expect(live.of(() => 10)).toBe(first);
    expect(live.of(() => 20).limit).toBe(20);
  });

  it('is the strictest until it was ever valid', () => {
    const { live, events } = liveLimit();
    expect(live.of(() => undefined)).toEqual(createRate('gcra', 1, 60e6));
    expect(events).toHaveLength(1);
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity, '10', null, undefined, {}])(
    'I04 %o keeps the last good value, and is reported once',
    (value) => {
      const { live, events } = liveLimit();
      const good = live.of(() => 10);
      for (let call = 0; call < 5; call++) expect(live.of(() => value)).toBe(good);
      expect(events).toEqual([
        { type: 'invalid-setting', setting: 'perIp.limit', problem: expect.any(String) },
      ]);
    },
  );

  it('that throws keeps the last good value, and is reported once', () => {
    const { live, events } = liveLimit();
    const good = live.of(() => 10);
    const fail = (): never => {
      throw new TypeError('down, and a secret');
    };
    for (let call = 0; call < 5; call++) expect(live.of(fail)).toBe(good);
    expect(events).toEqual([
      { type: 'invalid-setting', setting: 'perIp.limit', problem: 'it threw TypeError' },
    ]);
  });

  it('that depends on the caller lends nobody the limit of a better plan', () => {
    const { live } = liveLimit();
    const fail = (): never => {
      throw new TypeError('no plan');
    };
    expect(live.ofCaller(fail).limit).toBe(1);
    expect(live.ofCaller(() => 100_000).limit).toBe(100_000);
    expect(live.ofCaller(() => 20).limit).toBe(20);
    expect(live.ofCaller(() => 100_000).limit).toBe(100_000);
    expect(live.ofCaller(fail).limit).toBe(20);
    expect(live.ofCaller(() => Number.NaN).limit).toBe(20);
  });

  it('that is async by mistake keeps the last good value, and its rejection harms nobody', async () => {
    const { live, events } = liveLimit();
    const good = live.of(() => 10);
    expect(live.of(() => Promise.reject(new Error('late')))).toBe(good);
    expect(events).toHaveLength(1);
    // An unhandled rejection would fail the run.
    await new Promise((resolve) => setImmediate(resolve));
  });
});

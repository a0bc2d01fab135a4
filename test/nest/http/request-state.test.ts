import { describe, expect, it } from 'vitest';
import { createRate } from '../../../lib/algorithms/rate.js';
import type { Verdict } from '../../../lib/algorithms/verdict.js';
import { RequestState, rawRequest, setState, stateOf } from '../../../lib/nest/http/request-state.js';
import { makeLimits, rawRequestFrom } from './support.js';

function verdict(remaining: number, allowed = true): Verdict {
  const rate = createRate('gcra', 10, 60e6);
  const bucket = { policy: 'p', namespace: 'n', key: 'k', rate, cost: 1 };
  const retryAfter = allowed ? 0 : 1;
  return { bucket, allowed, remaining, resetAfter: 5, retryAfter, taken: 1, until: 0 };
}

describe('what is known of a request', () => {
  const client = { address: '203.0.113.5', network: '203.0.113.5' };

  it('is kept on the raw request, whichever adapter wraps it', () => {
    const raw = rawRequestFrom('203.0.113.5');
    expect(rawRequest(raw)).toBe(raw);
    expect(rawRequest({ ...rawRequestFrom(undefined), raw })).toBe(raw);
    expect(stateOf(raw)).toBeUndefined();
    const state = new RequestState(client, makeLimits().limits, undefined);
    setState(raw, state);
    expect(stateOf(raw)).toBe(state);
    // Loggers that print a request don't print it.
    expect(JSON.stringify(raw)).not.toContain('client');
  });

  it('SA-24 is told of the tightest bucket only', () => {
    const state = new RequestState(client, makeLimits().limits, undefined);
    expect(state.meet([verdict(5)])).toBe(true);
    expect(state.meet([verdict(8)])).toBe(false);
    expect(state.meet([verdict(2)])).toBe(true);
    expect(state.meet([verdict(3)])).toBe(false);
    expect(state.meet([verdict(9, false)])).toBe(true);
    expect(state.meet([verdict(0)])).toBe(false);
  });

  it('G09 keeps nothing of buckets against guessing', () => {
    const state = new RequestState(client, makeLimits().limits, undefined);
    const hidden = (remaining: number): Verdict => {
      const { bucket, ...rest } = verdict(remaining);
      return { ...rest, bucket: { ...bucket, hidden: true } };
    };
    expect(state.meet([hidden(1)])).toBe(false);
    expect(state.met).toEqual([]);
    const [one, two] = [verdict(8), verdict(5)];
    expect(state.meet([hidden(2), one])).toBe(true);
    expect(state.meet([hidden(0)])).toBe(false);
    expect(state.meet([two, hidden(0)])).toBe(true);
    expect(state.met).toEqual([one, two]);
  });
});

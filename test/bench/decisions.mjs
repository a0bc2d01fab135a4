// Decisions in memory, one client after the other. Every contender has a loop of its own, so that V8 optimizes each
// for what it calls and none pays for the variety of the others.
import { createRate } from '../../dist/algorithms/rate.js';
import { Limiter } from '../../dist/limiter/limiter.js';
import { Policy } from '../../dist/limiter/policy.js';
import { MemoryStore } from '../../dist/stores/memory/memory.store.js';
import { BareMap } from './bare-map.mjs';
import { proof } from './harness.mjs';

export function bareMap(keys, { limit, window }, name = 'bare Map') {
  const map = new BareMap(limit, window);
  for (const key of keys.toSorted()) map.consume(key);
  let at = 0;
  return {
    name,
    run(count) {
      let allowed = 0;
      for (let i = 0; i < count; i++) {
        if (map.consume(keys[at]).allowed) allowed++;
        if (++at === keys.length) at = 0;
      }
      return allowed;
    },
  };
}

/** As the guards decide: bucket, limiter, store, verdict. */
export function tollgate(keys, { limit, window }, name = 'tollgate') {
  const limiter = new Limiter(new MemoryStore(), 100);
  const policy = new Policy('per-ip');
  const rate = createRate('gcra', limit, window);
  proveLimiter(limiter);
  for (const key of keys.toSorted()) decide(limiter, policy.bucket('network', key, rate, 1));
  let at = 0;
  return {
    name,
    run(count) {
      let allowed = 0;
      for (let i = 0; i < count; i++) {
        const verdicts = limiter.consume([policy.bucket('network', keys[at], rate, 1)]);
        if (verdicts[0].allowed) allowed++;
        if (++at === keys.length) at = 0;
      }
      return allowed;
    },
    close: () => limiter.store.close(),
  };
}

/** One decision outside of what is measured. */
function decide(limiter, bucket) {
  const verdicts = limiter.consume([bucket]);
  if (verdicts instanceof Promise) throw new Error('a memory store answers at once');
  return verdicts[0];
}

function proveLimiter(limiter) {
  const policy = new Policy('proof');
  const rate = createRate('gcra', 2, 3_600_000_000);
  const [first, second, third] = [1, 2, 3].map(() =>
    decide(limiter, policy.bucket('network', '192.0.2.1', rate, 1)),
  );
  proof('tollgate', first.remaining === 1 && second.remaining === 0, 'remaining does not go down');
  proof('tollgate', second.allowed && !third.allowed, 'the third of two was not refused');
}

/** Refusals: every client is over its limit. */
export function bareMapRefusing(keys, window) {
  const map = new BareMap(1, window);
  for (const key of keys) map.consume(key);
  let at = 0;
  return {
    name: 'bare Map, refusing',
    run(count) {
      let refused = 0;
      for (let i = 0; i < count; i++) {
        if (!map.consume(keys[at]).allowed) refused++;
        if (++at === keys.length) at = 0;
      }
      return refused;
    },
  };
}

export function tollgateRefusing(keys, window) {
  const limiter = new Limiter(new MemoryStore(), 100);
  const policy = new Policy('per-ip');
  const rate = createRate('gcra', 1, window);
  for (const key of keys) decide(limiter, policy.bucket('network', key, rate, 1));
  let at = 0;
  return {
    name: 'tollgate, refusing',
    run(count) {
      let refused = 0;
      for (let i = 0; i < count; i++) {
        const verdicts = limiter.consume([policy.bucket('network', keys[at], rate, 1)]);
        if (!verdicts[0].allowed) refused++;
        if (++at === keys.length) at = 0;
      }
      return refused;
    },
    close: () => limiter.store.close(),
  };
}

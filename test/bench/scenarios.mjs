// What is measured against what. A scenario runs in a process of its own, so that no contender is slowed down by the
// garbage, or by the types, of one that it isn't compared with.
import { bareMap, bareMapRefusing, tollgate, tollgateRefusing } from './decisions.mjs';
import { clients } from './clients.mjs';
import { emptyGuard, throttlerGuard, tollgateGuard } from './guards.mjs';
import { interleave } from './harness.mjs';
import { heapPerClient } from './heap.mjs';
import { tollgateService } from './service.mjs';

const HOUR = 3_600_000_000;
/** Never used up by what a run does, so that every decision admits. */
const WIDE = { limit: 100_000, window: 24 * HOUR, per: '24h' };
const QUOTAS = [1, 2, 3].map((i) => ({ name: `limit-${i}`, limit: 600_000 * i, per: '24h' }));
const THROTTLERS = [1, 2, 3].map((i) => ({ name: `limit-${i}`, limit: 600_000 * i, ttl: 60_000 }));

/** Another limiter's store and a contender of ours. */
const versus = (peer, own) => async (keys) => {
  const { PEERS } = await import('./peers.mjs');
  return [await own(keys, WIDE), PEERS[peer](keys, WIDE)];
};

/** Contenders by scenario, all for the same clients. */
const SCENARIOS = {
  decision: (keys) => [bareMap(keys, WIDE), tollgate(keys, WIDE)],
  refusal: (keys) => [bareMapRefusing(keys, 24 * HOUR), tollgateRefusing(keys, 24 * HOUR)],
  service: async (keys) => [bareMap(keys, WIDE), await tollgateService(keys, WIDE)],
  // The same interval, so the same work: only the limit, and with it the window, differ.
  limit: (keys) => [
    tollgate(keys, { limit: 10, window: 10_000 }, 'limit 10'),
    tollgate(keys, { limit: 1_000_000, window: 1_000_000_000 }, 'limit 1,000,000'),
  ],
  clients: (keys, many) => [
    bareMap(clients(1_000), WIDE, 'bare Map, few'),
    bareMap(clients(many), WIDE, 'bare Map, many'),
    tollgate(clients(1_000), WIDE, 'tollgate, few'),
    tollgate(clients(many), WIDE, 'tollgate, many'),
  ],
  guards: async (keys) => [
    emptyGuard(keys),
    await tollgateGuard(keys, QUOTAS.slice(0, 1)),
    await tollgateGuard(keys, QUOTAS),
  ],
  'decision, hitlimit': versus('hitlimit', tollgate),
  'decision, express-rate-limit': versus('expressRateLimit', tollgate),
  'decision, @fastify/rate-limit': versus('fastifyRateLimit', tollgate),
  'decision, rate-limiter-flexible': versus('rateLimiterFlexible', tollgate),
  'decision, @nestjs/throttler': versus('nestThrottler', tollgate),
  'service, express-rate-limit': versus('expressRateLimit', tollgateService),
  'service, rate-limiter-flexible': versus('rateLimiterFlexible', tollgateService),
  'service, @nestjs/throttler': versus('nestThrottler', tollgateService),
  'throttler guard, 1': async (keys) => [
    await tollgateGuard(keys, QUOTAS.slice(0, 1)),
    await tollgateGuard(keys, QUOTAS.slice(0, 1), { perIp: true }),
    await throttlerGuard(keys, [{ limit: 600_000, ttl: 60_000 }]),
  ],
  'throttler guard, 3': async (keys) => [
    await tollgateGuard(keys, QUOTAS),
    await throttlerGuard(keys, THROTTLERS),
  ],
};

/** By contender and round: nanoseconds per run, or what a scenario over Redis tells of it. */
export async function measure(scenario, given) {
  if (scenario.startsWith('redis')) {
    const { measureRedis } = await import('./redis/scenarios.mjs');
    return measureRedis(scenario, given);
  }
  const { clients: count, many, ...options } = given;
  const contenders = await SCENARIOS[scenario](clients(count), many);
  try {
    return Object.fromEntries(await interleave(contenders, options));
  } finally {
    for (const contender of contenders) await contender.close?.();
  }
}

// In a child process: measures what it is told, answers, and ends.
if (process.send) {
  process.once('message', async ({ scenario, options }) => {
    const heap = scenario === 'heap';
    const result = heap
      ? await heapPerClient(options.clients, options.peers)
      : await measure(scenario, options);
    process.send(result, () => process.disconnect());
  });
}

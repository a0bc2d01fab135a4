// Buckets for tests of the Redis store, and a look at what it wrote.
import type { Redis } from 'ioredis';
import { createRate, type Algorithm } from '../../../lib/algorithms/rate.js';
import type { Bucket } from '../../../lib/algorithms/verdict.js';

/** Milliseconds a call may take where time is not the subject. */
export const TIMEOUT = 2_000;
const MINUTE = 60_000_000;
/** Of fixed windows: so long that no test meets its end. */
export const YEAR = 8_760 * 60 * MINUTE;

export function gcra(key: string, limit = 10, cost = 1): Bucket {
  return bucket('gcra', key, limit, cost);
}

export function fixed(key: string, limit = 10, cost = 1): Bucket {
  return bucket('fixed', key, limit, cost);
}

function bucket(algorithm: Algorithm, key: string, limit: number, cost: number): Bucket {
  const rate = createRate(algorithm, limit, algorithm === 'fixed' ? YEAR : MINUTE);
  return { policy: 'policy', namespace: 'user:policy', key, cost, rate };
}

/** Every key on a server with its expiry, -1 for none. */
export async function expiries(server: Redis): Promise<Record<string, number>> {
  const keys = await server.keys('*');
  return Object.fromEntries(
    await Promise.all(keys.map(async (key) => [key, await server.pttl(key)] as const)),
  );
}

// What one request costs on the way to the server: commands as the server counts them, and waits for its answers.
import { farAway } from './far.mjs';

/** Milliseconds by which a far server is away: well above what a request takes otherwise. */
const AWAY = 20;

/** Commands per request, of one request after the other. */
export async function commandsOf(limiter, keys, meter, requests) {
  await limiter.decide(keys[0]);
  const before = await meter.read();
  for (let i = 0; i < requests; i++) await limiter.decide(keys[i % keys.length]);
  return ((await meter.read()).commands - before.commands) / requests;
}

/** Round trips of each of some requests. */
export async function tripsOf(make, port, limits, keys, requests) {
  return farAway(port, AWAY, async (far) => {
    const limiter = await make(far, limits);
    try {
      await limiter.decide(keys[0]);
      const trips = [];
      for (let i = 0; i < requests; i++) {
        const start = performance.now();
        await limiter.decide(keys[i % keys.length]);
        trips.push(Math.round((performance.now() - start) / AWAY));
      }
      return trips;
    } finally {
      await limiter.close();
    }
  });
}

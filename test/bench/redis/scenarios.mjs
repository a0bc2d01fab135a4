// What is measured over Redis against what, each with a server of its own.
import { clients } from '../clients.mjs';
import { proof } from '../harness.mjs';
import { flood } from './flood.mjs';
import { Meter } from './meter.mjs';
import { redisRounds } from './rounds.mjs';
import { withRedis } from './server.mjs';
import { tollgate } from './tollgate.mjs';
import { commandsOf, tripsOf } from './wire.mjs';

/** Never used up by what a run does, so that every decision admits. */
const LIMITS = [1, 2, 3].map((i) => ({ name: `limit-${i}`, limit: 600_000 * i }));
const NARROW = [{ name: 'narrow', limit: 10 }];

/** Ours, and those of the other limiters that there are. */
async function contenders(names, withPeers) {
  if (!withPeers) return [tollgate];
  const peers = await import('./peers.mjs');
  return [tollgate, ...names.map((name) => peers[name])];
}

/** Two of its limit pass, the third doesn't. */
async function prove(make, port) {
  const limiter = await make(port, [{ name: 'proof', limit: 2 }]);
  const client = '192.0.2.2';
  const two = (await limiter.decide(client)) && (await limiter.decide(client));
  proof(limiter.name, two && !(await limiter.decide(client)), 'the third of two was not refused');
  await limiter.close();
}

const rounds =
  (count, ...names) =>
  async (port, meter, keys, options) => {
    const limiters = [];
    try {
      for (const make of await contenders(names, options.peers)) {
        await prove(make, port);
        limiters.push(await make(port, LIMITS.slice(0, count)));
      }
      return await redisRounds(limiters, keys, meter, { ...options, ms: options.redisMs });
    } finally {
      for (const limiter of limiters) await limiter.close();
    }
  };

/** By limiter; one after the other, so that nobody's commands are counted for another. */
const oneByOne = (limits, names, measure) => async (port, meter, keys, options) => {
  const found = {};
  for (const make of await contenders(names, options.peers)) {
    const limiter = await make(port, limits);
    try {
      found[limiter.name] = await measure({ limiter, make, limits, port, meter, keys, options });
    } finally {
      await limiter.close();
    }
  }
  return found;
};

async function wire({ limiter, make, limits, port, meter, keys, options }) {
  const commands = await commandsOf(limiter, keys, meter, options.requests);
  const trips = await tripsOf(make, port, limits, keys, options.requests / 10);
  return trips.map((each) => ({ commands, trips: each }));
}

const floodOf =
  (width) =>
  async ({ limiter, meter, options }) => [await flood(limiter, meter, width, options.floodMs)];

const PEERS = ['rateLimiterFlexible', 'nestThrottler'];

const SCENARIOS = {
  'redis, 1 limit': rounds(1),
  'redis, 3 limits': rounds(3),
  'redis, 1 limit, rate-limiter-flexible': rounds(1, 'rateLimiterFlexible'),
  'redis, 1 limit, @nestjs/throttler': rounds(1, 'nestThrottler'),
  'redis, 3 limits, rate-limiter-flexible': rounds(3, 'rateLimiterFlexible'),
  'redis, 3 limits, @nestjs/throttler': rounds(3, 'nestThrottler'),
  'redis, wire, 1 limit': oneByOne(LIMITS.slice(0, 1), PEERS, wire),
  'redis, wire, 3 limits': oneByOne(LIMITS, PEERS, wire),
  'redis, flood, one at a time': oneByOne(NARROW, PEERS, floodOf(1)),
  'redis, flood, 50 at once': oneByOne(NARROW, [...PEERS, 'rateLimiterFlexibleBlocking'], floodOf(50)),
};

export function measureRedis(scenario, { clients: count, ...options }) {
  return withRedis(async (port) => {
    const meter = new Meter(port);
    try {
      return await SCENARIOS[scenario](port, meter, clients(count), options);
    } finally {
      meter.close();
    }
  });
}

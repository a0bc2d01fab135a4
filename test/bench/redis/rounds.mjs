// Decisions over Redis, many under way at once: how long they take, and what of it is whose processor time.
import { median, proof } from '../harness.mjs';

const IN_FLIGHT = 50;
/** Parts that a round is cut into: what slows the machine down for a moment then hits all contenders, not one. */
const SLICES = 5;
/** Decisions one after the other in a slice. */
const SERIAL = 100;

/** Goes through the keys of all clients, over and over. */
class Side {
  constructor(limiter, keys) {
    this.limiter = limiter;
    this.keys = keys;
    this.at = 0;
  }

  decide() {
    const key = this.keys[this.at];
    this.at = (this.at + 1) % this.keys.length;
    return this.limiter.decide(key);
  }

  /** Decides `count` times, always `IN_FLIGHT` at once. */
  async run(count) {
    let left = count;
    let allowed = 0;
    const work = async () => {
      while (left-- > 0) if (await this.decide()) allowed++;
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, work));
    proof(this.limiter.name, allowed === count, `${allowed} of ${count} were admitted`);
  }

  /** Nanoseconds of each of `count` decisions, one after the other. */
  async serial(count) {
    const times = [];
    for (let i = 0; i < count; i++) {
      const start = process.hrtime.bigint();
      await this.decide();
      times.push(Number(process.hrtime.bigint() - start));
    }
    return times;
  }
}

/** Nanoseconds per decision by the wall clock, of this process and of the server, and of one by itself. */
async function slice(side, meter, count) {
  const served = await meter.read();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await side.run(count);
  const wall = (performance.now() - start) * 1e6;
  const { user, system } = process.cpuUsage(cpu);
  const server = (await meter.read()).cpu - served.cpu;
  return {
    wall: wall / count,
    client: ((user + system) * 1000) / count,
    server: server / count,
    serial: median(await side.serial(SERIAL)),
  };
}

/** How many decisions last `ms`. Warms up first, and has every client known to the server. */
async function countFor(side, ms, meter) {
  const times = [];
  for (let i = 0; i < 4; i++) times.push((await slice(side, meter, side.keys.length)).wall);
  return Math.ceil((ms * 1e6) / Math.min(...times));
}

/** Per limiter what a decision took in every round of about `ms`, in slices that take turns. */
export async function redisRounds(limiters, keys, meter, { rounds, ms, count }) {
  const sides = limiters.map((limiter) => new Side(limiter, keys));
  const counts = [];
  for (const side of sides) counts.push(Math.ceil((count ?? (await countFor(side, ms, meter))) / SLICES));
  const found = sides.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const slices = sides.map(() => []);
    for (let turn = 0; turn < SLICES; turn++) {
      for (let i = 0; i < sides.length; i++) {
        const at = (i + turn + round) % sides.length;
        slices[at].push(await slice(sides[at], meter, counts[at]));
      }
    }
    for (const [at, parts] of slices.entries()) found[at].push(means(parts));
  }
  return Object.fromEntries(limiters.map(({ name }, at) => [name, found[at]]));
}

function means(parts) {
  const names = Object.keys(parts[0]);
  return Object.fromEntries(
    names.map((name) => [name, parts.reduce((sum, part) => sum + part[name], 0) / parts.length]),
  );
}

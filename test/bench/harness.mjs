// Measures contenders against each other: in one process, interleaved, so that what the machine does hits all alike.

/** One side: `run(count)` does the work that often, and returns how much of it was really done, or a promise of it. */

/** Processor time of this process in nanoseconds: other processes on the machine don't count, our own GC does. */
function spent() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

async function timed(contender, count) {
  const start = spent();
  let done = contender.run(count);
  if (done instanceof Promise) done = await done;
  const time = spent() - start;
  if (done !== count)
    throw new Error(`${contender.name}: ${done} of ${count} were done: nothing was measured`);
  return time / count;
}

/** How often a contender must run to last `ms`. Warms it up first, so that V8 has optimized what is measured. */
async function countFor(contender, ms) {
  for (let i = 0; i < 5; i++) await timed(contender, 20_000);
  const times = [];
  for (let i = 0; i < 3; i++) times.push(await timed(contender, 20_000));
  return Math.ceil((ms * 1e6) / Math.min(...times));
}

/** Parts that a round is cut into: what slows the machine down for a moment then hits all contenders, not one. */
const SLICES = 5;

/**
 * Runs every contender `rounds` times, each time for about `ms` of processor time, in slices that take turns. Gives
 * the nanoseconds per run of every round. `count` instead of `ms`: as often as that, for trying the bench itself.
 */
export async function interleave(contenders, { rounds, ms, count }) {
  const slices = [];
  for (const contender of contenders) {
    const whole = count ?? (await countFor(contender, ms));
    slices.push(Math.ceil(whole / SLICES));
  }
  const times = contenders.map(() => Array.from({ length: rounds }, () => 0));
  for (let turn = 0; turn < rounds * SLICES; turn++) {
    const round = Math.floor(turn / SLICES);
    for (let i = 0; i < contenders.length; i++) {
      const at = (i + turn) % contenders.length;
      times[at][round] += (await timed(contenders[at], slices[at])) / SLICES;
    }
  }
  return new Map(contenders.map(({ name }, i) => [name, times[i]]));
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The ratios of two contenders, round by round: their median, and how far the machine made them differ. */
export function ratio(times, base) {
  return spread(times.map((time, round) => time / base[round]));
}

export function spread(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Fails the run when a contender doesn't do what it is measured for. */
export function proof(name, ok, what) {
  if (!ok) throw new Error(`${name}: ${what}`);
}

// The rows over Redis. Without the other limiters (`--smoke`) only what tollgate does by itself.
import { median, ratio, spread } from '../harness.mjs';
import { row } from '../report.mjs';

const PEERS = ['rate-limiter-flexible', '@nestjs/throttler'];
const OWN = 'tollgate';

const perSecond = (times) => (1e9 / median(times)).toFixed(0);
const us = (times) => `${(median(times) / 1000).toFixed(1)} µs`;

/** What a decision takes besides the time until the next: no bounds, but what explains it. */
const PARTS = [
  ['client', 'processor'],
  ['server', "the server's processor"],
  ['serial', 'one by itself, p50'],
];

const decisions =
  (limits) =>
  async ({ isolated, peers }) => {
    if (!peers) return alone(limits, (await isolated(`redis, ${limits}`))[OWN]);
    const rows = [];
    for (const peer of PEERS) {
      const found = await isolated(`redis, ${limits}, ${peer}`);
      rows.push(...against(peer, found[OWN], found[peer]));
    }
    return rows;
  };

/** `own` and `other`: what a decision took in each round. */
function against(peer, own, other) {
  const [wall, base] = [timesOf(own, 'wall'), timesOf(other, 'wall')];
  return [
    // The peer's time by ours is the ratio of decisions per second.
    row(`decisions/s : ${peer}`, ratio(base, wall), 1, {
      atLeast: true,
      note: `${perSecond(wall)} : ${perSecond(base)}`,
    }),
    ...PARTS.map(([part, what]) => {
      const [times, others] = [timesOf(own, part), timesOf(other, part)];
      return row(`${what} : ${peer}`, ratio(times, others), null, { note: `${us(times)} : ${us(others)}` });
    }),
  ];
}

function alone(limits, own) {
  return PARTS.map(([part, what]) => {
    const found = spread(timesOf(own, part).map((time) => time / 1000));
    return row(`${limits}: ${what}`, found, null, { unit: 'µs' });
  });
}

function timesOf(rounds, part) {
  return rounds.map((round) => round[part]);
}

/** One request costs one command, and waits once, whatever its limits. */
async function wire({ isolated }) {
  const rows = [];
  for (const limits of ['1 limit', '3 limits']) {
    for (const [name, requests] of Object.entries(await isolated(`redis, wire, ${limits}`))) {
      for (const [part, unit] of [
        ['commands', 'per request'],
        ['trips', 'round trips'],
      ]) {
        const found = spread(requests.map((request) => request[part]));
        rows.push(row(`${part}, ${limits}: ${name}`, found, name === OWN ? 1 : null, { unit }));
      }
    }
  }
  return rows;
}

/** One client that is refused and goes on. */
async function flood({ isolated }) {
  const rows = [];
  for (const how of ['one at a time', '50 at once']) {
    for (const [name, floods] of Object.entries(await isolated(`redis, flood, ${how}`))) {
      const found = spread(floods.map(({ commands }) => commands));
      const requests = median(floods.map((each) => each.requests)).toFixed(0);
      const note = `${requests} requests/s`;
      rows.push(row(`commands, ${how}: ${name}`, found, name === OWN ? 2 : null, { unit: 'per s', note }));
    }
  }
  return rows;
}

export const REDIS_GROUPS = [
  { title: 'Redis, 1 limit (10,000 clients, 50 decisions at once)', run: decisions('1 limit') },
  { title: 'Redis, 3 limits (10,000 clients, 50 decisions at once)', run: decisions('3 limits') },
  { title: 'Redis, what a request costs on the wire', run: wire },
  { title: 'Redis, a flood of refused requests', run: flood },
];

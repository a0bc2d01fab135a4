// `npm run bench`: how fast the built package decides, against a bare Map, other limiters and a hand-written hook.
//
//   --json <file>   also writes every row as JSON
//   --only <words>  only the groups whose name contains one of these words, separated by commas
//   --no-http       without the HTTP rows, which take most of the time
//   --quick         fewer rounds, one process each: for a first look
//   --smoke         tiny counts, no peers, no HTTP: only tries whether all of it still runs
//
// The Redis rows start a redis-server of their own; without one they are left out.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GROUPS } from './groups.mjs';
import { heapPerClient } from './heap.mjs';
import { missingRedis } from './redis/server.mjs';
import { table } from './report.mjs';
import { measure } from './scenarios.mjs';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'string' },
    only: { type: 'string' },
    'no-http': { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
});
const { quick, smoke } = flags;
const peers = !smoke && existsSync(join(import.meta.dirname, 'node_modules'));
/** Processes a scenario is measured in: V8 doesn't compile the same program twice the same way. */
const PROCESSES = quick ? 1 : 3;
const REDIS = { redisMs: 300, requests: 100, floodMs: quick ? 1_000 : 2_000 };
const OPTIONS = { clients: 10_000, many: 1_000_000, ms: 60, rounds: quick ? 5 : 7, peers, ...REDIS };
const SMOKE = { clients: 100, many: 2_000, count: 50, rounds: 2, peers, requests: 40, floodMs: 50 };

/** Runs a scenario in children of its own and puts their rounds together. */
async function isolated(scenario) {
  if (smoke) return measure(scenario, SMOKE);
  const all = {};
  for (let i = 0; i < PROCESSES; i++) {
    const times = await inChild(scenario, OPTIONS);
    for (const name in times) all[name] = [...(all[name] ?? []), ...times[name]];
  }
  return all;
}

async function inChild(scenario, options) {
  const child = fork(join(import.meta.dirname, 'scenarios.mjs'));
  child.send({ scenario, options });
  const [first] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${scenario} failed: see above`))),
  ]);
  return first;
}

const heap = () => (smoke ? heapPerClient(2_000, false) : inChild('heap', { clients: 300_000, peers }));

async function http(adapter, variants) {
  const { httpRounds } = await import('./http.mjs');
  return httpRounds(adapter, variants, { rounds: quick ? 3 : 9, seconds: quick ? 1 : 2 });
}

let redisProblem;

/** Whether there is a server for the Redis rows; says once why not. */
async function redisIsThere() {
  if (redisProblem === undefined) {
    redisProblem = await missingRedis();
    if (redisProblem !== null) console.log(`\nWithout the Redis rows. ${redisProblem}`);
  }
  return redisProblem === null;
}

const words = flags.only?.split(',') ?? [''];
const rows = [];
console.log(`Node ${process.version}, ${process.platform}; processor time, medians of paired rounds.`);
if (smoke) console.log('Only tried out: these numbers mean nothing.');
if (!peers && !smoke) console.log('Without the other limiters: `npm run bench` installs them.');
for (const { title, run } of GROUPS) {
  if (!words.some((word) => title.toLowerCase().includes(word.toLowerCase()))) continue;
  if (title.startsWith('HTTP') && (smoke || flags['no-http'])) continue;
  if (title.startsWith('Redis') && !(await redisIsThere())) continue;
  const found = await run({ isolated, heap, http, peers });
  rows.push(...found.map((line) => ({ group: title, ...line })));
  console.log(table(title, found));
}
if (flags.json) writeFileSync(flags.json, `${JSON.stringify({ node: process.version, rows }, null, 2)}\n`);
const missed = rows.filter(({ met }) => met === false);
console.log(`\n${rows.filter(({ met }) => met).length} bounds met, ${missed.length} missed`);

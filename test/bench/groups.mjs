// The rows that are printed: which measurements each is made of, and the bound it must keep.
import { median, ratio, spread } from './harness.mjs';
import { REDIS_GROUPS } from './redis/groups.mjs';
import { row } from './report.mjs';

const PEERS = [
  'hitlimit',
  'express-rate-limit',
  '@fastify/rate-limit',
  'rate-limiter-flexible',
  '@nestjs/throttler',
];
/** Those whose own interface is a promise. */
const PROMISE_PEERS = ['express-rate-limit', 'rate-limiter-flexible', '@nestjs/throttler'];

const ns = (times) => `${median(times).toFixed(0)} ns`;
const versus = (times, base) => `${ns(times)} : ${ns(base)}`;

/** How much longer `one` takes than `other`, round by round. */
function against(what, one, other, bound, options) {
  return row(what, ratio(one, other), bound, { note: versus(one, other), ...options });
}

async function decisions({ isolated, peers }) {
  const decision = await isolated('decision');
  const refusal = await isolated('refusal');
  const service = await isolated('service');
  const rows = [
    against('a decision : bare Map', decision.tollgate, decision['bare Map'], 1.5),
    against('a refusal : bare Map', refusal['tollgate, refusing'], refusal['bare Map, refusing'], null),
    against('RateLimitService : bare Map', service['tollgate, RateLimitService'], service['bare Map'], 3),
  ];
  if (!peers) return rows;
  for (const peer of PEERS) {
    const times = await isolated(`decision, ${peer}`);
    rows.push(against(`a decision : ${peer}`, times.tollgate, times[peer], 1));
  }
  for (const peer of PROMISE_PEERS) {
    const times = await isolated(`service, ${peer}`);
    rows.push(against(`RateLimitService : ${peer}`, times['tollgate, RateLimitService'], times[peer], 1));
  }
  return rows;
}

async function growth({ isolated }) {
  const limit = await isolated('limit');
  const times = await isolated('clients');
  const own = times['tollgate, many'].map((time, i) => time / times['tollgate, few'][i]);
  const bare = times['bare Map, many'].map((time, i) => time / times['bare Map, few'][i]);
  const note = `${median(own).toFixed(2)} × : ${median(bare).toFixed(2)} ×`;
  return [
    against('limit 10 → 1,000,000', limit['limit 1,000,000'], limit['limit 10'], 1.1),
    row('clients 1 k → 1 M : bare Map', ratio(own, bare), 1, { note }),
  ];
}

async function heapRows({ heap }) {
  const bytes = await heap();
  const of = (other) => spread([bytes.tollgate / bytes[other]]);
  return Object.keys(bytes)
    .filter((name) => name !== 'tollgate')
    .map((name) =>
      row(`a live client : ${name}`, of(name), name === 'bare Map' ? 1.4 : 1, {
        note: `${bytes.tollgate.toFixed(0)} B : ${bytes[name].toFixed(0)} B`,
      }),
    );
}

async function guards({ isolated, peers }) {
  const times = await isolated('guards');
  const one = times['tollgate, 1 limit'];
  const three = times['tollgate, 3 limits'];
  const further = three.map((time, i) => (time - one[i]) / 2000);
  const rows = [row('each further limit', spread(further), 0.2, { unit: 'µs', note: versus(three, one) })];
  if (!peers) return rows;
  const single = await isolated('throttler guard, 1');
  const triple = await isolated('throttler guard, 3');
  const throttler = single['@nestjs/throttler, 1 limit'];
  const faster = (what, other, own, bound) =>
    row(what, ratio(other, own), bound, { unit: '× faster', atLeast: true, note: versus(own, other) });
  return [
    faster('one limit : @nestjs/throttler', throttler, single['tollgate, 1 limit'], 5),
    faster(
      'three limits : @nestjs/throttler',
      triple['@nestjs/throttler, 3 limits'],
      triple['tollgate, 3 limits'],
      5,
    ),
    faster('one limit and per IP : its one limit', throttler, single['tollgate, 1 limit and per IP'], null),
    ...rows,
  ];
}

const httpGroup =
  (adapter) =>
  async ({ http, peers }) => {
    const hook = 'hand-written hook';
    const results = await http(adapter, [
      'no limiter',
      hook,
      'tollgate',
      ...(peers ? ['@nestjs/throttler'] : []),
    ]);
    const rows = [];
    for (const [name, { rps, cpu }] of results) {
      if (name === hook) continue;
      const base = results.get(hook);
      rows.push(
        row(`${name} : ${hook}, requests/s`, ratio(rps, base.rps), name === 'tollgate' ? 0.97 : null, {
          atLeast: true,
          note: `${median(rps).toFixed(0)} : ${median(base.rps).toFixed(0)}`,
        }),
        row(`${name} : ${hook}, processor`, ratio(cpu, base.cpu), null, {
          note: `${median(cpu).toFixed(1)} µs : ${median(base.cpu).toFixed(1)} µs`,
        }),
      );
    }
    return rows;
  };

export const GROUPS = [
  { title: 'Decisions in memory (GCRA, 10,000 clients)', run: decisions },
  { title: 'Growth', run: growth },
  { title: 'Heap (300,000 clients)', run: heapRows },
  { title: 'Guards (10,000 clients, run by Nest)', run: guards },
  ...REDIS_GROUPS,
  { title: 'HTTP, Express (per IP and one throttle)', run: httpGroup('express') },
  { title: 'HTTP, Fastify (per IP and one throttle)', run: httpGroup('fastify') },
];

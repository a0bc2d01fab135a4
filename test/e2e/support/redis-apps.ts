// Apps that share their limits in a Redis that is about to fail, and what may be said of them afterwards.

import { Controller, Get } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import {
  RateLimitEvents,
  Throttle,
  TollgateError,
  type Bucket,
  type MaybePromise,
  type RateLimitOptions,
  type Verdict,
} from '../../../lib/index.js';
import type { RedisClient } from '../../../lib/stores/redis/clients/client-source.js';
import { RedisStore } from '../../../lib/stores/redis/redis.store.js';
import { until } from '../../tools/servers/redis-cluster.js';
import { startApp, type AdapterName, type RunningApp } from './app.js';
import { send } from './client.js';
import { countStatuses, Flow, longest, type Answered } from './load.js';

/** More than any test uses, in windows that no test meets the end of. */
const PLENTY = { limit: 1_000_000, per: '8760h', algorithm: 'fixed' } as const;
/** Used up before anything fails. */
const FEW = 5;
/** Requests per second. */
const RATE = 150;
/** Calls in a row that fail are an outage. */
const OUTAGE = 3;

@Controller()
class Routes {
  @Get('counted')
  @Throttle(PLENTY)
  counted(): void {}

  @Get('limited')
  @Throttle({ ...PLENTY, limit: FEW })
  limited(): void {}

  @Get('closed')
  @Throttle({ ...PLENTY, onStoreError: 'closed' })
  closed(): void {}

  @Get('open')
  @Throttle({ ...PLENTY, limit: FEW, onStoreError: 'open' })
  open(): void {}

  @Get('probe')
  @Throttle(PLENTY)
  probe(): void {}
}

/** So much that the headers, which tell of the tightest limit, always tell of the route's. */
const PER_IP = { limit: 20_000_000, per: '8760h' };

/** Microseconds. */
const PER_IP_INTERVAL = (8_760 * 3_600e6) / PER_IP.limit;

/** What each route may answer. */
const ALLOWED: Readonly<Record<string, readonly number[]>> = {
  '/counted': [200],
  '/limited': [200, 429],
  '/closed': [200, 503],
  '/open': [200, 429],
};
const PATHS = Object.keys(ALLOWED);
/** A client whose counters lie on the first server of a cluster. */
const CLIENT = { 'x-forwarded-for': '192.0.2.2' };

/** What came of a consume that a store was asked for. `at`: milliseconds of `performance.now()`. */
interface Asked {
  readonly at: number;
  readonly namespace: string;
  readonly outcome: 'charged' | 'refused' | 'not done' | 'unknown';
}

/** The store itself, which also writes down what came of each call: as much as anybody but the server can know. */
class WatchedStore extends RedisStore {
  readonly asked: Asked[] = [];

  override consume(buckets: readonly Bucket[], timeout: number): MaybePromise<Verdict[]> {
    const at = performance.now();
    const note = (outcome: Asked['outcome']) =>
      void this.asked.push({ at, namespace: buckets[0].namespace, outcome });
    const answer = super.consume(buckets, timeout);
    if (answer instanceof Promise) return watch(answer, note);
    note('refused');
    return answer;
  }
}

async function watch(answer: Promise<Verdict[]>, note: (outcome: Asked['outcome']) => void) {
  try {
    const verdicts = await answer;
    note(verdicts.every(({ allowed }) => allowed) ? 'charged' : 'refused');
    return verdicts;
  } catch (error) {
    const unknown = error instanceof TollgateError && error.code === 'TOLLGATE_STORE_UNKNOWN';
    note(unknown ? 'unknown' : 'not done');
    throw error;
  }
}

interface SharingApp extends RunningApp {
  /** The client of its store. */
  readonly client: string;
  readonly store: WatchedStore;
  /** What it told about the store, and when. */
  readonly events: { readonly type: string; readonly at: number }[];
}

/** Two apps that share their limits, by clients of these names. Call it inside a test: they are closed when it ends. */
export async function startSharing(
  adapter: AdapterName,
  clients: Readonly<Record<string, () => RedisClient>>,
  names: readonly [string, string],
  options: RateLimitOptions = {},
): Promise<readonly SharingApp[]> {
  const apps: SharingApp[] = [];
  for (const client of names) {
    const store = new WatchedStore(clients[client]());
    const rateLimit = { store, perIp: PER_IP, trustedProxies: ['127.0.0.1'], ...options };
    const running = await startApp(adapter, { controllers: [Routes], rateLimit });
    const events: SharingApp['events'] = [];
    running.app.get(RateLimitEvents).all$.subscribe(({ type }) => {
      if (type.startsWith('store-')) events.push({ type, at: performance.now() });
    });
    apps.push({ ...running, client, store, events });
  }
  return apps;
}

/** How what the apps share fails. */
export interface Fault {
  fail(): void | Promise<void>;
  /** Whether all apps take it for an outage: they have the time to. Default true. */
  readonly outage?: boolean;
  /** Milliseconds from then until it is mended. Default 0. */
  readonly lasts?: number;
  mend(): void | Promise<void>;
  /** Milliseconds from then until the apps must have one limit again. */
  readonly within: number;
}

/** Moments of `performance.now()`. */
interface Moments {
  /** Right before it failed. */
  readonly failing: number;
  /** When it had failed. */
  readonly failed: number;
  /** When all apps had taken it for an outage. */
  readonly noticed: number;
  /** When it was mended. */
  readonly mended: number;
  /** When both apps counted together again. */
  readonly shared: number;
}

/** What a load met that went on before, through and after a fault. */
export interface Course extends Moments {
  readonly apps: readonly SharingApp[];
  readonly answers: readonly Answered[];
  /** The longest time, in milliseconds, for which this process was held up. */
  readonly pause: number;
}

/** Loads two apps, lets what they share fail and mends it, until all is as before. */
export async function runThrough(apps: readonly SharingApp[], fault: Fault): Promise<Course> {
  await sharedAgain(apps, fault.within);
  const flow = new Flow({ apps, paths: PATHS, rate: RATE, headers: CLIENT });
  try {
    const moments = await takeSteps(fault, apps, flow);
    await sleep(200);
    await until(async () => apps.every(isUp), 5, 1_000).catch(() => {});
    const answers = await flow.stop();
    return { apps, ...moments, answers, pause: flow.longestPause };
  } finally {
    await flow.stop();
  }
}

async function takeSteps(
  { fail, outage = true, lasts = 0, mend, within }: Fault,
  apps: readonly SharingApp[],
  flow: Flow,
): Promise<Moments> {
  await until(async () => usedUp(flow) && apps.every(isUp), 5);
  const failing = performance.now();
  await fail();
  const failed = performance.now();
  let noticed = failed;
  try {
    if (outage) await until(async () => !apps.some(isUp), 5);
    noticed = performance.now();
    await sleep(lasts);
  } finally {
    await mend();
  }
  const mended = performance.now();
  return { failing, failed, noticed, mended, shared: await sharedAgain(apps, within) };
}

/** Whether an app takes its store for one that answers. */
function isUp({ events }: SharingApp): boolean {
  return events.length === 0 || events[events.length - 1].type === 'store-up';
}

/** Whether both apps refuse what there is few of. */
function usedUp({ answers }: Flow): boolean {
  return [0, 1].every((app) => {
    const refused = answers.filter((answer) => answer.app === app && answer.status === 429);
    return ['/limited', '/open'].every((path) => refused.some(of(path)));
  });
}

/** The moment at which apps are seen to count down one number in turn. */
async function sharedAgain(apps: readonly SharingApp[], within: number): Promise<number> {
  const end = performance.now() + within;
  while (performance.now() < end) {
    const left: number[] = [];
    for (const app of [...apps, ...apps]) {
      const { headers } = await send(app, '/probe', { headers: CLIENT });
      left.push(Number(headers['ratelimit-remaining']));
    }
    if (left.every((number, turn) => turn === 0 || number === left[turn - 1] - 1)) return performance.now();
  }
  throw new Error(`the apps have no limit together after ${within} ms`);
}

/** Prints the figures of a course. */
export function report(what: string, { apps, answers, failed, mended, shared, pause }: Course): void {
  const ms = (number: number): string => `${number.toFixed(0)} ms`;
  const statuses = PATHS.map((path) => `${path} ${show(countStatuses(answers.filter(of(path))))}`);
  const events = apps.map(({ client, events: told }) =>
    [client, ...told.map(({ type, at }) => `${type.slice(6)} ${ms(at - failed)}`)].join(' '),
  );
  console.log(
    `${what}: mended ${ms(mended - failed)} after it failed, shared again ${ms(shared - mended)} later; longest of ` +
      `${answers.length} answers ${ms(longest(answers))}, 99 % within ${ms(percentile(answers, 0.99))}, longest pause of ` +
      `the process ${ms(pause)}\n  ${events.join(', ')}; ${statuses.join(', ')}`,
  );
}

function show(counts: Record<number, number>): string {
  return Object.entries(counts)
    .map(([status, count]) => `${status}×${count}`)
    .join(' ');
}

function percentile(answers: readonly Answered[], part: number): number {
  const times = answers.map(({ took }) => took).toSorted((a, b) => a - b);
  return times[Math.floor(times.length * part)] ?? 0;
}

function of(path: string): (answer: Answered) => boolean {
  return (answer) => answer.path === path;
}

/** No request fails, none waits longer than the deadline: ten times as long, and more the longer the process was held up. */
export function expectAnswers({ answers, pause }: Course): void {
  expect(longest(answers)).toBeLessThan(1_000 + 10 * pause);
  for (const { path, status, answer } of answers) {
    expect(ALLOWED[path], `status of ${path}`).toContain(status);
    if (status !== 200) expect(answer?.headers['retry-after'], `retry-after of ${path}`).toMatch(/^[1-9]/);
    if (status === 503) expect(answer?.headers['retry-after']).toBe('1');
  }
}

/** From when the store is known to be down until it is mended each limit goes on as it says. */
export function expectPolicies({ answers, failed, noticed, mended }: Course): void {
  const meanwhile = answers.filter(({ at, took }) => at > noticed && at + took < mended);
  const expectAll = (path: string, status: number, since = 0): void => {
    const found = meanwhile.filter(({ at }) => at > since).filter(of(path));
    expect(countStatuses(found), path).toEqual(found.length > 0 ? { [status]: found.length } : {});
  };
  if (mended - noticed > 400) expect(meanwhile.filter(of('/closed')).length).toBeGreaterThan(0);
  expectAll('/closed', 503);
  expectAll('/counted', 200);
  // What the store refused last is remembered for a second.
  expectAll('/open', 200, failed + 1_000);
}

/**
 * Before the fault both apps have one limit, and all in all at most that and what each may admit by itself; when the
 * store lost its memory, one more. When it did not, none is admitted after the fault.
 */
export function expectLimit(course: Course, memory: 'kept' | 'lost'): void {
  const { answers, failing, shared: end } = course;
  const admitted = answers.filter(of('/limited')).filter(({ status }) => status === 200);
  const before = admitted.filter(({ at, took }) => at + took < failing).length;
  const after = admitted.filter(({ at }) => at > end).length;
  const strays = straysOf(course);
  expect(before).toBeGreaterThanOrEqual(FEW);
  expect(before - FEW).toBeLessThanOrEqual(strays);
  expect(admitted.length).toBeLessThanOrEqual(FEW * (memory === 'kept' ? 3 : 4));
  expect(after).toBeLessThanOrEqual(strays + (memory === 'kept' ? 0 : FEW));
}

/** Calls that failed though nothing was wrong with the store: on a machine too busy to answer within the deadline. */
function straysOf({ apps, failing, mended }: Course): number {
  let strays = 0;
  for (const { store, events } of apps) {
    const back = events.find(({ type, at }) => type === 'store-up' && at > mended)?.at ?? mended;
    const failed = store.asked.filter(({ outcome }) => outcome === 'not done' || outcome === 'unknown');
    strays += failed.filter(({ at }) => at < failing || at > back).length;
  }
  return strays;
}

/** One warning when the store fell and one when it was back, for each app. */
export function expectOneOutage(course: Course): void {
  const { apps, failing, mended } = course;
  const more = Math.floor(straysOf(course) / OUTAGE);
  for (const { events } of apps) {
    const meanwhile = events.filter(({ at }) => at > failing && at < mended);
    expect(meanwhile.map(({ type }) => type)).toEqual(['store-down']);
    expect(events.length / 2, 'outages').toBeLessThanOrEqual(1 + more);
  }
  expectWarnings(course);
}

/** A warning for each event and no more: one when the store falls, then one when it is back. */
export function expectWarnings({ apps }: Course): void {
  for (const { events } of apps) {
    const types = events.map(({ type }) => type);
    expect(types).toEqual(types.map((_, turn) => (turn % 2 === 0 ? 'store-down' : 'store-up')));
    expect(types.length % 2).toBe(0);
  }
  const told = apps.flatMap(({ events }) => events).length;
  // The logger is one per process: the app booted last has the lines of all.
  const lines = apps[apps.length - 1].log.own('warn');
  for (const said of ['the store is down', 'the store is back']) {
    expect(lines.filter((line) => line.startsWith(said))).toHaveLength(told / 2);
  }
}

/** Which calls of unknown outcome may have been counted. Default all. */
export interface Counting {
  /** From when on the server has counted; default always. */
  readonly since?: number;
  /** From when on what was charged is surely still there; default `since`. */
  readonly surelySince?: number;
  maybe?(asked: Asked): boolean;
}

/**
 * Nothing is counted twice: the server's own counters hold what it said it charged, at most one more for each call of
 * which nobody knows, and never more than there were requests.
 */
export async function expectCountedOnce(
  course: Course,
  servers: readonly Redis[],
  { since = 0, surelySince = since, maybe = () => true }: Counting = {},
): Promise<void> {
  const { apps, answers } = course;
  const asked = apps.flatMap(({ store }) => store.asked).filter(({ at }) => at >= since);
  const counters = await countersOf(servers);
  const figures: string[] = [];
  const check = (what: string, counted: number, calls: readonly Asked[]): void => {
    const charged = calls.filter(({ outcome }) => outcome === 'charged');
    const surely = charged.filter(({ at }) => at >= surelySince).length;
    const unknown = calls.filter((call) => call.outcome === 'unknown' && maybe(call)).length;
    figures.push(`${what} ${counted} of ${charged.length} charged and ${unknown} unknown`);
    expect(counted, `at least of ${what}`).toBeGreaterThanOrEqual(surely);
    expect(counted, `at most of ${what}`).toBeLessThanOrEqual(charged.length + unknown);
  };
  for (const path of PATHS) {
    const named = (name: string) => name.includes(`GET ${path} `);
    const counted = [...counters].find(([key]) => named(key))?.[1] ?? 0;
    check(
      path,
      counted,
      asked.filter(({ namespace }) => named(namespace)),
    );
    const requests = answers.filter(of(path)).filter(({ at, took }) => at + took >= since).length;
    expect(counted, `requests of ${path}`).toBeLessThanOrEqual(requests);
  }
  const steps = asked.filter(({ namespace }) => namespace.endsWith(':per-ip'));
  const began = steps.find(({ outcome }) => outcome === 'charged')?.at ?? since;
  check('per IP', await perIpCount(servers, began), steps);
  console.log(`counted: ${figures.join('; ')}`);
}

/**
 * What the per-IP limit has counted since `began`. Its bucket is never empty meanwhile, so the one time that it holds
 * has moved by one interval for each request.
 */
async function perIpCount(servers: readonly Redis[], began: number): Promise<number> {
  const first = (performance.timeOrigin + began) * 1_000;
  for (const server of servers) {
    for (const key of await server.keys('tollgate:*:per-ip')) {
      return Math.round((Number(await server.get(key)) - first) / PER_IP_INTERVAL);
    }
  }
  return 0;
}

/** What the fixed windows in some servers hold, by the names of their keys. */
export async function countersOf(servers: readonly Redis[]): Promise<Map<string, number>> {
  const counters = new Map<string, number>();
  for (const server of servers) {
    for (const key of await server.keys('tollgate:*')) {
      const count = /^\d+:(\d+)$/.exec((await server.get(key)) ?? '')?.[1];
      if (count !== undefined) counters.set(key, Number(count));
    }
  }
  return counters;
}

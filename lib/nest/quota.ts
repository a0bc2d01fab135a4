// Quotas as users write them, and how they are checked and made ready for counting.

import { DURATION_RULE, parseDuration } from '../algorithms/duration.js';
import type { OnStoreError } from '../algorithms/verdict.js';
import { createRate, rateProblem, show, type Algorithm, type Rate } from '../algorithms/rate.js';
import type { Report } from '../events/event.js';
import { LiveLimit } from '../limiter/live-rate.js';
import type { CountBy } from '../policies/route.js';
import type { Call } from './call.js';

/** A limit per window. */
export interface Quota {
  /**
   * Calls or cost units per window, a whole number above 0. A function is asked on every call; when it gives no valid
   * limit the lowest it ever gave holds, at first 1.
   */
  readonly limit: number | ((call: Call) => number);
  /** The window: a whole number followed by ms, s, m or h, such as `'1m'`. */
  readonly per: string;
  /** Name in headers, decisions and logs. Default: that of the handler or policy. */
  readonly name?: string;
  /**
   * `'gcra'` (default): a burst of the whole limit, then one call each `per / limit`. `'fixed'`: windows aligned to
   * the clock; up to twice the limit can pass around a boundary.
   */
  readonly algorithm?: Algorithm;
  /** Whom it counts: `'user'` (default; guests by client network), `'ip'`, or a function that returns a text. */
  readonly by?: CountBy<Call>;
  /** On trial: counted and reported, refusing nothing. Default false. */
  readonly dryRun?: boolean;
  /** What holds while a shared store is down; absent: as the module says. */
  readonly onStoreError?: OnStoreError;
  /** One counter for all handlers that use this quota, by its name. Default false: each handler its own. */
  readonly shared?: boolean;
}

/** A quota with a name of its own, for the service and for middleware. */
export interface NamedQuota extends Quota {
  readonly name: string;
}

const KNOWN = new Set(['limit', 'per', 'name', 'algorithm', 'by', 'shared', 'dryRun', 'onStoreError']);

export const ON_STORE_ERROR = ['local', 'open', 'closed'] as const satisfies readonly OnStoreError[];

/** Adds to `findings` what is wrong with a quota; `where` is how a message names it. */
export function checkQuota(quota: unknown, where: string, findings: string[]): void {
  if (typeof quota !== 'object' || quota === null) {
    findings.push(`${where} is ${show(quota)}: give { limit, per }, such as { limit: 10, per: '1m' }`);
    return;
  }
  for (const key of Object.keys(quota)) {
    if (!KNOWN.has(key)) findings.push(`${where}.${key} is unknown: a quota has ${[...KNOWN].join(', ')}`);
  }
  const fields: Readonly<Record<string, unknown>> = { ...quota };
  checkNumbers(fields, where, findings);
  checkChoice(fields.algorithm, ['gcra', 'fixed'], `${where}.algorithm`, findings);
  checkChoice(fields.onStoreError, ON_STORE_ERROR, `${where}.onStoreError`, findings);
  if (typeof fields.by !== 'function') checkChoice(fields.by, ['user', 'ip'], `${where}.by`, findings);
  if (
    fields.name !== undefined &&
    (typeof fields.name !== 'string' || !/^[\x20-\x7e]{1,64}$/.test(fields.name))
  ) {
    findings.push(`${where}.name is ${show(fields.name)}: give 1 to 64 printable ASCII characters`);
  }
  for (const flag of ['shared', 'dryRun'] as const) {
    if (fields[flag] === undefined || typeof fields[flag] === 'boolean') continue;
    findings.push(`${where}.${flag} is ${show(fields[flag])}: give true or false`);
  }
}

function checkNumbers(fields: Readonly<Record<string, unknown>>, where: string, findings: string[]): void {
  const window = parseDuration(fields.per);
  if (window === null) findings.push(`${where}.per is ${show(fields.per)}: write ${DURATION_RULE}`);
  if (typeof fields.limit === 'function') return;
  const algorithm = fields.algorithm === 'fixed' ? 'fixed' : 'gcra';
  // Without a window the limit alone can still be judged: fixed windows have no spacing.
  const problem = rateProblem(window === null ? 'fixed' : algorithm, fields.limit, window ?? 1);
  if (problem !== null) findings.push(`${where}.${problem}`);
}

/** Adds to `findings` that a value is none of the choices; absent is fine. */
export function checkChoice(
  value: unknown,
  choices: readonly string[],
  where: string,
  findings: string[],
): void {
  if (value === undefined || (typeof value === 'string' && choices.includes(value))) return;
  findings.push(`${where} is ${show(value)}: give ${choices.map((choice) => `'${choice}'`).join(' or ')}`);
}

/** How the rate of a checked quota is found on each call. */
export function rateOf(quota: Quota, setting: string, report: Report): (call: Call) => Rate {
  const { limit, algorithm = 'gcra' } = quota;
  const window = parseDuration(quota.per) ?? 0;
  if (typeof limit === 'number') {
    const rate = createRate(algorithm, limit, window);
    return () => rate;
  }
  const live = new LiveLimit(setting, algorithm, window, report);
  return (call) => live.ofCaller(() => limit(call));
}

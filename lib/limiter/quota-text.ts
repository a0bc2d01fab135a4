// Quotas as settings write them: '600/1m', or an object with limit and per.

import { DURATION_RULE, parseDuration } from '../algorithms/duration.js';
import { createRate, rateProblem, show, type Algorithm, type Rate } from '../algorithms/rate.js';

/** What was made of a quota: a rate, or why there is none. */
export type ParsedRate = { readonly rate: Rate } | { readonly problem: string };

const TEXT = /^([0-9]{1,16})\/([^/]+)$/;

/** Reads `'600/1m'` or `{ limit: 600, per: '1m' }`. */
export function parseQuota(quota: unknown, algorithm: Algorithm): ParsedRate {
  if (typeof quota === 'string') {
    const match = TEXT.exec(quota);
    if (match === null)
      return { problem: `${show(quota)} is no quota: write '600/1m', a limit and a duration` };
    return parseRate(algorithm, Number(match[1]), match[2]);
  }
  if (typeof quota === 'object' && quota !== null && 'limit' in quota && 'per' in quota) {
    return parseRate(algorithm, quota.limit, quota.per);
  }
  return { problem: `${show(quota)} is no quota: give { limit, per }, such as { limit: 600, per: '1m' }` };
}

/** Makes a rate of a limit and a duration. */
export function parseRate(algorithm: Algorithm, limit: unknown, per: unknown): ParsedRate {
  const window = parseDuration(per);
  if (window === null) return { problem: `per is ${show(per)}: write ${DURATION_RULE}` };
  const problem = rateProblem(algorithm, limit, window);
  if (problem !== null || typeof limit !== 'number') return { problem: problem ?? 'limit is no number' };
  return { rate: createRate(algorithm, limit, window) };
}

// What a caller of the service, a filter or a log gets to see of a verdict: whole seconds and plain words.

import { ceilSeconds } from './duration.js';
import type { Verdict } from './verdict.js';

/** Why a call was refused. */
export type RefusalReason =
  /** No room now: the same call passes after `retryAfter`. */
  | 'limit-exceeded'
  /** The cost is above the limit: the call can never pass as the limit stands. */
  | 'cost-exceeds-limit';

/** Header lines by lower-case name. */
export type HeaderLines = Readonly<Record<string, string>>;

/** The answer of one or several buckets: that of the tightest. */
export interface Decision {
  readonly allowed: boolean;
  /** The policy that answered. */
  readonly policy: string;
  /** Cost units per window. */
  readonly limit: number;
  /** Cost units the call asked for. */
  readonly cost: number;
  /** Cost units left. */
  readonly remaining: number;
  /** Seconds until the bucket is empty again, rounded up. */
  readonly resetAfter: number;
  /** Seconds to wait, rounded up, at least 1; 0 when allowed; null when waiting never helps. */
  readonly retryAfter: number | null;
  /** Null when allowed. */
  readonly reason: RefusalReason | null;
  /** The lines that tell a client about it, in the formats of the app. */
  readonly headers: HeaderLines;
}

/** The decision that a verdict stands for. `headers` describe it and whatever else the step met. */
export function decisionOf(verdict: Verdict, headers: HeaderLines): Decision {
  const { allowed, bucket, remaining, resetAfter, retryAfter } = verdict;
  return {
    allowed,
    policy: bucket.policy,
    limit: bucket.rate.limit,
    cost: bucket.cost,
    remaining,
    resetAfter: ceilSeconds(resetAfter),
    retryAfter: waitOf(verdict),
    reason: allowed ? null : retryAfter === Infinity ? 'cost-exceeds-limit' : 'limit-exceeded',
    headers,
  };
}

/** Seconds a client has to wait: what `Retry-After` says. Source B, SB-12, SB-36. */
export function waitOf({ allowed, retryAfter }: Verdict): number | null {
  if (allowed) return 0;
  return retryAfter === Infinity ? null : Math.max(1, ceilSeconds(retryAfter));
}

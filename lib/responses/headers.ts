// The header lines that tell a client about its buckets, in the formats that clients know.

import { waitOf, type HeaderLines } from '../algorithms/decision.js';
import { ceilSeconds } from '../algorithms/duration.js';
import { isShown, tightest, type Bucket, type Verdict } from '../algorithms/verdict.js';
import { integerItem, stringItem } from './structured-field.js';

export const HEADER_FORMATS = ['draft-6', 'draft-11', 'x-ratelimit', 'retry-after'] as const;

/**
 * `'draft-6'`: `ratelimit-limit`, `-remaining`, `-reset` (draft-ietf-httpapi-ratelimit-headers-06; source A).
 * `'draft-11'`: the structured fields `RateLimit` and `RateLimit-Policy` (the same draft, -11; RFC 9651).
 * `'x-ratelimit'`: `x-ratelimit-limit`, `-remaining`, `-reset`, in seconds from now. `'retry-after'`: none of these.
 * Refusals carry `retry-after` whatever the format (RFC 9110, 10.2.3; source B, SB-36).
 */
export type HeaderFormat = (typeof HEADER_FORMATS)[number];

/** What browsers on another origin may read, by format. Source B, SB-38. */
const EXPOSED: Readonly<Record<HeaderFormat, readonly string[]>> = {
  'draft-6': ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
  'draft-11': ['RateLimit', 'RateLimit-Policy'],
  'x-ratelimit': ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
  'retry-after': [],
};

export class ResponseHeaders {
  /** A format lists every policy: a bucket matters even where another is tighter. */
  readonly listsPolicies: boolean;
  private readonly exposed: readonly string[];

  constructor(private readonly formats: readonly HeaderFormat[]) {
    this.listsPolicies = formats.includes('draft-11');
    this.exposed = ['Retry-After', ...new Set(formats.flatMap((format) => EXPOSED[format]))];
  }

  /**
   * The lines about the buckets that a request has met: the state of the tightest, never mixed from two. Buckets
   * against guessing are left out: what is left in them is nobody's business.
   */
  of(verdicts: readonly Verdict[]): HeaderLines {
    return this.lines(verdicts, null);
  }

  /** The same, and what a refusal adds: the wait, unless none helps, and that nobody may keep the answer. */
  ofRefusal(verdicts: readonly Verdict[], refused: Verdict): HeaderLines {
    const wait = waitOf(refused);
    return {
      ...this.lines(verdicts, refused),
      ...(wait === null ? {} : { 'retry-after': String(wait) }),
      'cache-control': 'no-store',
    };
  }

  /** `Access-Control-Expose-Headers` with ours appended to what the app exposes already. */
  exposeList(current: string | undefined): string {
    if (current === undefined || current.trim() === '') return this.exposed.join(', ');
    const present = new Set(current.split(',').map((name) => name.trim().toLowerCase()));
    if (present.has('*')) return current;
    const missing = this.exposed.filter((name) => !present.has(name.toLowerCase()));
    return [current, ...missing].join(', ');
  }

  /** A refusal is told by the verdict that refuses, whatever else is full: limits on trial may wait longer. */
  private lines(verdicts: readonly Verdict[], refused: Verdict | null): Record<string, string> {
    const lines: Record<string, string> = {};
    const shown = verdicts.filter(isShown);
    if (shown.length === 0) return lines;
    const verdict = refused !== null && isShown(refused) ? refused : tightest(shown);
    for (const format of this.formats) {
      if (format === 'draft-6') writeSeparate(lines, 'ratelimit', verdict);
      else if (format === 'x-ratelimit') writeSeparate(lines, 'x-ratelimit', verdict);
      else if (format === 'draft-11') writeFields(lines, verdict, shown);
    }
    return lines;
  }
}

function writeSeparate(lines: Record<string, string>, prefix: string, verdict: Verdict): void {
  lines[`${prefix}-limit`] = String(verdict.bucket.rate.limit);
  lines[`${prefix}-remaining`] = String(verdict.remaining);
  lines[`${prefix}-reset`] = String(ceilSeconds(verdict.resetAfter));
}

function writeFields(lines: Record<string, string>, verdict: Verdict, shown: readonly Verdict[]): void {
  const { bucket, remaining, resetAfter } = verdict;
  const left = `r=${integerItem(remaining)};t=${integerItem(ceilSeconds(resetAfter))}`;
  lines.ratelimit = `${stringItem(bucket.policy)};${left}`;
  lines['ratelimit-policy'] = [...new Set(shown.map((met) => policyItem(met.bucket)))].join(', ');
}

/** `w` is in whole seconds: a shorter window is shown as one. */
function policyItem({ policy, rate }: Bucket): string {
  return `${stringItem(policy)};q=${integerItem(rate.limit)};w=${integerItem(ceilSeconds(rate.window))}`;
}

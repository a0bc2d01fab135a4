// The header lines that tell a client about a decision (draft-ietf-httpapi-ratelimit-headers-06 and RFC 9110 §10.2.3).

import type { Decision } from '../algorithms/decision.js';

/** Header lines by lower-case name. */
export type HeaderLines = Readonly<Record<string, string>>;

/** What browsers on another origin may read. Source B, SB-38. */
export const EXPOSED_HEADERS: readonly string[] = [
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
];

/** The lines of the decision; `retry-after` and `cache-control: no-store` only on refusals. Source A, SA-23 to SA-25. */
export function headersOf(decision: Decision): HeaderLines {
  const lines: Record<string, string> = {
    'ratelimit-limit': String(decision.limit),
    'ratelimit-remaining': String(decision.remaining),
    'ratelimit-reset': String(decision.resetAfter),
  };
  if (decision.allowed) return lines;
  if (decision.retryAfter !== null) lines['retry-after'] = String(decision.retryAfter);
  lines['cache-control'] = 'no-store';
  return lines;
}

/** `Access-Control-Expose-Headers` with ours appended to what the app exposes already. */
export function exposeList(current: string | undefined): string {
  if (current === undefined || current.trim() === '') return EXPOSED_HEADERS.join(', ');
  const present = new Set(current.split(',').map((name) => name.trim().toLowerCase()));
  if (present.has('*')) return current;
  const missing = EXPOSED_HEADERS.filter((name) => !present.has(name.toLowerCase()));
  return [current, ...missing].join(', ');
}

// The body of a refusal. Source B, SB-11, SB-31.

import type { Decision } from '../algorithms/decision.js';

export interface RefusalBody {
  readonly statusCode: 429;
  readonly message: string;
  readonly error: 'Too Many Requests';
}

export function bodyOf(message: string): RefusalBody {
  return { statusCode: 429, message, error: 'Too Many Requests' };
}

/** What a refusal says. `attempts` names what was tried too often, such as `login attempts`; null: requests. */
export function messageOf(decision: Decision, attempts: string | null = null): string {
  const { reason, retryAfter, cost, limit } = decision;
  if (reason === 'cost-exceeds-limit') {
    return `Too Many Requests: the call costs ${cost}, the limit is ${limit}`;
  }
  if (attempts === null || retryAfter === null) return 'Too Many Requests';
  const seconds = retryAfter === 1 ? '1 second' : `${retryAfter} seconds`;
  return `Too many ${attempts}. Please try again in ${seconds}.`;
}

// The body of a refusal. Source B, SB-11.

import type { Decision } from '../algorithms/decision.js';

export interface RefusalBody {
  readonly statusCode: 429;
  readonly message: string;
  readonly error: 'Too Many Requests';
}

export function bodyOf(decision: Decision): RefusalBody {
  return { statusCode: 429, message: messageOf(decision), error: 'Too Many Requests' };
}

function messageOf(decision: Decision): string {
  if (decision.reason !== 'cost-exceeds-limit') return 'Too Many Requests';
  return `Too Many Requests: the call costs ${decision.cost}, the limit is ${decision.limit}`;
}

// The caller of an HTTP request.

import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../../algorithms/decision.js';
import type { Verdict } from '../../algorithms/verdict.js';
import type { Caller } from '../call.js';
import { RateLimitException } from './rate-limit.exception.js';
import type { FrameworkRequest, RequestState } from './request-state.js';
import { writeVerdict, type FrameworkResponse } from './response.js';

export class HttpCaller implements Caller {
  readonly transport = 'http';

  constructor(
    private readonly state: RequestState,
    readonly request: FrameworkRequest,
    private readonly response: FrameworkResponse,
    readonly user: string | null,
    readonly context: ExecutionContext | null,
  ) {}

  get address(): string | null {
    return this.state.client.address;
  }

  get network(): string {
    return this.state.client.network;
  }

  tell(verdict: Verdict): void {
    if (this.state.note(verdict)) writeVerdict(this.response, verdict);
  }

  refusal(decision: Decision): Error {
    return new RateLimitException(decision);
  }
}

// The caller of an HTTP request.

import type { ExecutionContext } from '@nestjs/common';
import type { HeaderLines } from '../../algorithms/decision.js';
import type { Verdict } from '../../algorithms/verdict.js';
import type { StoreTime } from '../../limiter/store-time.js';
import type { Caller, Refusal } from '../call.js';
import { RateLimitException } from './rate-limit.exception.js';
import type { FrameworkRequest, RequestState } from './request-state.js';
import { writeLines, writeRefusal, type FrameworkResponse } from './response.js';

export class HttpCaller implements Caller {
  readonly transport = 'http';

  constructor(
    readonly state: RequestState,
    readonly request: FrameworkRequest,
    private readonly response: FrameworkResponse,
    readonly user: string | null,
    readonly context: ExecutionContext | null,
  ) {}

  /** The same caller, known as a user. */
  as(user: string | null): HttpCaller {
    return new HttpCaller(this.state, this.request, this.response, user, this.context);
  }

  get key(): string | null {
    const { actor } = this.state;
    return actor !== null && 'key' in actor ? actor.key : null;
  }

  get time(): StoreTime {
    return this.state.time;
  }

  get address(): string | null {
    return this.state.client.address;
  }

  get network(): string {
    return this.state.client.network;
  }

  tell(verdicts: readonly Verdict[], refused: Verdict | null): HeaderLines {
    const { state, response } = this;
    const { headers } = state.limits;
    const tighter = state.meet(verdicts);
    if (refused !== null) {
      state.lines = headers.ofRefusal(state.met, refused);
      writeRefusal(response, state.lines);
    } else if (tighter || headers.listsPolicies) {
      state.lines = headers.of(state.met);
      writeLines(response, state.lines);
    }
    return state.lines;
  }

  /** Runs a step once the answer is sent, whoever gives it; never when the client goes away before. */
  whenAnswered(step: (status: number) => void): void {
    const raw = 'raw' in this.response ? this.response.raw : this.response;
    raw.once('finish', () => step(raw.statusCode));
  }

  refusal({ decision, message }: Refusal): Error {
    return new RateLimitException(decision, message);
  }
}

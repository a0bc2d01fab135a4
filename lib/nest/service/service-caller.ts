// The caller of a service method that knows an address: nothing is written for it, a refusal is its return value.

import type { HeaderLines } from '../../algorithms/decision.js';
import type { Verdict } from '../../algorithms/verdict.js';
import { StoreTime } from '../../limiter/store-time.js';
import type { ClientAddress } from '../../network/hops.js';
import type { ResponseHeaders } from '../../responses/headers.js';
import type { Caller, Refusal } from '../call.js';
import { RateLimitException } from '../http/rate-limit.exception.js';

export class ServiceCaller implements Caller {
  readonly transport = 'service';
  readonly user = null;
  readonly key = null;
  readonly context = null;
  readonly request = null;
  readonly time = new StoreTime();

  constructor(
    private readonly client: ClientAddress,
    private readonly headers: ResponseHeaders,
  ) {}

  get address(): string | null {
    return this.client.address;
  }

  get network(): string {
    return this.client.network;
  }

  tell(verdicts: readonly Verdict[], refused: Verdict | null): HeaderLines {
    return refused === null ? this.headers.of(verdicts) : this.headers.ofRefusal(verdicts, refused);
  }

  refusal({ decision, message }: Refusal): Error {
    return new RateLimitException(decision, message);
  }
}

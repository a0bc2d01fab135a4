// The exception of an HTTP refusal: an app's exception filter sees it and may reshape the answer.

import { HttpException } from '@nestjs/common';
import type { Decision } from '../../algorithms/decision.js';
import { bodyOf, messageOf } from '../../responses/body.js';

/**
 * 429 Too Many Requests, with the decision it comes from. Where a guard, an interceptor or middleware of this package
 * throws it, the decision's headers are on the response already.
 */
export class RateLimitException extends HttpException {
  constructor(
    readonly decision: Decision,
    message: string = messageOf(decision),
  ) {
    super(bodyOf(message), 429);
  }
}

// The exception of an HTTP refusal: an app's exception filter sees it and may reshape the answer.

import { HttpException } from '@nestjs/common';
import type { Decision } from '../../algorithms/decision.js';
import { bodyOf } from '../../responses/body.js';

/** 429 Too Many Requests, with the decision it comes from. The headers are on the response already. */
export class RateLimitException extends HttpException {
  constructor(readonly decision: Decision) {
    super(bodyOf(decision), 429);
  }
}

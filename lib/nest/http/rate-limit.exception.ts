// The exception of an HTTP refusal: an app's exception filter sees it and may reshape the answer.

import { HttpException } from '@nestjs/common';
import type { Decision } from '../../algorithms/decision.js';
import { bodyOf, messageOf } from '../../responses/body.js';
import { setBodyLines } from './body-lines.js';

/**
 * 429 Too Many Requests, with the decision it comes from. An app may throw it for a decision of the service or a
 * refused sign-in: the decision's headers are sent with it, unless a filter of the app writes another body.
 */
export class RateLimitException extends HttpException {
  constructor(
    readonly decision: Decision,
    message: string = messageOf(decision),
  ) {
    const body = bodyOf(message);
    super(body, 429);
    setBodyLines(body, decision.headers);
  }
}

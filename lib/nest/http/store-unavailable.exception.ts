// The exception of a call that can't be counted, where its limit lets nothing pass then.

import { HttpException } from '@nestjs/common';
import type { HeaderLines } from '../../algorithms/decision.js';
import { setBodyLines } from './body-lines.js';

/** The store is tried again several times a second. */
const LINES: HeaderLines = { 'retry-after': '1', 'cache-control': 'no-store' };

/** 503 Service Unavailable: the store is down, and a limit is `onStoreError: 'closed'`. The service rejects with it too. */
export class StoreUnavailableException extends HttpException {
  constructor() {
    const body = { statusCode: 503, message: 'Service Unavailable', error: 'Service Unavailable' };
    super(body, 503);
    setBodyLines(body, LINES);
  }
}

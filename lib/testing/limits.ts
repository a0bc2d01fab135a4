// Limits in an app's own tests: off, or as if nobody had called yet.

import type { INestApplicationContext } from '@nestjs/common';
import { TollgateError } from '../errors.js';
import { Limiter } from '../limiter/limiter.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { RateLimitStore } from '../stores/store.js';

/** Switches every limit of an app off, for tests that send many requests: all pass, nothing is counted. */
export function limitsOff(app: INestApplicationContext): void {
  app.get(Limiter, { strict: false }).setEnabled(false);
}

/** Switches the limits on again. What was counted before `limitsOff` still is. */
export function limitsOn(app: INestApplicationContext): void {
  app.get(Limiter, { strict: false }).setEnabled(true);
}

/**
 * Forgets everything that was counted, so that each test starts afresh.
 *
 * @throws TollgateError on a shared store: what other processes counted is not this test's to forget.
 */
export function clearLimits(app: INestApplicationContext): void {
  const store: unknown = app.get(RateLimitStore, { strict: false });
  if (!(store instanceof MemoryStore)) {
    throw new TollgateError(
      'TOLLGATE_NOT_INSTALLED',
      'clearLimits() works on a MemoryStore: give the app under test one, or a key prefix of its own',
    );
  }
  store.clearAll();
}

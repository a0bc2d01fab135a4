// What a RedisStore may be told, and what is wrong with it.

import { show } from '../../algorithms/rate.js';
import { badConfiguration } from '../../errors.js';
import type { Clock } from '../clock.js';

export interface RedisStoreOptions {
  /** What the names of all keys begin with, before a schema version. No braces. Default 'tollgate:'. */
  readonly keyPrefix?: string;
  /** For tests: buckets count by its wall clock instead of the server's. Deadlines don't. Default: the server's. */
  readonly clock?: Clock;
}

/** The options, with defaults. @throws TollgateError on what is none: by a misspelled prefix apps would share limits. */
export function soundOptions(options: RedisStoreOptions): { keyPrefix: string; clock: Clock | undefined } {
  const { keyPrefix = 'tollgate:', clock, ...others } = options ?? {};
  const findings = Object.keys(others).map((name) => `${show(name)} is no option: there is keyPrefix`);
  if (typeof keyPrefix !== 'string' || /[{}]/.test(keyPrefix)) {
    findings.push(`keyPrefix is ${show(keyPrefix)}: give a text without braces`);
  }
  if (findings.length > 0) throw badConfiguration('RedisStore', findings);
  return { keyPrefix, clock };
}

// The options of the module, as users write them.

import type { CanActivate, ExecutionContext, FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import type { OnStoreError } from '../algorithms/verdict.js';
import type { AuditSink } from '../events/audit.js';
import type { AddressOptions } from '../network/address-options.js';
import type { ApiLimitNumbers } from '../policies/api-rates.js';
import type { LoginQuotas } from '../policies/login-rates.js';
import type { HeaderFormat } from '../responses/headers.js';
import type { MaybePromise, RateLimitStore } from '../stores/store.js';
import type { Call } from './call.js';
import type { RateLimitSettings } from './config/settings.js';
import type { Quota } from './quota.js';

/** The per-IP limit: requests of one client network per window, GCRA. */
export interface PerIpQuota {
  /** A whole number above 0; a function is asked on every request. */
  readonly limit: number | (() => number);
  /** Such as `'1m'`. */
  readonly per: string;
  /** On trial: counted and reported, refusing nothing. Default false. */
  readonly dryRun?: boolean;
  /** What holds while a shared store is down; absent: as the module says. */
  readonly onStoreError?: OnStoreError;
}

/** Id of the user that a request was authenticated as; null or undefined for guests. */
export type Identify = (
  context: ExecutionContext,
) => MaybePromise<string | number | bigint | null | undefined>;

/** A guard as `authGuard` names it: the class, as in `@UseGuards(X)`. */
export type GuardType = Type<CanActivate>;

/** The sign-in limits; those left out come from settings and are live. Null turns one off. */
export interface LoginOptions extends LoginQuotas {
  /**
   * Makes spellings of an identifier the same, at least those that the app's lookup of accounts takes for the same.
   * Default: letter case, accents, white space, invisible characters and compatibility forms don't matter.
   */
  readonly fold?: (identifier: string) => string;
  /** While a shared store is down: counted by each process, or nothing passes. Never open. Default as the module says. */
  readonly onStoreError?: 'local' | 'closed';
}

/** Everything is optional: `undefined` means the default, `null` off. */
export interface RateLimitOptions extends AddressOptions {
  /** Every request of a client network, 404s included. Default 600 a minute. A number given here is fixed. */
  readonly perIp?: PerIpQuota | null;
  /** The app's guards that authenticate: throttles run right behind them. Default: behind all global guards. */
  readonly authGuard?: GuardType | readonly GuardType[] | null;
  /**
   * True: failed authentications of the guards in `authGuard` count per client network, 10 a minute by default; then
   * failures are answered 429, and who authenticates still passes. Default false. Source A, SA-17 to SA-19.
   */
  readonly preauth?: boolean;
  /**
   * Whether a call that failed to authenticate carried a credential: one without is no guess and isn't counted.
   * Default: it has a header, cookie, query parameter or field of the body that is called like one.
   */
  readonly hasCredential?: (context: ExecutionContext) => boolean;
  /**
   * Who a request was authenticated as. Default `user.id ?? user.sub ?? user.userId` of the request. Middleware made
   * with `throttle()` runs before any handler is known and always reads `request.user`.
   */
  readonly identify?: Identify;
  /**
   * True lets a call pass unlimited and uncounted. Asked twice: before the per-IP limit, when nobody is authenticated
   * yet (`user` and `context` are null), and before route throttles.
   */
  readonly skipIf?: ((call: Call) => boolean) | null;
  /** A throttle for every route that has none of its own, each route with its own counter. Default none. */
  readonly throttle?: Quota | readonly Quota[] | null;
  /** Quotas by name, for `@Throttle('name')` and `RateLimitService`. */
  readonly policies?: Readonly<Record<string, Quota>>;
  /** The machine API's limits; those left out come from settings and are live. Source A. */
  readonly limits?: ApiLimitNumbers;
  /** The sign-in limits: 5 failures a minute, 5 wrong codes, a mail a minute. Null turns all off. Source B. */
  readonly login?: LoginOptions | null;
  /** Where buckets live. Default a `MemoryStore`: in this process only. */
  readonly store?: RateLimitStore;
  /**
   * Most milliseconds that one request waits for a shared store, over all its steps; a whole number above 0. Default
   * 100.
   */
  readonly storeTimeout?: number;
  /**
   * What holds while a shared store is down: `'local'` (default), the same limits counted by each process; `'open'`, no
   * limit but those against guessing; `'closed'`, nothing passes: 503.
   */
  readonly onStoreError?: OnStoreError;
  /**
   * How responses tell clients about their limits: one format or several. Default `'draft-6'`; null: none of them.
   * Refusals carry `retry-after` in any case.
   */
  readonly headers?: HeaderFormat | readonly HeaderFormat[] | null;
  /** Where the first refusal of each client network and minute goes. Default: the log; null: nowhere. */
  readonly audit?: AuditSink | null;
  /** Every limit is on trial: counted and reported, refusing nothing. Default false. */
  readonly dryRun?: boolean;
  /** Where limits are read on every call. Default `@nestjs/config`, namespace `rateLimit`. */
  readonly settings?: RateLimitSettings;
}

export interface RateLimitOptionsFactory {
  createRateLimitOptions(): MaybePromise<RateLimitOptions>;
}

/** One of `useFactory`, `useClass` and `useExisting`. */
export interface RateLimitAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: FactoryProvider['inject'];
  readonly useFactory?: (...dependencies: never[]) => MaybePromise<RateLimitOptions>;
  readonly useClass?: Type<RateLimitOptionsFactory>;
  readonly useExisting?: Type<RateLimitOptionsFactory>;
}

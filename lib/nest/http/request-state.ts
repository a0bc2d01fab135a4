// What is known of one HTTP request from its arrival on, kept on the raw request that all adapters share.

import type { IncomingHttpHeaders } from 'node:http';
import type { HeaderLines } from '../../algorithms/decision.js';
import { isShown, tighter, type Verdict } from '../../algorithms/verdict.js';
import { StoreTime } from '../../limiter/store-time.js';
import type { ClientAddress } from '../../network/hops.js';
import type { Attempt } from '../../policies/attempts.js';
import type { MaybePromise } from '../../stores/store.js';
import type { Actor } from '../auth/authenticator.js';
import type { HttpLimits } from './http-limits.js';

/** The parts of Node's request that are read here. */
export interface RawRequest {
  readonly method?: string;
  readonly url?: string;
  readonly headers: IncomingHttpHeaders;
  readonly socket?: { readonly remoteAddress?: string; readonly localAddress?: string };
  [REQUEST_STATE]?: RequestState;
}

/** A framework's request: Express's is the raw one, Fastify's has it. */
export interface FrameworkRequest extends RawRequest {
  readonly raw?: RawRequest;
  readonly user?: unknown;
  /** The parsed body; absent before it is parsed, and where there is none. */
  readonly body?: unknown;
  /** The URL as it was sent, where a framework changes `url`. */
  readonly originalUrl?: string;
}

// Registered, so that two copies of this package meet.
const REQUEST_STATE: unique symbol = Symbol.for('nestjs-tollgate:request');

/** A step that was taken, and its outcome. */
interface Decided {
  readonly key: object;
  readonly again: () => MaybePromise<true>;
}

export class RequestState {
  /** The buckets that this request has met, but for those that clients aren't told about. */
  readonly met: Verdict[] = [];
  private tightest: Verdict | null = null;
  /** What the request has waited for stores. */
  readonly time = new StoreTime();
  /** What the client was told about them. */
  lines: HeaderLines = {};
  /** Whom an `Authenticator` found to be calling; null before, and for guests. */
  actor: Actor | null = null;
  /** The sign-in that this request is, once it has begun. */
  attempt: Attempt | null = null;
  private readonly decided: Decided[] = [];

  constructor(
    readonly client: ClientAddress,
    /** The limits of the app that the request came to: several apps can share guards and middleware. */
    readonly limits: HttpLimits,
    /** The state of the app that this app is mounted in, if any. */
    readonly outer?: RequestState,
  ) {}

  /**
   * Takes a step once, whatever asks for it how often. Its outcome is kept: a refusal that a guard of the app
   * swallowed is thrown again at the next point that asks.
   */
  once(key: object, step: () => MaybePromise<true>): MaybePromise<true> {
    for (const known of this.decided) if (known.key === key) return known.again();
    try {
      const outcome = step();
      this.decided.push({ key, again: () => outcome });
      return outcome;
    } catch (refusal) {
      const again = (): never => {
        throw refusal;
      };
      this.decided.push({ key, again });
      throw refusal;
    }
  }

  /** Takes the buckets of a step into account; true when another is now the tightest that a client is told about. */
  meet(verdicts: readonly Verdict[]): boolean {
    let changed = false;
    for (const verdict of verdicts) {
      if (!isShown(verdict)) continue;
      this.met.push(verdict);
      if (this.tightest !== null && !tighter(verdict, this.tightest)) continue;
      this.tightest = verdict;
      changed = true;
    }
    return changed;
  }
}

export function rawRequest(request: FrameworkRequest): RawRequest {
  // Middleware for Express may put a body or anything else under this name.
  return isRaw(request.raw) ? request.raw : request;
}

function isRaw(value: unknown): value is RawRequest {
  return typeof value === 'object' && value !== null && 'headers' in value && 'socket' in value;
}

/** The state of a request in the app that saw it last; undefined before it was seen. */
export function stateOf(raw: RawRequest): RequestState | undefined {
  return raw[REQUEST_STATE];
}

/** The state of a request in one app; undefined where that app didn't see it. */
export function stateIn(raw: RawRequest, limits: HttpLimits): RequestState | undefined {
  let state = raw[REQUEST_STATE];
  while (state !== undefined && state.limits !== limits) state = state.outer;
  return state;
}

export function setState(raw: RawRequest, state: RequestState): void {
  raw[REQUEST_STATE] = state;
}

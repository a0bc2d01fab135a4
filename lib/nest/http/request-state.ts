// What is known of one HTTP request from its arrival on, kept on the raw request that all adapters share.

import type { IncomingHttpHeaders } from 'node:http';
import { tighter, type Verdict } from '../../algorithms/verdict.js';
import type { ClientAddress } from '../../network/hops.js';
import type { HttpLimits } from './http-limits.js';

/** The parts of Node's request that are read here. */
export interface RawRequest {
  readonly method?: string;
  readonly url?: string;
  readonly headers: IncomingHttpHeaders;
  readonly socket?: { readonly remoteAddress?: string };
  [REQUEST_STATE]?: RequestState;
}

/** A framework's request: Express's is the raw one, Fastify's has it. */
export interface FrameworkRequest extends RawRequest {
  readonly raw?: RawRequest;
  readonly user?: unknown;
}

const REQUEST_STATE = Symbol('tollgate:request');

export class RequestState {
  /** The tightest bucket so far: the one that headers describe. */
  private tightest: Verdict | null = null;
  /** The per-IP limit saw this request. */
  arrived = false;
  /** The route throttles of this request were counted. */
  throttled = false;

  constructor(
    readonly client: ClientAddress,
    /** The limits of the app that the request came to: several apps can share guards and middleware. */
    readonly limits: HttpLimits,
  ) {}

  /** Takes a bucket into account; true when it is now the one to describe. */
  note(verdict: Verdict): boolean {
    if (this.tightest !== null && !tighter(verdict, this.tightest)) return false;
    this.tightest = verdict;
    return true;
  }
}

export function rawRequest(request: FrameworkRequest): RawRequest {
  return request.raw ?? request;
}

/** The state of a request; undefined before it was seen. */
export function stateOf(raw: RawRequest): RequestState | undefined {
  return raw[REQUEST_STATE];
}

export function setState(raw: RawRequest, state: RequestState): void {
  raw[REQUEST_STATE] = state;
}

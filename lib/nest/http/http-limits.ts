// What happens to every HTTP request before routing: the address is captured, the per-IP limit is charged.

import type { ExecutionContext } from '@nestjs/common';
import { show } from '../../algorithms/rate.js';
import { nameOf } from '../../errors.js';
import type { Report } from '../../events/event.js';
import { ignoreLate } from '../../limiter/late-answer.js';
import type { AddressResolver } from '../../network/client-address.js';
import type { ApiPolicies } from '../../policies/api.js';
import type { PerIpPolicy } from '../../policies/per-ip.js';
import type { ResponseHeaders } from '../../responses/headers.js';
import type { MaybePromise } from '../../stores/store.js';
import { AuthFailures } from '../auth/auth-failures.js';
import type { Call } from '../call.js';
import type { Gate } from '../throttle/gate.js';
import type { Identities } from '../throttle/identity.js';
import { HttpCaller } from './http-caller.js';
import {
  RequestState,
  rawRequest,
  setState,
  stateIn,
  stateOf,
  type FrameworkRequest,
  type RawRequest,
} from './request-state.js';
import { exposeHeaders, type FrameworkResponse } from './response.js';

/** What the HTTP side of an app is made of. */
export interface HttpParts {
  readonly gate: Gate;
  readonly headers: ResponseHeaders;
  readonly identities: Identities;
  readonly report: Report;
  readonly addresses: AddressResolver;
  readonly perIp: PerIpPolicy;
  /** Lets a call pass unlimited when it returns true. */
  readonly skipIf: ((call: Call) => boolean) | null;
  readonly api: ApiPolicies;
  /** Whether a call that failed to authenticate carried a credential; null: by what its parts are called. */
  readonly hasCredential: ((context: ExecutionContext) => boolean) | null;
}

export class HttpLimits {
  readonly gate: Gate;
  readonly headers: ResponseHeaders;
  readonly identities: Identities;
  readonly report: Report;
  readonly failures: AuthFailures;
  private forwardingReported = false;

  constructor(private readonly parts: HttpParts) {
    this.gate = parts.gate;
    this.headers = parts.headers;
    this.identities = parts.identities;
    this.report = parts.report;
    this.failures = new AuthFailures(this, parts.api, parts.hasCredential);
  }

  /** The per-IP limit refuses nothing. */
  get perIpOnTrial(): boolean {
    return this.parts.perIp.dryRun;
  }

  /** Whether the app lets a call pass unlimited. A function that fails skips nothing. */
  skips(call: Call): boolean {
    const { skipIf } = this.parts;
    if (skipIf === null) return false;
    try {
      // Only true skips: a function that is async by mistake gives a promise.
      const skipped: unknown = skipIf(call);
      ignoreLate(skipped);
      if (typeof skipped !== 'boolean') this.reportSkip(`returned ${show(skipped)}, which skips nothing`);
      return skipped === true;
    } catch (error) {
      this.reportSkip(`threw ${nameOf(error)}`);
      return false;
    }
  }

  private reportSkip(problem: string): void {
    this.report({ type: 'unusable-key', policy: 'skipIf', problem: `skipIf() ${problem}` });
  }

  /** The state of a request; captures the address when this app sees it for the first time. */
  capture(raw: RawRequest): RequestState {
    const known = stateIn(raw, this);
    if (known !== undefined) return known;
    const peer = raw.socket?.remoteAddress;
    // A TCP peer that is gone has no address either, and is no Unix socket whose word could be trusted.
    const headers = peer === undefined && raw.socket?.localAddress !== undefined ? undefined : raw.headers;
    const client = this.parts.addresses.resolve(peer, headers);
    const state = new RequestState(client, this, stateOf(raw));
    setState(raw, state);
    if (client.address === null) this.report({ type: 'unknown-address' });
    else if (!this.forwardingReported && this.parts.addresses.ignoresHeaders(peer, headers)) {
      this.forwardingReported = true;
      this.report({ type: 'forwarding-ignored', peer: client.address });
    }
    return state;
  }

  /** The caller of a handler; null where that is no HTTP request, or one of another app that shares the guard. */
  callerOf(context: ExecutionContext, user: string | null = null): HttpCaller | null {
    if (typeof context.getType !== 'function' || context.getType() !== 'http') return null;
    const http = context.switchToHttp();
    const request = http.getRequest<FrameworkRequest>();
    const raw = rawRequest(request);
    if (stateOf(raw) !== undefined && stateIn(raw, this) === undefined) return null;
    return new HttpCaller(this.capture(raw), request, http.getResponse<FrameworkResponse>(), user, context);
  }

  /** Once per request, however many middlewares and guards call it. Throws the refusal. */
  onRequest(request: FrameworkRequest, response: FrameworkResponse): MaybePromise<true> {
    const raw = rawRequest(request);
    const state = this.capture(raw);
    // Each time: on Fastify middleware has the raw response and hooks have the reply.
    if (raw.headers.origin !== undefined) exposeHeaders(response, this.headers);
    return state.once(this, () => this.charge(raw, state, request, response));
  }

  private charge(
    raw: RawRequest,
    state: RequestState,
    request: FrameworkRequest,
    response: FrameworkResponse,
  ): MaybePromise<true> {
    if (isPreflight(raw)) return true;
    const caller = new HttpCaller(state, request, response, null, null);
    if (this.skips(caller)) return true;
    const { perIp } = this.parts;
    const bucket = perIp.bucket(state.client.network);
    return bucket === null ? true : this.gate.passOne(caller, 'ip', bucket, perIp.dryRun);
  }
}

/** A CORS preflight (Fetch standard): any other OPTIONS is a request. Source B, SB-07. */
function isPreflight(raw: RawRequest): boolean {
  if (raw.method !== 'OPTIONS') return false;
  const { headers } = raw;
  return headers.origin !== undefined && Boolean(headers['access-control-request-method']);
}

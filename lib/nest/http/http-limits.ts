// What happens to every HTTP request before routing: the address is captured, the per-IP limit is charged.

import type { Report } from '../../events/event.js';
import { ignoreLate } from '../../limiter/late-answer.js';
import type { Limiter } from '../../limiter/limiter.js';
import type { AddressResolver } from '../../network/client-address.js';
import type { PerIpPolicy } from '../../policies/per-ip.js';
import type { MaybePromise } from '../../stores/store.js';
import type { Call } from '../call.js';
import { admit } from '../throttle/gate.js';
import type { Identities } from '../throttle/identity.js';
import { HttpCaller } from './http-caller.js';
import {
  RequestState,
  rawRequest,
  setState,
  stateOf,
  type FrameworkRequest,
  type RawRequest,
} from './request-state.js';
import { exposeHeaders, type FrameworkResponse } from './response.js';

export class HttpLimits {
  private forwardingReported = false;

  constructor(
    readonly limiter: Limiter,
    readonly identities: Identities,
    readonly report: Report,
    private readonly addresses: AddressResolver,
    private readonly perIp: PerIpPolicy,
    private readonly skipIf: ((call: Call) => boolean) | null,
  ) {}

  /** Whether the app lets a call pass unlimited. A function that fails skips nothing. */
  skips(call: Call): boolean {
    if (this.skipIf === null) return false;
    try {
      // Only true skips: a function that is async by mistake gives a promise.
      const skipped: unknown = this.skipIf(call);
      ignoreLate(skipped);
      return skipped === true;
    } catch (error) {
      this.report({ type: 'unusable-key', policy: 'skipIf', problem: `skipIf() threw ${String(error)}` });
      return false;
    }
  }

  /** The state of a request; captures the address when it is seen for the first time. */
  capture(raw: RawRequest): RequestState {
    const known = stateOf(raw);
    if (known !== undefined) return known;
    const peer = raw.socket?.remoteAddress;
    const client = this.addresses.resolve(peer, raw.headers);
    const state = new RequestState(client, this);
    setState(raw, state);
    if (client.address === null) this.report({ type: 'unknown-address' });
    else if (!this.forwardingReported && this.addresses.ignoresHeaders(peer, raw.headers)) {
      this.forwardingReported = true;
      this.report({ type: 'forwarding-ignored', peer: client.address });
    }
    return state;
  }

  /** Once per request, however many middlewares and guards call it. Throws the refusal. */
  onRequest(request: FrameworkRequest, response: FrameworkResponse): MaybePromise<true> {
    const raw = rawRequest(request);
    const state = this.capture(raw);
    // Each time: on Fastify middleware has the raw response and hooks have the reply.
    if (raw.headers.origin !== undefined) exposeHeaders(response);
    if (state.arrived) return true;
    state.arrived = true;
    if (isPreflight(raw)) return true;
    const caller = new HttpCaller(state, request, response, null, null);
    if (this.skips(caller)) return true;
    const verdicts = this.perIp.consume(state.client.network);
    return verdicts === null ? true : admit(caller, verdicts);
  }
}

/** A CORS preflight (Fetch standard): any other OPTIONS is a request. Source B, SB-07. */
function isPreflight(raw: RawRequest): boolean {
  if (raw.method !== 'OPTIONS') return false;
  const { headers } = raw;
  return headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

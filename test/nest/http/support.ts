// Requests, responses and limits as the adapters make them, for units that need no server.

import { HttpLimits } from '../../../lib/nest/http/http-limits.js';
import type { FrameworkRequest, RawRequest } from '../../../lib/nest/http/request-state.js';
import type { FrameworkResponse, RawResponse } from '../../../lib/nest/http/response.js';
import { createRate, type Rate } from '../../../lib/algorithms/rate.js';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import { RateLimitEvents } from '../../../lib/events/event-stream.js';
import { Limiter } from '../../../lib/limiter/limiter.js';
import type { Call } from '../../../lib/nest/call.js';
import { Gate } from '../../../lib/nest/throttle/gate.js';
import { Identities } from '../../../lib/nest/throttle/identity.js';
import { createAddressResolver } from '../../../lib/network/client-address.js';
import { ApiPolicies } from '../../../lib/policies/api.js';
import { ApiRates } from '../../../lib/policies/api-rates.js';
import { PerIpPolicy } from '../../../lib/policies/per-ip.js';
import { ResponseHeaders, type HeaderFormat } from '../../../lib/responses/headers.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

type Value = number | string | readonly string[] | undefined;

/** Node's response: names are case-insensitive. */
export class FakeResponse implements RawResponse {
  headersSent = false;
  statusCode = 200;
  private readonly finished: (() => void)[] = [];
  readonly lines = new Map<string, Value>();

  getHeader(name: string): Value {
    return this.lines.get(name.toLowerCase());
  }

  setHeader(name: string, value: Value): this {
    this.lines.set(name.toLowerCase(), value);
    return this;
  }

  removeHeader(name: string): void {
    this.lines.delete(name.toLowerCase());
  }

  once(_event: 'finish', step: () => void): void {
    this.finished.push(step);
  }

  /** Sends the answer. */
  finish(statusCode: number): void {
    this.statusCode = statusCode;
    for (const step of this.finished.splice(0)) step();
  }
}

/** Fastify's reply: what is set on it wins over the raw response when it is sent. */
export class FakeReply {
  readonly raw = new FakeResponse();
  readonly own = new Map<string, Value>();

  getHeader(name: string): Value {
    return this.own.get(name) ?? this.raw.getHeader(name);
  }

  hasHeader(name: string): boolean {
    return this.own.has(name);
  }

  header(name: string, value: Value): this {
    this.own.set(name, value);
    return this;
  }

  removeHeader(name: string): this {
    this.own.delete(name);
    return this;
  }

  /** What the client gets. */
  get lines(): ReadonlyMap<string, Value> {
    return new Map([...this.raw.lines, ...this.own]);
  }
}

export interface Made {
  readonly limits: HttpLimits;
  readonly store: MemoryStore;
  readonly clock: FakeClock;
  readonly events: RateLimitEvent[];
}

/** How an app's limits are told, and whether its per-IP limit is on trial. */
export interface Told {
  readonly formats?: readonly HeaderFormat[];
  readonly dryRun?: boolean;
}

/** Limits of one app. `rate` null: per IP is off. */
export function makeLimits(
  rate: Rate | null = createRate('gcra', 2, 60e6),
  skipIf: ((call: Call) => boolean) | null = null,
  trustedProxies: string[] = [],
  { formats = ['draft-6'], dryRun = false }: Told = {},
): Made {
  const events: RateLimitEvent[] = [];
  const report = (event: RateLimitEvent): void => void events.push(event);
  const clock = new FakeClock();
  const store = new MemoryStore({ clock });
  const limiter = new Limiter(store, 100);
  const limits = new HttpLimits({
    gate: new Gate(limiter, new RateLimitEvents(report), false),
    headers: new ResponseHeaders(formats),
    identities: new Identities(null, report),
    report,
    addresses: createAddressResolver({ trustedProxies }),
    perIp: new PerIpPolicy(() => rate, dryRun),
    skipIf,
    api: new ApiPolicies(new ApiRates({}, () => ({}), report)),
    hasCredential: null,
  });
  return { limits, store, clock, events };
}

export function rawRequestFrom(
  remoteAddress: string | undefined,
  headers: RawRequest['headers'] = {},
): RawRequest {
  return { method: 'GET', url: '/', headers, socket: { remoteAddress } };
}

/** One request and its response as each adapter has them. */
export function exchanges(raw: () => RawRequest): [string, FrameworkRequest, FrameworkResponse & Shown][] {
  const wrapped = raw();
  return [
    ['express', raw(), new FakeResponse()],
    ['fastify', { ...wrapped, raw: wrapped }, new FakeReply()],
  ];
}

interface Shown {
  readonly lines: ReadonlyMap<string, Value>;
}

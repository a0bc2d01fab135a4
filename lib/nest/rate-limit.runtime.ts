// Puts the parts of one app together: everything below is made here, from options and settings, and nowhere else.

import { RateLimitEvents } from '../events/event-stream.js';
import { FailoverStore } from '../limiter/failover.store.js';
import { Limiter } from '../limiter/limiter.js';
import { createAddressResolver, type AddressResolver } from '../network/client-address.js';
import type { ClientAddress } from '../network/hops.js';
import { ApiPolicies } from '../policies/api.js';
import { PerIpPolicy } from '../policies/per-ip.js';
import { ResponseHeaders } from '../responses/headers.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { RateLimitStore } from '../stores/store.js';
import { soundOptions } from './config/option-shapes.js';
import type { RateLimitConfig } from './config/rate-limit.config.js';
import { resolveOptions, type ResolvedOptions } from './config/resolved-options.js';
import { ConfigSettings, SafeSettings } from './config/settings.js';
import { EventLog } from './event-log.js';
import { HttpLimits } from './http/http-limits.js';
import { StoreUnavailableException } from './http/store-unavailable.exception.js';
import { LogAuditSink } from './log-audit-sink.js';
import { Attempts } from './login/attempts.js';
import type { GuardType, RateLimitOptions } from './options.js';
import { Gate } from './throttle/gate.js';
import { Identities } from './throttle/identity.js';
import { ThrottleEnforcer } from './throttle/throttle.enforcer.js';
import { ThrottlePlans } from './throttle/throttle-plans.js';

/** Most milliseconds that one request waits for a shared store. */
const STORE_TIMEOUT = 100;

export class RateLimitRuntime {
  /** What is wrong with the options: the boot fails with it. */
  readonly findings: string[] = [];
  readonly plans = new ThrottlePlans();
  readonly events: RateLimitEvents;
  readonly options: ResolvedOptions;
  readonly authGuards: readonly GuardType[];
  readonly store: RateLimitStore;
  /** Milliseconds. */
  readonly storeTimeout: number;
  readonly limiter: Limiter;
  readonly headers: ResponseHeaders;
  readonly gate: Gate;
  readonly http: HttpLimits;
  readonly addresses: AddressResolver;
  readonly api: ApiPolicies;
  readonly attempts: Attempts;
  /** Failures of the auth guards count. */
  readonly preauth: boolean;
  readonly enforcer: ThrottleEnforcer;
  /** Every limit is on trial. */
  readonly dryRun: boolean;
  private readonly log: EventLog;
  /** Around a shared store; null: the store is in process and can't fail. */
  private readonly failover: FailoverStore | null;
  private opened: Promise<void> | null = null;

  constructor(given: RateLimitOptions, config: RateLimitConfig) {
    const options = soundOptions(given, this.findings);
    this.store = options.store ?? new MemoryStore();
    const sink = options.audit === undefined ? new LogAuditSink() : options.audit;
    this.log = new EventLog(this.store.clock, sink);
    this.events = new RateLimitEvents((event) => this.log.write(event));
    const report = this.events.emit.bind(this.events);
    this.store.report = report;
    const settings = new SafeSettings(options.settings ?? new ConfigSettings(config), report);
    this.options = resolveOptions(options, config, settings, report, this.findings);
    this.authGuards = [options.authGuard ?? []].flat();
    this.dryRun = options.dryRun ?? false;
    this.failover = this.store instanceof MemoryStore ? null : this.failoverOf(this.store, options);
    this.storeTimeout = options.storeTimeout ?? STORE_TIMEOUT;
    this.limiter = new Limiter(this.failover ?? this.store, this.storeTimeout);
    this.headers = new ResponseHeaders(options.headers === null ? [] : [options.headers ?? 'draft-6'].flat());
    this.api = new ApiPolicies(this.options.api);
    this.attempts = new Attempts(
      this.limiter,
      this.options.login,
      options.login?.fold ?? null,
      report,
      options.login?.onStoreError,
    );
    this.preauth = options.preauth ?? false;
    if (this.preauth && this.authGuards.length === 0) {
      this.findings.push('preauth is true, but authGuard names no guard whose failures could be counted');
    }
    this.gate = new Gate(this.limiter, this.events, this.dryRun);
    this.addresses = createAddressResolver(this.findings.length === 0 ? this.options.address : {});
    this.http = new HttpLimits({
      gate: this.gate,
      headers: this.headers,
      identities: new Identities(options.identify ?? null, report),
      report,
      addresses: this.addresses,
      perIp: new PerIpPolicy(this.options.perIp, options.perIp?.dryRun ?? false, options.perIp?.onStoreError),
      skipIf: options.skipIf ?? null,
      api: this.api,
      hasCredential: options.hasCredential ?? null,
    });
    this.enforcer = new ThrottleEnforcer(this.http, this.plans, this.api);
  }

  /** The client that an address names, in whatever spelling; all unknown ones are one client. */
  clientOf(address: string | null): ClientAddress {
    const client = this.addresses.fromText(address);
    if (client.address === null) this.events.emit({ type: 'unknown-address' });
    return client;
  }

  private failoverOf(store: RateLimitStore, { onStoreError = 'local' }: RateLimitOptions): FailoverStore {
    const unavailable = (): Error => new StoreUnavailableException();
    const failover = new FailoverStore(store, { onStoreError, unavailable, dryRun: this.dryRun });
    failover.report = (event) => this.events.emit(event);
    return failover;
  }

  /** Begins to use the store: once the boot has found nothing wrong. Rejects when the store can never work. */
  open(): Promise<void> {
    this.opened ??= this.openStore();
    return this.opened;
  }

  private async openStore(): Promise<void> {
    try {
      await this.store.open();
    } catch (error) {
      await this.store.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    try {
      await this.failover?.close();
      if (this.opened !== null) await this.store.close();
    } finally {
      this.log.close();
      this.events.close();
    }
  }
}

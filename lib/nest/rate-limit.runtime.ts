// Puts the parts of one app together: everything below is made here, from options and settings, and nowhere else.

import { RateLimitEvents } from '../events/event-stream.js';
import { Limiter } from '../limiter/limiter.js';
import { createAddressResolver } from '../network/client-address.js';
import { PerIpPolicy } from '../policies/per-ip.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { RateLimitStore } from '../stores/store.js';
import { soundOptions } from './config/option-shapes.js';
import type { RateLimitConfig } from './config/rate-limit.config.js';
import { resolveOptions, type ResolvedOptions } from './config/resolved-options.js';
import { ConfigSettings, SafeSettings } from './config/settings.js';
import { HttpLimits } from './http/http-limits.js';
import type { GuardType, RateLimitOptions } from './options.js';
import { Identities } from './throttle/identity.js';
import { ThrottleEnforcer } from './throttle/throttle.enforcer.js';
import { ThrottlePlans } from './throttle/throttle-plans.js';

/** Most milliseconds that one call waits for a shared store. */
const STORE_TIMEOUT = 100;

export class RateLimitRuntime {
  readonly events = new RateLimitEvents();
  readonly plans = new ThrottlePlans();
  /** What is wrong with the options: the boot fails with it. */
  readonly findings: string[] = [];
  readonly options: ResolvedOptions;
  readonly authGuards: readonly GuardType[];
  readonly store: RateLimitStore;
  readonly limiter: Limiter;
  readonly http: HttpLimits;
  readonly enforcer: ThrottleEnforcer;

  constructor(given: RateLimitOptions, config: RateLimitConfig) {
    const report = this.events.emit.bind(this.events);
    const options = soundOptions(given, this.findings);
    const settings = new SafeSettings(options.settings ?? new ConfigSettings(config), report);
    this.options = resolveOptions(options, config, settings, report, this.findings);
    this.authGuards = [options.authGuard ?? []].flat();
    this.store = options.store ?? new MemoryStore();
    this.store.report = report;
    this.limiter = new Limiter(this.store, STORE_TIMEOUT);
    this.http = new HttpLimits(
      this.limiter,
      new Identities(options.identify ?? null, report),
      report,
      createAddressResolver(this.findings.length === 0 ? this.options.address : {}),
      new PerIpPolicy(this.limiter, this.options.perIp),
      options.skipIf ?? null,
    );
    this.enforcer = new ThrottleEnforcer(this.http, this.plans);
  }

  async close(): Promise<void> {
    await this.store.close();
    this.events.close();
  }
}

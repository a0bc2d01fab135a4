// What happens once at boot: handlers get their plans, guards their places, and everything wrong is said at once.

import { Injectable, Logger } from '@nestjs/common';
import {
  ApplicationConfig,
  DiscoveryService,
  HttpAdapterHost,
  MetadataScanner,
  ModulesContainer,
} from '@nestjs/core';
import { formatDuration } from '../algorithms/duration.js';
import { badConfiguration } from '../errors.js';
import type { Report } from '../events/event.js';
import { reportTable, type ReportRow } from './boot-report.js';
import { setupWarnings, unenforcedThrottles } from './boot-warnings.js';
import { isRoute, routeIdentity } from './http/route-identity.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import { GuardChain, guardsOf } from './throttle/guard-chain.js';
import { ThrottleGuard } from './throttle/throttle.guard.js';
import { ThrottlePlanner, type ThrottlePlan, type ThrottlePosition } from './throttle/throttle-plan.js';

/** Metadata key under which RouterModule leaves a module's path, followed by the id of the application. */
const MODULE_PATH = '__module_path__';

interface Route {
  readonly controller: Function;
  readonly method: string;
  readonly handler: Function;
  readonly identity: string;
}

@Injectable()
export class RateLimitBoot {
  private readonly logger = new Logger('RateLimit');
  private readonly chain: GuardChain;
  private done = false;

  constructor(
    private readonly runtime: RateLimitRuntime,
    private readonly guard: ThrottleGuard,
    private readonly config: ApplicationConfig,
    private readonly modules: ModulesContainer,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    host: HttpAdapterHost,
  ) {
    const serves: unknown = host.httpAdapter;
    this.chain = new GuardChain(runtime.authGuards, config, modules, serves !== undefined && serves !== null);
  }

  /** Once per app; throws one error with all findings. */
  run(): void {
    if (this.done) return;
    this.done = true;
    const { runtime, chain } = this;
    const findings = [...runtime.findings];
    const routes = this.routes();
    const declared = routes.flatMap(({ controller, handler }) => guardsOf(controller, handler));
    chain.attach((context, names) => runtime.enforcer.enforce(context, 'auth', names), declared, findings);
    const rows: ReportRow[] = [];
    const planner = new ThrottlePlanner(runtime.options, this.report);
    for (const { controller, method, handler, identity } of routes) {
      const limits = planner.limits(controller, method, identity, findings);
      const plan: ThrottlePlan = { limits, ...chain.place(controller, handler) };
      runtime.plans.set(controller, handler, plan);
      rows.push(this.row(identity, plan));
      this.warnOfUnknownAuth(plan, controller, method, handler);
    }
    if (findings.length > 0) {
      chain.detach();
      throw badConfiguration('RateLimitModule', findings);
    }
    for (const warning of setupWarnings(runtime.store, runtime.options.address)) this.logger.warn(warning);
    for (const warning of unenforcedThrottles(this.discovery, this.scanner)) this.logger.warn(warning);
    const table = reportTable(perIpText(runtime), rows);
    this.logger.log(runtime.dryRun ? `dry run: nothing is refused\n${table}` : table);
    this.bindLast();
  }

  private row(route: string, { limits, position }: ThrottlePlan): ReportRow {
    return {
      route,
      limits: limits.map((limit) => limit.describe()).join(' + '),
      place: this.places()[position],
    };
  }

  private places(): Readonly<Record<ThrottlePosition, string>> {
    const guards = this.runtime.authGuards.map(({ name }) => name).join(', ');
    return {
      global: 'behind all global guards',
      auth: `right behind ${guards}`,
      listed: 'where ThrottleGuard is listed',
    };
  }

  /** Behind all global guards, those that main.ts bound included. */
  private bindLast(): void {
    const guards: readonly unknown[] = this.config.getGlobalGuards();
    const early = guards.findIndex((guard) => guard instanceof ThrottleGuard);
    if (early >= 0 && early < guards.length - 1 && this.runtime.authGuards.length === 0) {
      this.logger.warn(
        'ThrottleGuard is bound globally in front of other guards: where those authenticate, users of one network ' +
          'share its limits. Leave it out, the module binds its own behind all global guards',
      );
    }
    if (!guards.includes(this.guard)) this.config.useGlobalGuards(this.guard);
  }

  /** Leaves the app's guards as they were. */
  undo(): void {
    this.chain.detach();
  }

  private readonly report: Report = (event) => {
    this.runtime.events.emit(event);
  };

  private routes(): Route[] {
    const taken = new Map<string, number>();
    return this.discovery.getControllers().flatMap((wrapper) => {
      const controller: unknown = wrapper.metatype;
      if (typeof controller !== 'function') return [];
      const modulePath = this.modulePath(wrapper.host?.metatype);
      return this.scanner.getAllMethodNames(controller.prototype).flatMap((method) => {
        const handler: unknown = controller.prototype[method];
        if (typeof handler !== 'function' || !isRoute(handler)) return [];
        const name = routeIdentity(controller, handler, modulePath);
        // Two handlers of one route: only the first is reached, but their counters stay apart.
        const count = (taken.get(name) ?? 0) + 1;
        taken.set(name, count);
        return [{ controller, method, handler, identity: count === 1 ? name : `${name} (${count})` }];
      });
    });
  }

  private modulePath(module: Function | undefined): string {
    if (module === undefined) return '';
    const path: unknown = Reflect.getMetadata(MODULE_PATH + this.modules.applicationId, module);
    return typeof path === 'string' ? path : '';
  }

  /** Without knowing who authenticates, a throttle may run before it and count users of one address together. */
  private warnOfUnknownAuth(
    plan: ThrottlePlan,
    controller: Function,
    method: string,
    handler: Function,
  ): void {
    if (plan.limits.length === 0 || plan.position !== 'global') return;
    if (guardsOf(controller, handler).length === 0) return;
    this.logger.warn(
      `${controller.name}.${method} is throttled before its own guards run: name the one that authenticates in ` +
        `authGuard, and it counts users (calls that guard rejects then cost the per-IP limit only); or list ` +
        `ThrottleGuard where it shall run`,
    );
  }
}

function perIpText({ options, http }: RateLimitRuntime): string {
  const rate = options.perIp();
  if (rate === null) return 'off';
  return `${rate.limit}/${formatDuration(rate.window)}${http.perIpOnTrial ? ' (dry run)' : ''}`;
}

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
import { prepareFolding } from '../policies/identifier.js';
import { reportTable, type ReportRow } from './boot-report.js';
import { setupWarnings, unenforcedDecorators } from './boot-warnings.js';
import { costWarnings } from './cost-warnings.js';
import { isRoute, routeIdentity, type Route } from './http/route-identity.js';
import { AttemptEntry } from './login/attempt-entry.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import { GuardChain, guardsOf } from './throttle/guard-chain.js';
import type { GuardSteps } from './throttle/guard-hook.js';
import { attemptOf, checkOverrides, putToolLast } from './throttle/handler-metadata.js';
import { ThrottleGuard } from './throttle/throttle.guard.js';
import { describeUnits, unitsOf } from './throttle/units.js';
import { ThrottlePlanner, type ThrottlePlan, type ThrottlePosition } from './throttle/throttle-plan.js';

/** Metadata key under which RouterModule leaves a module's path, followed by the id of the application. */
const MODULE_PATH = '__module_path__';

@Injectable()
export class RateLimitBoot {
  private readonly logger = new Logger('RateLimit');
  private readonly chain: GuardChain;
  private done = false;

  constructor(
    private readonly runtime: RateLimitRuntime,
    private readonly guard: ThrottleGuard,
    private readonly attempts: AttemptEntry,
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
    chain.attach((names) => this.stepsBehind(names), declared, findings);
    const planner = new ThrottlePlanner(runtime.options, this.report);
    const planned = routes.map((route) => ({ route, plan: this.plan(route, planner, findings) }));
    for (const { route, plan } of planned) {
      runtime.plans.set(route.controller, route.handler, plan);
      this.warnOfUnknownAuth(plan, route);
    }
    if (findings.length > 0) {
      chain.detach();
      throw badConfiguration('RateLimitModule', findings);
    }
    for (const warning of setupWarnings(runtime.store, runtime.options.address)) this.logger.warn(warning);
    for (const warning of unenforcedDecorators(this.discovery, this.scanner)) this.logger.warn(warning);
    for (const warning of costWarnings(planned, runtime.options.api)) this.logger.warn(warning);
    if (planned.some(({ plan }) => plan.attempt !== null)) prepareFolding();
    const rows = planned.map(({ route, plan }) => this.row(route.identity, plan));
    const table = reportTable(perIpText(runtime), rows);
    this.logger.log(runtime.dryRun ? `dry run: nothing is refused\n${table}` : table);
    this.bindLast();
  }

  /** What runs around the guards that authenticate and go by these names. */
  private stepsBehind(names: ReadonlySet<unknown>): GuardSteps {
    const { enforcer, http, preauth } = this.runtime;
    return {
      after: (context) => enforcer.enforce(context, 'auth', names),
      ...(preauth ? { failed: (context, rejection) => http.failures.ofGuard(context, rejection) } : {}),
    };
  }

  private plan(route: Route, planner: ThrottlePlanner, findings: string[]): ThrottlePlan {
    const { controller, method, handler, identity } = route;
    const place = this.chain.place(controller, handler);
    const where = `${controller.name}.${method}`;
    const attempt = attemptOf(handler);
    checkOverrides(route, findings);
    putToolLast(handler);
    if (attempt !== null) {
      this.chain.surround(guardsOf(controller, handler), this.attempts.aroundGuards, where, findings);
    }
    return {
      limits: planner.limits(controller, method, identity, findings),
      ...place,
      units: unitsOf(controller, method, place.position === 'api', this.report),
      attempt,
    };
  }

  private row(route: string, { limits, position, units, attempt }: ThrottlePlan): ReportRow {
    const texts = limits.map((limit) => limit.describe());
    if (units !== null) texts.push(describeUnits(units));
    if (attempt !== null) texts.push(`${attempt.kind} failures`);
    return {
      route,
      limits: texts.join(' + '),
      place: this.places()[position],
    };
  }

  private places(): Readonly<Record<ThrottlePosition, string>> {
    const guards = this.runtime.authGuards.map(({ name }) => name).join(', ');
    return {
      global: 'behind all global guards',
      auth: `right behind ${guards}`,
      listed: 'where ThrottleGuard is listed',
      api: 'where its Authenticator lets it in',
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
  private warnOfUnknownAuth(plan: ThrottlePlan, { controller, method, handler }: Route): void {
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

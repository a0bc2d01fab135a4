// What applies to one handler, worked out once at boot: its limits, and where in the chain of guards they run.

import type { Report } from '../../events/event.js';
import { RouteLimit } from '../../policies/route.js';
import type { Call } from '../call.js';
import type { ResolvedOptions } from '../config/resolved-options.js';
import { allMetadata, findMetadata } from '../decorators/metadata.js';
import {
  isSkipped,
  SKIP_THROTTLE_KEY,
  type SkippedThrottles,
} from '../decorators/skip-throttle.decorator.js';
import { THROTTLE_KEY, type Throttles } from '../decorators/throttle.decorator.js';
import type { AttemptPlan } from '../login/attempt-entry.js';
import { rateOf, type Quota } from '../quota.js';
import type { Units } from './units.js';

/**
 * Where a handler's throttles run: behind all global guards, right behind an auth guard, where it lists them, or where
 * an `Authenticator` lets the call in.
 */
export type ThrottlePosition = 'global' | 'auth' | 'listed' | 'api';

export interface ThrottlePlan {
  readonly limits: readonly RouteLimit<Call>[];
  readonly position: ThrottlePosition;
  /** The guard that they run behind, as `@UseGuards` names it, or a global one; null: behind none in particular. */
  readonly behind: unknown;
  /** What its calls cost, where that is counted. */
  readonly units: Units | null;
  /** Its calls are tries at a password or a code. */
  readonly attempt: AttemptPlan | null;
}

/** Makes plans; remembers quotas, so that handlers that share one share its live limit. */
export class ThrottlePlanner {
  private readonly rates = new Map<Quota, ReturnType<typeof rateOf>>();
  private readonly shared = new Map<string, Quota>();

  constructor(
    private readonly options: Pick<ResolvedOptions, 'throttles' | 'policies'>,
    private readonly report: Report,
  ) {}

  /** The limits of a handler whose counter is called `identity`. What is wrong goes to `findings`. */
  limits(controller: Function, method: string, identity: string, findings: string[]): RouteLimit<Call>[] {
    const where = `${controller.name}.${method}`;
    const own = throttlesOf(controller, method);
    const limits = own === null ? this.appLimits(identity) : this.ownLimits(own, identity, where, findings);
    checkNames(limits, own === null ? 'throttle' : `@Throttle() on ${where}`, findings);
    return this.withoutSkipped(limits, controller, method, where, findings);
  }

  private appLimits(identity: string): RouteLimit<Call>[] {
    return this.options.throttles.map(({ quota, rate }, index) => {
      const own = `${identity} #${index + 1}`;
      const unnamed = quota.shared === true ? `throttle #${index + 1}` : index === 0 ? identity : own;
      const name = quota.name ?? unnamed;
      const counter = quota.shared === true ? `shared ${name}` : own;
      return new RouteLimit(name, `app ${counter}`, rate, quota, this.report);
    });
  }

  private ownLimits(
    throttles: Throttles,
    identity: string,
    where: string,
    findings: string[],
  ): RouteLimit<Call>[] {
    return throttles.flatMap((throttle, index) => {
      const policy = typeof throttle === 'string' ? throttle : null;
      const quota = typeof throttle === 'string' ? this.options.policies.get(throttle) : throttle;
      if (quota === undefined) {
        findings.push(`@Throttle() on ${where} names the policy '${policy}': declare it in policies`);
        return [];
      }
      const name = quota.name ?? policy ?? (index === 0 ? identity : `${identity} #${index + 1}`);
      const counter = this.counter(quota, policy, name, `${identity} #${index + 1}`, where, findings);
      return [new RouteLimit(name, counter, this.rate(quota, name), quota, this.report)];
    });
  }

  /** Names the buckets of a limit: without its numbers, so that an edit of them keeps what was counted. */
  private counter(
    quota: Quota,
    policy: string | null,
    name: string,
    own: string,
    where: string,
    findings: string[],
  ): string {
    if (quota.shared !== true) return `route ${own}`;
    if (policy === null && quota.name === undefined) {
      findings.push(`@Throttle() on ${where} is shared but has no name: give it one`);
    }
    const first = this.shared.get(name);
    if (first === undefined) this.shared.set(name, quota);
    else if (first.limit !== quota.limit || first.per !== quota.per || first.algorithm !== quota.algorithm) {
      findings.push(
        `@Throttle() on ${where} shares '${name}' with other numbers: use one quota, or a policy`,
      );
    }
    return `shared ${name}`;
  }

  private rate(quota: Quota, name: string): ReturnType<typeof rateOf> {
    const known = this.rates.get(quota) ?? rateOf(quota, `${name}.limit`, this.report);
    this.rates.set(quota, known);
    return known;
  }

  private withoutSkipped(
    limits: RouteLimit<Call>[],
    controller: Function,
    method: string,
    where: string,
    findings: string[],
  ): RouteLimit<Call>[] {
    const skip = skippedOf(controller, method);
    if (typeof skip === 'boolean') return skip ? [] : limits;
    for (const name of Object.keys(skip)) {
      if (!this.isKnown(name, controller)) {
        findings.push(`@SkipThrottle() on ${where} names '${name}', which is no policy and no quota's name`);
      }
    }
    return limits.filter(({ name }) => !(Object.hasOwn(skip, name) && skip[name]));
  }

  /** Whether policies, the module's throttles or any quota of the controller go by a name. */
  private isKnown(name: string, controller: Function): boolean {
    if (this.options.policies.has(name)) return true;
    const declared = allMetadata(THROTTLE_KEY, controller).filter(isThrottles).flat();
    const quotas = [...declared, ...this.options.throttles.map(({ quota }) => quota)];
    return quotas.some((quota) => typeof quota === 'object' && quota.name === name);
  }
}

/** A name is how a limit is shown and skipped, and where shared how it is counted: once per handler. */
function checkNames(limits: readonly RouteLimit<Call>[], where: string, findings: string[]): void {
  const names = new Set<string>();
  for (const { name } of limits) {
    const finding = `${where} has two limits called '${name}': give each a name of its own`;
    if (names.has(name) && !findings.includes(finding)) findings.push(finding);
    names.add(name);
  }
}

/** The throttles that a handler or its class declares; null when neither does. */
function throttlesOf(controller: Function, method: string): Throttles | null {
  const found = findMetadata(THROTTLE_KEY, controller, method);
  return isThrottles(found) ? found : null;
}

function isThrottles(value: unknown): value is Throttles {
  return Array.isArray(value);
}

function skippedOf(controller: Function, method: string): SkippedThrottles {
  const found = findMetadata(SKIP_THROTTLE_KEY, controller, method);
  return isSkipped(found) ? found : false;
}

// Where in an app's chains of guards the throttles run, worked out at boot from what the app declares.

import type { CanActivate } from '@nestjs/common';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { ApiGuard } from '../auth/api.guard.js';
import { AuthInterceptor } from '../auth/auth.interceptor.js';
import type { GuardType } from '../options.js';
import { findGuards, isKindOf } from './find-guards.js';
import { hookGuard, type GuardSteps } from './guard-hook.js';
import type { ThrottlePosition } from './throttle-plan.js';
import { ThrottleGuard } from './throttle.guard.js';

/** Metadata keys of `@UseGuards` and `@UseInterceptors`, on 11 and 12. */
const GUARDS = '__guards__';
const INTERCEPTORS = '__interceptors__';

/** Where a handler's throttles run, and behind which guard if behind one. */
export interface ChainPlace {
  readonly position: ThrottlePosition;
  readonly behind: unknown;
}

export class GuardChain {
  private readonly undo: (() => void)[] = [];
  /** The last global guard that authenticates; null: none does. */
  private lastGlobal: CanActivate | null = null;

  constructor(
    private readonly authGuards: readonly GuardType[],
    private readonly config: ApplicationConfig,
    private readonly modules: ModulesContainer,
    /** Whether requests are served: without, as in a worker, what main.ts binds isn't bound. */
    private readonly serves: boolean,
  ) {}

  /**
   * Lets steps run around every instance of the auth guards, made for all the names it goes by. What is wrong goes to
   * `findings`.
   */
  attach(
    stepsOf: (names: ReadonlySet<unknown>) => GuardSteps,
    declared: readonly unknown[],
    findings: string[],
  ): void {
    const globals = this.config.getGlobalGuards();
    const found = new Map<CanActivate, ReadonlySet<unknown>>();
    for (const type of this.authGuards) {
      const { instances, unreachable } = findGuards(type, this.modules, [...declared, ...globals]);
      if (unreachable) {
        findings.push(
          `authGuard ${type.name} is made anew for each request, so nothing can run behind it: give it the default ` +
            `scope, or leave it out of authGuard and write @UseGuards(${type.name}, ThrottleGuard)`,
        );
      } else if (instances.size === 0 && this.serves) {
        findings.push(
          `authGuard ${type.name} is bound nowhere: bind it (APP_GUARD, useGlobalGuards or @UseGuards), or leave it out`,
        );
      }
      for (const [guard, names] of instances) found.set(guard, names);
    }
    for (const [guard, names] of found) {
      this.undo.push(hookGuard(guard, stepsOf(names)));
    }
    for (const guard of globals) if (isFound(guard, found)) this.lastGlobal = guard;
  }

  /** Lets steps run around the guards that a handler lists, which is `where` in a finding. */
  surround(guards: readonly unknown[], steps: GuardSteps, where: string, findings: string[]): void {
    for (const guard of guards) {
      if (isInstance(guard)) this.undo.push(hookGuard(guard, steps));
      if (!isGuardClass(guard) || guard === ThrottleGuard || guard === ApiGuard) continue;
      const { instances, unreachable } = findGuards(guard, this.modules, []);
      for (const [instance] of instances) this.undo.push(hookGuard(instance, steps));
      if (unreachable) {
        findings.push(
          `${where} lists ${guard.name}, which is made anew for each request, so its failures can't be counted: give it ` +
            `the default scope, or call LoginThrottle.attempt() where it verifies`,
        );
      }
    }
  }

  /** Whether an `Authenticator` lets a handler's calls in, by the interceptor or the guard. */
  private isApi(controller: Function, handler: Function): boolean {
    const { config } = this;
    const guards = [...guardsOf(controller, handler), ...config.getGlobalGuards()];
    const interceptors = [
      ...listed(INTERCEPTORS, controller, handler),
      ...config.getGlobalInterceptors(),
      ...config.getGlobalRequestInterceptors().map(({ metatype }) => metatype),
    ];
    return (
      guards.some((guard) => isOf(guard, ApiGuard)) ||
      config.getGlobalRequestGuards().some(({ metatype }) => isOf(metatype, ApiGuard)) ||
      interceptors.some((interceptor) => isOf(interceptor, AuthInterceptor))
    );
  }

  /** Where the throttles of a handler run: behind the last of its guards that authenticates. */
  place(controller: Function, handler: Function): ChainPlace {
    if (this.isApi(controller, handler)) return { position: 'api', behind: null };
    const guards = guardsOf(controller, handler);
    if (guards.some((guard) => isOf(guard, ThrottleGuard))) return { position: 'listed', behind: null };
    const own = guards.findLast((guard) => this.authGuards.some((type) => isOf(guard, type)));
    const behind = own ?? this.lastGlobal;
    return { position: behind === null ? 'global' : 'auth', behind };
  }

  /** Leaves the app's guards as they were. */
  detach(): void {
    for (const undo of this.undo.splice(0)) undo();
  }
}

/** What `@UseGuards` says of a handler and its class: classes and instances. */
export function guardsOf(controller: Function, handler: Function): unknown[] {
  return listed(GUARDS, controller, handler);
}

function listed(key: string, controller: Function, handler: Function): unknown[] {
  return [controller, handler].flatMap((target) => {
    const list: unknown = Reflect.getMetadata(key, target);
    return Array.isArray(list) ? list : [];
  });
}

function isGuardClass(guard: unknown): guard is GuardType {
  return typeof guard === 'function';
}

function isInstance(guard: unknown): guard is CanActivate {
  return typeof guard === 'object' && guard !== null && 'canActivate' in guard;
}

/** Whether what a handler lists, a class or an instance, is of a kind. */
function isOf(listedOne: unknown, type: Function): boolean {
  return listedOne instanceof type || isKindOf(listedOne, type);
}

function isFound(guard: unknown, found: ReadonlyMap<CanActivate, unknown>): guard is CanActivate {
  return [...found.keys()].some((instance) => instance === guard);
}

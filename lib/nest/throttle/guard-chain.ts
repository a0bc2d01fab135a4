// Where in an app's chains of guards the throttles run, worked out at boot from what the app declares.

import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import type { GuardType } from '../options.js';
import { findGuards, isKindOf, runAfter, type AfterGuard } from './auth-guards.js';
import type { ThrottlePosition } from './throttle-plan.js';
import { ThrottleGuard } from './throttle.guard.js';

/** Metadata key of `@UseGuards`, on 11 and 12. */
const GUARDS = '__guards__';

export class GuardChain {
  private readonly undo: (() => void)[] = [];
  private authIsGlobal = false;

  constructor(
    private readonly authGuards: readonly GuardType[],
    private readonly config: ApplicationConfig,
    private readonly modules: ModulesContainer,
    /** Whether requests are served: without, as in a worker, what main.ts binds isn't bound. */
    private readonly serves: boolean,
  ) {}

  /** Lets `after` run behind every instance of the auth guards. What is wrong goes to `findings`. */
  attach(after: AfterGuard, declared: readonly unknown[], findings: string[]): void {
    const globals = this.config.getGlobalGuards();
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
      for (const guard of instances) {
        this.undo.push(runAfter(guard, after));
        if (globals.some((bound) => bound === guard)) this.authIsGlobal = true;
      }
    }
  }

  /** Where the throttles of a handler run. */
  position(controller: Function, handler: Function): ThrottlePosition {
    const guards = guardsOf(controller, handler);
    if (guards.some((guard) => isGuardOf(guard, ThrottleGuard))) return 'listed';
    if (this.authIsGlobal) return 'auth';
    return this.authGuards.some((type) => guards.some((guard) => isGuardOf(guard, type))) ? 'auth' : 'global';
  }

  /** Leaves the app's guards as they were. */
  detach(): void {
    for (const undo of this.undo.splice(0)) undo();
  }
}

/** What `@UseGuards` says of a handler and its class: classes and instances. */
export function guardsOf(controller: Function, handler: Function): unknown[] {
  return [controller, handler].flatMap((target) => {
    const guards: unknown = Reflect.getMetadata(GUARDS, target);
    return Array.isArray(guards) ? guards : [];
  });
}

function isGuardOf(guard: unknown, type: GuardType): boolean {
  return guard instanceof type || isKindOf(guard, type);
}

// Where in an app's chains of guards the throttles run, worked out at boot from what the app declares.

import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import type { MaybePromise } from '../../stores/store.js';
import type { GuardType } from '../options.js';
import { findGuards, isKindOf, runAfter } from './auth-guards.js';
import type { ThrottlePosition } from './throttle-plan.js';
import { ThrottleGuard } from './throttle.guard.js';

/** Metadata key of `@UseGuards`, on 11 and 12. */
const GUARDS = '__guards__';

/** Lets a handler's throttles run behind a guard that goes by these names. */
export type BehindGuard = (context: ExecutionContext, names: ReadonlySet<unknown>) => MaybePromise<boolean>;

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

  /** Lets `behind` run after every instance of the auth guards. What is wrong goes to `findings`. */
  attach(behind: BehindGuard, declared: readonly unknown[], findings: string[]): void {
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
      this.undo.push(runAfter(guard, (context) => behind(context, names)));
    }
    for (const guard of globals) if (isFound(guard, found)) this.lastGlobal = guard;
  }

  /** Where the throttles of a handler run: behind the last of its guards that authenticates. */
  place(controller: Function, handler: Function): ChainPlace {
    const guards = guardsOf(controller, handler);
    if (guards.some((guard) => isGuardOf(guard, ThrottleGuard))) return { position: 'listed', behind: null };
    const own = guards.findLast((guard) => this.authGuards.some((type) => isGuardOf(guard, type)));
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
  return [controller, handler].flatMap((target) => {
    const guards: unknown = Reflect.getMetadata(GUARDS, target);
    return Array.isArray(guards) ? guards : [];
  });
}

function isGuardOf(guard: unknown, type: GuardType): boolean {
  return guard instanceof type || isKindOf(guard, type);
}

function isFound(guard: unknown, found: ReadonlyMap<CanActivate, unknown>): guard is CanActivate {
  return [...found.keys()].some((instance) => instance === guard);
}

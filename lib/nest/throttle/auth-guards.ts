// Finds the app's authentication guards wherever they stand, and runs the throttles right behind them.

import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { isObservable, lastValueFrom } from 'rxjs';
import type { MaybePromise } from '../../stores/store.js';
import type { GuardType } from '../options.js';

/** What runs once a guard has let a call through. Throws or returns false to stop it. */
export type AfterGuard = (context: ExecutionContext) => MaybePromise<boolean>;

const HOOK = Symbol('tollgate:after-guard');

interface Hook {
  readonly steps: Set<AfterGuard>;
  /** Puts the guard's own `canActivate` back. */
  readonly remove: () => void;
}

interface HookedGuard extends CanActivate {
  [HOOK]?: Hook;
}

/**
 * Lets `after` run behind a guard instance; returns how to take it back. An instance shared by several apps gets one
 * wrapper with the steps of all, so nothing is ever wrapped twice, and is itself again when the last one is gone.
 */
export function runAfter(guard: HookedGuard, after: AfterGuard): () => void {
  const { steps, remove } = (guard[HOOK] ??= hook(guard));
  steps.add(after);
  return () => {
    steps.delete(after);
    if (steps.size === 0) remove();
  };
}

function hook(guard: HookedGuard): Hook {
  const steps = new Set<AfterGuard>();
  const { canActivate } = guard;
  const isOwn = Object.hasOwn(guard, 'canActivate');
  const wrapper = function (this: CanActivate, context: ExecutionContext, ...more: unknown[]) {
    const result: ReturnType<CanActivate['canActivate']> = Reflect.apply(canActivate, this, [
      context,
      ...more,
    ]);
    if (typeof result === 'boolean') return result && runAll(steps, context);
    return settle(result, steps, context);
  };
  guard.canActivate = wrapper;
  const remove = (): void => {
    // Someone else wrapped it since: the wrapper stays, with nothing to run.
    if (guard.canActivate !== wrapper) return;
    if (isOwn) guard.canActivate = canActivate;
    else Reflect.deleteProperty(guard, 'canActivate');
    delete guard[HOOK];
  };
  return { steps, remove };
}

async function settle(
  result: Exclude<ReturnType<CanActivate['canActivate']>, boolean>,
  steps: ReadonlySet<AfterGuard>,
  context: ExecutionContext,
): Promise<boolean> {
  const value = await result;
  const activated = isObservable(value) ? await lastValueFrom(value) : value;
  return activated && runAll(steps, context);
}

function runAll(steps: ReadonlySet<AfterGuard>, context: ExecutionContext): MaybePromise<boolean> {
  let pending: Promise<boolean> | null = null;
  for (const after of steps) {
    const passed = after(context);
    if (passed instanceof Promise) pending = pending === null ? passed : both(pending, passed);
    else if (!passed) return false;
  }
  return pending ?? true;
}

async function both(first: Promise<boolean>, second: Promise<boolean>): Promise<boolean> {
  return (await first) && second;
}

/** The instances of guard classes in an app. */
export interface FoundGuards {
  /** By instance: all that `@UseGuards` may call it by. */
  readonly instances: ReadonlyMap<CanActivate, ReadonlySet<unknown>>;
  /** Some are made anew for every request, so that nothing can run behind them. */
  readonly unreachable: boolean;
}

/** Instances of `type` in all modules, those that tests put in its place included, and among `others`. */
export function findGuards(
  type: GuardType,
  modules: ModulesContainer,
  others: readonly unknown[],
): FoundGuards {
  const instances = new Map<CanActivate, Set<unknown>>();
  let unreachable = false;
  const add = (instance: CanActivate, ...names: unknown[]): void => {
    const known = instances.get(instance) ?? new Set();
    instances.set(instance, known);
    for (const name of [instance, ...names]) known.add(name);
  };
  for (const module of modules.values()) {
    for (const [token, wrapper] of [...module.injectables, ...module.providers]) {
      // By its token too: a test puts something else in the place of a guard.
      if (!isKindOf(token, type) && !isKindOf(wrapper.metatype, type)) continue;
      if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) unreachable = true;
      else if (isGuard(wrapper.instance)) add(wrapper.instance, token, wrapper.metatype);
    }
  }
  for (const other of others) if (other instanceof type) add(other);
  return { instances, unreachable };
}

/** Whether a class is the guard or extends it. */
export function isKindOf(candidate: unknown, type: GuardType): boolean {
  return typeof candidate === 'function' && (candidate === type || candidate.prototype instanceof type);
}

function isGuard(instance: unknown): instance is CanActivate {
  return typeof instance === 'object' && instance !== null && 'canActivate' in instance;
}

// Finds the instances of an app's guards wherever they stand: all modules, tests' replacements, global guards.

import type { CanActivate } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { GuardType } from '../options.js';

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

/** Whether a class is the given one or extends it. */
export function isKindOf(candidate: unknown, type: Function): boolean {
  return typeof candidate === 'function' && (candidate === type || candidate.prototype instanceof type);
}

function isGuard(instance: unknown): instance is CanActivate {
  return typeof instance === 'object' && instance !== null && 'canActivate' in instance;
}

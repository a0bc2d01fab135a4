// Runs steps around an app's own guard, wherever it stands, without touching what it decides.

import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { isObservable, lastValueFrom } from 'rxjs';
import { chain } from '../../stores/chain.js';
import type { MaybePromise } from '../../stores/store.js';

/** How a guard rejected a call: by what it threw, or (null) by returning false. */
export type Rejection = { readonly error: unknown } | null;

export interface GuardSteps {
  /** Before the guard decides. Throws to refuse the call. */
  readonly before?: (context: ExecutionContext) => MaybePromise<true>;
  /** Once the guard has let a call through. Throws or returns false to stop it. */
  readonly after?: (context: ExecutionContext) => MaybePromise<boolean>;
  /** Once the guard has rejected a call. Throws what is to be answered instead; else the guard's answer holds. */
  readonly failed?: (context: ExecutionContext, rejection: Rejection) => MaybePromise<true>;
}

const HOOK = Symbol('tollgate:guard-hook');

interface Hook {
  readonly all: Set<GuardSteps>;
  /** Puts the guard's own `canActivate` back. */
  readonly remove: () => void;
}

interface HookedGuard extends CanActivate {
  [HOOK]?: Hook;
}

type Answer = ReturnType<CanActivate['canActivate']>;

/**
 * Lets steps run around a guard instance; returns how to take them back. An instance shared by several apps gets one
 * wrapper with the steps of all, so nothing is ever wrapped twice, and is itself again when the last one is gone.
 */
export function hookGuard(guard: HookedGuard, steps: GuardSteps): () => void {
  const { all, remove } = (guard[HOOK] ??= hook(guard));
  all.add(steps);
  return () => {
    all.delete(steps);
    if (all.size === 0) remove();
  };
}

function hook(guard: HookedGuard): Hook {
  const all = new Set<GuardSteps>();
  const { canActivate } = guard;
  const isOwn = Object.hasOwn(guard, 'canActivate');
  const wrapper = function (this: CanActivate, context: ExecutionContext, ...more: unknown[]): Answer {
    const opened = open(all, context);
    const decide = (): Answer => Reflect.apply(canActivate, this, [context, ...more]);
    return opened === true ? guarded(all, context, decide) : openLater(opened, all, context, decide);
  };
  guard.canActivate = wrapper;
  const remove = (): void => {
    // Someone else wrapped it since: the wrapper stays, with nothing to run.
    if (guard.canActivate !== wrapper) return;
    if (isOwn) guard.canActivate = canActivate;
    else Reflect.deleteProperty(guard, 'canActivate');
    delete guard[HOOK];
  };
  return { all, remove };
}

function open(all: ReadonlySet<GuardSteps>, context: ExecutionContext): MaybePromise<true> {
  let opened: MaybePromise<true> = true;
  for (const { before } of all) if (before !== undefined) opened = chain(opened, () => before(context));
  return opened;
}

async function openLater(
  opened: Promise<true>,
  all: ReadonlySet<GuardSteps>,
  context: ExecutionContext,
  decide: () => Answer,
): Promise<boolean> {
  await opened;
  return settled(await guarded(all, context, decide));
}

/** What the guard says and, behind it, what the steps say. */
function guarded(
  all: ReadonlySet<GuardSteps>,
  context: ExecutionContext,
  decide: () => Answer,
): MaybePromise<boolean> {
  let answer: Answer;
  try {
    answer = decide();
  } catch (error) {
    return rejected(all, context, { error });
  }
  if (typeof answer !== 'boolean') return guardedLater(all, context, answer);
  return answer ? passed(all, context) : rejected(all, context, null);
}

async function guardedLater(
  all: ReadonlySet<GuardSteps>,
  context: ExecutionContext,
  answer: Answer,
): Promise<boolean> {
  let activated: boolean;
  try {
    activated = await settled(await answer);
  } catch (error) {
    return rejected(all, context, { error });
  }
  return activated ? passed(all, context) : rejected(all, context, null);
}

function settled(value: Awaited<Answer>): MaybePromise<boolean> {
  return isObservable(value) ? lastValueFrom(value) : value;
}

function passed(all: ReadonlySet<GuardSteps>, context: ExecutionContext): MaybePromise<boolean> {
  let pending: Promise<boolean> | null = null;
  for (const { after } of all) {
    const goesOn = after === undefined ? true : after(context);
    if (goesOn instanceof Promise) pending = pending === null ? goesOn : both(pending, goesOn);
    else if (!goesOn) return false;
  }
  return pending ?? true;
}

async function both(first: Promise<boolean>, second: Promise<boolean>): Promise<boolean> {
  return (await first) && second;
}

/** Throws what the guard threw, or is false as it was, unless a step throws something else. */
function rejected(
  all: ReadonlySet<GuardSteps>,
  context: ExecutionContext,
  rejection: Rejection,
): MaybePromise<boolean> {
  let told: MaybePromise<true> = true;
  for (const { failed } of all) {
    if (failed !== undefined) told = chain(told, () => failed(context, rejection));
  }
  return chain(told, () => {
    if (rejection === null) return false;
    throw rejection.error;
  });
}

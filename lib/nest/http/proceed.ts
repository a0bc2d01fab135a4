// How a middleware goes on: at once where the answer is there, else when it comes.

import type { MaybePromise } from '../../stores/store.js';

export type Next = (error?: unknown) => void;

/** Calls `next` without an error when the step admits, with the refusal when it throws. */
export function proceed(step: () => MaybePromise<true>, next: Next): void {
  let admitted: MaybePromise<true>;
  try {
    admitted = step();
  } catch (refusal) {
    next(refusal);
    return;
  }
  if (admitted instanceof Promise) void proceedLater(admitted, next);
  else next();
}

async function proceedLater(admitted: Promise<true>, next: Next): Promise<void> {
  try {
    await admitted;
  } catch (refusal) {
    next(refusal);
    return;
  }
  next();
}

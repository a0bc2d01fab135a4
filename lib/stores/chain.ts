// How a step goes on from a store's answer without making a promise where the store made none.

import type { MaybePromise } from './store.js';

/** Follows a value: at once where it is there, else when it comes. */
export function chain<A, B>(value: MaybePromise<A>, follow: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(follow) : follow(value);
}

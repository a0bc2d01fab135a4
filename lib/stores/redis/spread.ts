// Lists whose parts lie on several servers of a cluster: a call for each part, all at once, and one outcome.

import { TollgateError } from '../../errors.js';
import { unknown } from './calls/failures.js';

/** What came of the calls. */
export interface Outcome<R> {
  /** In the order of the items: all of them, unless there is an error. */
  readonly answers: readonly R[];
  /** The error of the whole, undefined when there is none: 'unknown' if any part may have been done. */
  readonly error: unknown;
}

/** Calls once for the items of each key, which lie in one slot, and waits for all. Never rejects. */
export async function perKey<T, R>(
  items: readonly T[],
  keyOf: (item: T) => string,
  call: (group: readonly T[]) => Promise<readonly R[]>,
): Promise<Outcome<R>> {
  const places = new Map<string, number[]>();
  for (const [place, item] of items.entries()) {
    const group = places.get(keyOf(item));
    if (group === undefined) places.set(keyOf(item), [place]);
    else group.push(place);
  }
  const found: (R | undefined)[] = items.map(() => undefined);
  const errors: unknown[] = [];
  const calls = [...places.values()].map(async (group) => {
    try {
      const replies = await call(group.map((place) => items[place]));
      for (const [index, place] of group.entries()) found[place] = replies[index];
    } catch (error) {
      errors.push(error);
    }
  });
  await Promise.all(calls);
  const answers = found.filter((answer) => answer !== undefined);
  return { answers, error: errors.find((error) => !isNotDone(error)) ?? errors[0] };
}

/** The answers, if all are there. @throws the error, which says 'unknown' when some parts were done. */
export function whole<R>({ answers, error }: Outcome<R>): R[] {
  if (error === undefined) return [...answers];
  throw answers.length > 0 ? inPart(error) : error;
}

/** The error of a list that was done in part. */
export function inPart(error: unknown): unknown {
  return isNotDone(error) ? unknown('a part of the list failed', error) : error;
}

function isNotDone(error: unknown): boolean {
  return error instanceof TollgateError && error.code === 'TOLLGATE_STORE_NOT_DONE';
}

/** Whether something succeeds within so many microseconds. */
export async function succeedsWithin(work: Promise<unknown>, time: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, time / 1000));
  });
  const done = work.then(
    () => true,
    () => false,
  );
  const success = await Promise.race([done, late]);
  clearTimeout(timer);
  return success;
}

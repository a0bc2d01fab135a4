// Lists whose parts lie on several servers of a cluster: a call for each part, and one outcome.

import { TollgateError } from '../../errors.js';
import { unknown } from './calls/failures.js';

/** What came of the calls. */
export interface Outcome<R> {
  /** In the order of the items: all of them, unless there is an error. */
  readonly answers: readonly R[];
  /** The error of the whole, undefined when there is none: 'unknown' if any part may have been done. */
  readonly error: unknown;
}

/** A call for the items of one key, which lie in one slot. Answers one reply per item. */
export type CallOf<T, R> = (group: readonly T[]) => Promise<R[]>;

/** Calls once for each key, all at once, and waits for all. Never rejects. */
export async function perKey<T, R>(
  items: readonly T[],
  keyOf: (item: T) => string,
  call: CallOf<T, R>,
): Promise<Outcome<R>> {
  const found: (R | undefined)[] = items.map(() => undefined);
  const errors: unknown[] = [];
  const calls = [...placesOf(items, keyOf).values()].map(async (places) => {
    try {
      await fill(found, items, places, call);
    } catch (error) {
      errors.push(error);
    }
  });
  await Promise.all(calls);
  return { answers: present(found), error: errors.find((error) => !isNotDone(error)) ?? errors[0] };
}

/**
 * Calls once for each key, one after the other, until one fails. Never rejects. The order is the same for all: of lists
 * that meet, those ahead at the first key they share stay ahead, and not all undo each other.
 */
export async function inOrder<T, R>(
  items: readonly T[],
  keyOf: (item: T) => string,
  call: CallOf<T, R>,
): Promise<Outcome<R>> {
  const found: (R | undefined)[] = items.map(() => undefined);
  const byKey = [...placesOf(items, keyOf)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  try {
    for (const [, places] of byKey) await fill(found, items, places, call);
  } catch (error) {
    return { answers: present(found), error };
  }
  return { answers: present(found), error: undefined };
}

/** Where the items of each key stand. */
function placesOf<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [place, item] of items.entries()) {
    const known = places.get(keyOf(item));
    if (known === undefined) places.set(keyOf(item), [place]);
    else known.push(place);
  }
  return places;
}

async function fill<T, R>(
  found: (R | undefined)[],
  items: readonly T[],
  places: readonly number[],
  call: CallOf<T, R>,
): Promise<void> {
  const replies = await call(places.map((place) => items[place]));
  for (const [index, place] of places.entries()) found[place] = replies[index];
}

function present<R>(found: readonly (R | undefined)[]): R[] {
  return found.filter((answer) => answer !== undefined);
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

// Header lines that belong to the body of an exception: they are written where the body is, by whoever throws it.

import type { HeaderLines } from '../../algorithms/decision.js';

const linesByBody = new WeakMap<object, HeaderLines>();

export function setBodyLines(body: object, lines: HeaderLines): void {
  linesByBody.set(body, lines);
}

/** Undefined for every other body. */
export function bodyLines(body: unknown): HeaderLines | undefined {
  return typeof body === 'object' && body !== null ? linesByBody.get(body) : undefined;
}

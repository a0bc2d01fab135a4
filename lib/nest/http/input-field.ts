// What a request says of itself in a field of its input: an e-mail address, a client token.

import { nameOf } from '../../errors.js';
import type { Report } from '../../events/event.js';
import { ignoreLate } from '../../limiter/late-answer.js';
import type { Call } from '../call.js';
import type { HttpCaller } from './http-caller.js';
import { queryOf } from './query.js';
import type { FrameworkRequest } from './request-state.js';

/** Where a value is found: the name of a field of the input, or a function of the call. */
export type InputSource = string | ((call: Call) => unknown);

/** The value; undefined where there is none. `name` tells in reports whose function failed. */
export function readInput(source: InputSource, caller: HttpCaller, name: string, report: Report): unknown {
  if (typeof source === 'string') return fieldOf(caller.request, source);
  try {
    const value = source(caller);
    if (value instanceof Promise) {
      ignoreLate(value);
      report({
        type: 'unusable-key',
        policy: name,
        problem: 'its function is async: it must answer at once',
      });
      return undefined;
    }
    // An app's own ids may be numbers; a client's numbers are no identifiers.
    return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  } catch (error) {
    report({ type: 'unusable-key', policy: name, problem: `its function threw ${nameOf(error)}` });
    return undefined;
  }
}

/** A field of the parsed body; of requests without one a query parameter, if it is there exactly once. */
function fieldOf({ method, body, url }: FrameworkRequest, name: string): unknown {
  if (method !== 'GET' && method !== 'HEAD') {
    return typeof body === 'object' && body !== null && Object.hasOwn(body, name)
      ? Reflect.get(body, name)
      : undefined;
  }
  const values = queryOf(url).getAll(name);
  return values.length === 1 ? values[0] : undefined;
}

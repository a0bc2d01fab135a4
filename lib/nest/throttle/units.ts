// What a handler's calls cost, and which buckets count it.

import type { Report } from '../../events/event.js';
import { CallCost } from '../../policies/cost.js';
import type { Call } from '../call.js';
import { COST_KEY, isCost } from '../decorators/cost.decorator.js';
import { findMetadata } from '../decorators/metadata.js';
import { isSource, PUBLIC_TOOL_KEY } from '../decorators/public-tool.decorator.js';
import type { InputSource } from '../http/input-field.js';

/** The cost of a handler whose calls are counted in units. */
export interface Units {
  readonly cost: CallCost<Call>;
  /** Callers with a key, or users, are known by an `Authenticator`. */
  readonly byActor: boolean;
  /** Where callers without a key have their client token; null: no public tool. */
  readonly token: InputSource | null;
}

/** What counts a handler's cost; null: nothing does. */
export function unitsOf(
  controller: Function,
  method: string,
  byActor: boolean,
  report: Report,
): Units | null {
  const source = findMetadata(PUBLIC_TOOL_KEY, controller, method);
  const token = isSource(source) ? source : null;
  if (!byActor && token === null) return null;
  const cost = findMetadata(COST_KEY, controller, method);
  const where = `@Cost() on ${controller.name}.${method}`;
  return { cost: new CallCost<Call>(where, isCost(cost) ? cost : 1, report), byActor, token };
}

/** Such as `cost 20 by key or user`. */
export function describeUnits({ cost, byActor, token }: Units): string {
  const who = [...(byActor ? ['key or user'] : []), ...(token === null ? [] : ['client token and network'])];
  return `cost ${cost.describe()} by ${who.join(', else by ')}`;
}

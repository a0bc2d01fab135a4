// What a call costs: never nothing, never a credit, whatever the app's function returns.

import { show } from '../algorithms/rate.js';
import { nameOf } from '../errors.js';
import type { Report } from '../events/event.js';
import { ignoreLate } from '../limiter/late-answer.js';

/** Of a call whose cost can't be had: as without a cost. */
const BY_DEFAULT = 1;

/** Different problems of one function that are worth a report. */
const MOST_REPORTED = 10;

/** Why this is no cost, and what to do; null when it is one. */
export function costProblem(cost: unknown): string | null {
  if (isWhole(cost)) return null;
  return `cost is ${show(cost)}: give a whole number above 0, or a function that returns one (no call is free)`;
}

/** The cost of a handler's calls, or of what else is paid for. */
export class CallCost<C> {
  /** The flat cost in units; null when it depends on the call. */
  readonly fixed: number | null;
  /** Problems already reported, so that a function that fails for some callers isn't reported on every call. */
  private readonly reported = new Set<string>();

  /** `where` names the cost in reports. */
  constructor(
    private readonly where: string,
    private readonly cost: number | ((call: C) => number),
    private readonly report: Report,
  ) {
    this.fixed = typeof cost === 'function' ? null : this.usable(cost);
  }

  /** What this call costs: a safe whole number above 0. Never throws. */
  of(call: C): number {
    const { cost } = this;
    if (typeof cost !== 'function') return this.usable(cost);
    try {
      return this.usable(cost(call));
    } catch (error) {
      return this.instead(BY_DEFAULT, `it threw ${nameOf(error)}`);
    }
  }

  /** `20`, or `dynamic` when it depends on the call. */
  describe(): string {
    return this.fixed === null ? 'dynamic' : String(this.fixed);
  }

  private usable(cost: unknown): number {
    if (isWhole(cost)) return cost;
    if (typeof cost !== 'number') {
      ignoreLate(cost);
      // By its type: a text may be the client's.
      return this.instead(BY_DEFAULT, `it is ${kindOf(cost)}, no number`);
    }
    // More than any limit: refused, which a cost of 1 would not be.
    if (cost > Number.MAX_SAFE_INTEGER) {
      return this.instead(Number.MAX_SAFE_INTEGER, `it is ${cost}, too large`, 'too large');
    }
    if (cost > 0) return this.instead(Math.ceil(cost), `it is ${cost}, no whole number`, 'a fraction');
    return this.instead(BY_DEFAULT, `it is ${cost}, not above 0`, 'not above 0');
  }

  /** Reports each kind of problem once: clients may vary the numbers. */
  private instead(cost: number, problem: string, kind: string = problem): number {
    if (!this.reported.has(kind) && this.reported.size < MOST_REPORTED) {
      this.reported.add(kind);
      this.report({ type: 'invalid-cost', where: this.where, problem, cost });
    }
    return cost;
  }
}

function isWhole(cost: unknown): cost is number {
  return typeof cost === 'number' && Number.isSafeInteger(cost) && cost > 0;
}

function kindOf(value: unknown): string {
  if (value instanceof Promise) return 'a promise';
  if (typeof value === 'object' && value !== null) return 'an object';
  return value === null || value === undefined ? String(value) : `a ${typeof value}`;
}

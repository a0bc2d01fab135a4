// Rates that may change while the app runs: read on every call, parsed only when they changed, never worse than the
// last good one.

import { createRate, rateProblem, show, type Algorithm, type Rate } from '../algorithms/rate.js';
import { nameOf } from '../errors.js';
import type { Report } from '../events/event.js';
import { ignoreLate } from './late-answer.js';
import { parseQuota } from './quota-text.js';

/** Different problems of one function that are worth a report. */
const MOST_REPORTED = 10;

/** A quota in settings. Null turns the limit off; undefined keeps what holds. */
export class LiveQuota {
  private limit: unknown;
  private per: unknown;

  constructor(
    private readonly setting: string,
    private readonly algorithm: Algorithm,
    private rate: Rate | null,
    private readonly report: Report,
  ) {}

  /** The rate that holds now, given what the settings say now. */
  current(quota: unknown): Rate | null {
    if (quota === undefined) return this.rate;
    // Compared by content: settings are often changed in place.
    const { limit, per } = partsOf(quota);
    if (!Object.is(limit, this.limit) || !Object.is(per, this.per)) this.change(quota, limit, per);
    return this.rate;
  }

  private change(quota: unknown, limit: unknown, per: unknown): void {
    this.limit = limit;
    this.per = per;
    if (quota === null) {
      this.rate = null;
      return;
    }
    const parsed = parseQuota(quota, this.algorithm);
    if ('rate' in parsed) this.rate = parsed.rate;
    else this.report({ type: 'invalid-setting', setting: this.setting, problem: parsed.problem });
  }
}

function partsOf(quota: unknown): { limit: unknown; per: unknown } {
  if (typeof quota === 'object' && quota !== null && 'limit' in quota && 'per' in quota) return quota;
  // By what it is: a source may make a new object on every read.
  return { limit: typeof quota === 'object' && quota !== null ? show(quota) : quota, per: undefined };
}

/** A limit that is given anew on each call, over a window that stays. */
export class LiveLimit {
  private rate: Rate;
  private lowest: Rate | null = null;
  /** Problems already reported, so that a function that fails for some callers isn't reported on every call. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly setting: string,
    private readonly algorithm: Algorithm,
    private readonly window: number,
    private readonly report: Report,
    // Until there is a valid one: the strictest.
    first: number = 1,
  ) {
    this.rate = createRate(algorithm, first, window);
  }

  /** The rate that holds until another limit is given. */
  get current(): Rate {
    return this.rate;
  }

  /** The rate of a limit that holds for everybody: when it can't be had, the last good one. */
  of(give: () => unknown): Rate {
    const rate = this.given(give);
    if (rate !== null) this.rate = rate;
    return this.rate;
  }

  /**
   * The rate of a limit that depends on the caller: when it can't be had, the lowest that anybody had, as the last
   * good one may be that of a caller with a better plan.
   */
  ofCaller(give: () => unknown): Rate {
    const rate = this.given(give);
    if (rate === null) return this.lowest ?? this.rate;
    if (this.lowest === null || rate.limit < this.lowest.limit) this.lowest = rate;
    this.rate = rate;
    return rate;
  }

  private given(give: () => unknown): Rate | null {
    let limit: unknown;
    try {
      limit = give();
    } catch (error) {
      this.reject(`it threw ${nameOf(error)}`);
      return null;
    }
    if (limit === this.rate.limit) return this.rate;
    ignoreLate(limit);
    const problem = rateProblem(this.algorithm, limit, this.window);
    if (problem === null && typeof limit === 'number') return createRate(this.algorithm, limit, this.window);
    this.reject(problem ?? 'no number');
    return null;
  }

  private reject(problem: string): void {
    if (this.reported.has(problem) || this.reported.size >= MOST_REPORTED) return;
    this.reported.add(problem);
    this.report({ type: 'invalid-setting', setting: this.setting, problem });
  }
}

// Rates that may change while the app runs: read on every call, parsed only when they changed, never worse than the
// last good one.

import { createRate, rateProblem, show, type Algorithm, type Rate } from '../algorithms/rate.js';
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

/** A limit that a function of the app gives for each call, over a window that stays. */
export class LiveLimit {
  private rate: Rate;
  /** Problems already reported, so that a function that fails for some callers isn't reported on every call. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly setting: string,
    private readonly algorithm: Algorithm,
    private readonly window: number,
    private readonly report: Report,
  ) {
    // Until the function gave a valid limit: the strictest one.
    this.rate = createRate(algorithm, 1, window);
  }

  /** The rate that holds for this call. */
  of(give: () => unknown): Rate {
    let limit: unknown;
    try {
      limit = give();
    } catch (error) {
      this.reject(`it threw ${error instanceof Error ? error.message : show(error)}`);
      return this.rate;
    }
    if (limit === this.rate.limit) return this.rate;
    ignoreLate(limit);
    const problem = rateProblem(this.algorithm, limit, this.window);
    if (problem === null && typeof limit === 'number') {
      this.rate = createRate(this.algorithm, limit, this.window);
    } else {
      this.reject(problem ?? 'no number');
    }
    return this.rate;
  }

  private reject(problem: string): void {
    if (this.reported.has(problem) || this.reported.size >= MOST_REPORTED) return;
    this.reported.add(problem);
    this.report({ type: 'invalid-setting', setting: this.setting, problem });
  }
}

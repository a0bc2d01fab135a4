// Route throttles: calls of one handler, per user, per client network for guests. Source B, SB-21 to SB-29.

import type { Rate } from '../algorithms/rate.js';
import { nameOf } from '../errors.js';
import type { Bucket, OnStoreError } from '../algorithms/verdict.js';
import type { Report } from '../events/event.js';
import { ignoreLate } from '../limiter/late-answer.js';
import { digestKey, partitionKey } from '../limiter/partition-key.js';
import { Policy, whileDown } from '../limiter/policy.js';

/** What a route limit needs to know of a caller. */
export interface Subject {
  /** Id of the authenticated user; null for guests. */
  readonly user: string | null;
  /** Id of the API key that was used instead; null without. */
  readonly key: string | null;
  /** The client network. */
  readonly network: string;
}

/** Whom a limit counts: users (API keys as well, guests by network), networks, or a text of the app's own. */
export type CountBy<C extends Subject> = 'user' | 'ip' | ((call: C) => string);

/** How a limit counts. `C` is the caller that the app's functions see. */
export interface Counting<C extends Subject> {
  /** Default `'user'`. */
  readonly by?: CountBy<C>;
  /** Counted and reported, refusing nothing. Default false. */
  readonly dryRun?: boolean;
  /** While a shared store is down; absent: as the module says. */
  readonly onStoreError?: OnStoreError;
  /** The numbers, for reports; absent: they come from settings. */
  readonly limit?: number | ((call: C) => number);
  readonly per?: string;
}

/** One limit of a handler. */
export class RouteLimit<C extends Subject> {
  readonly dryRun: boolean;
  private readonly policy: Policy;
  private readonly by: CountBy<C>;

  constructor(
    readonly name: string,
    counter: string,
    private readonly rate: (call: C) => Rate | null,
    private readonly counting: Counting<C>,
    private readonly report: Report,
  ) {
    this.by = counting.by ?? 'user';
    this.dryRun = counting.dryRun ?? false;
    this.policy = new Policy(name, counter, false, whileDown(counting.onStoreError, this.dryRun));
  }

  /** Such as `10/1m by user`. */
  describe(): string {
    const { limit, per } = this.counting;
    const numbers =
      per === undefined ? 'from settings' : `${typeof limit === 'number' ? limit : 'live'}/${per}`;
    const who = typeof this.by === 'function' ? 'by a key' : `by ${this.by}`;
    return `${numbers} ${who}${this.dryRun ? ' (dry run)' : ''}`;
  }

  /** The bucket that this call is counted in; null when the limit is off. */
  bucket(call: C): Bucket | null {
    const rate = this.rate(call);
    if (rate === null) return null;
    if (typeof this.by === 'function') {
      const text = this.textOf(this.by, call);
      if (text !== null) return this.policy.bucket('custom', digestKey(text), rate, 1);
    } else if (this.by === 'user') {
      if (call.user !== null) return this.policy.bucket('user', partitionKey(call.user), rate, 1);
      if (call.key !== null) return this.policy.bucket('key', digestKey(call.key), rate, 1);
    }
    return this.policy.bucket('network', call.network, rate, 1);
  }

  /** The app's own key; null, and the client network instead, when it gives none. */
  private textOf(by: (call: C) => unknown, call: C): string | null {
    try {
      const text = by(call);
      if (typeof text === 'string' && text !== '') return text;
      ignoreLate(text);
      this.reportUnusable(`by() returned ${text === '' ? 'an empty text' : typeof text}`);
    } catch (error) {
      this.reportUnusable(`by() threw ${nameOf(error)}`);
    }
    return null;
  }

  private reportUnusable(problem: string): void {
    this.report({ type: 'unusable-key', policy: this.name, problem });
  }
}

// Route throttles: calls of one handler, per user, per client network for guests. Source B, SB-21 to SB-29.

import type { Rate } from '../algorithms/rate.js';
import type { Bucket } from '../algorithms/verdict.js';
import type { Report } from '../events/event.js';
import { ignoreLate } from '../limiter/late-answer.js';
import { digestKey, partitionKey } from '../limiter/partition-key.js';
import { Policy } from '../limiter/policy.js';

/** What a route limit needs to know of a caller. */
export interface Subject {
  /** Id of the authenticated user; null for guests. */
  readonly user: string | null;
  /** The client network. */
  readonly network: string;
}

/** Whom a limit counts: users (guests by network), networks, or a text of the app's own. */
export type CountBy<C extends Subject> = 'user' | 'ip' | ((call: C) => string);

/** One limit of a handler. `C` is the caller that the app's functions see. */
export class RouteLimit<C extends Subject> {
  private readonly policy: Policy;

  constructor(
    readonly name: string,
    counter: string,
    private readonly rate: (call: C) => Rate | null,
    private readonly by: CountBy<C>,
    private readonly report: Report,
  ) {
    this.policy = new Policy(name, counter);
  }

  /** The bucket that this call is counted in; null when the limit is off. */
  bucket(call: C): Bucket | null {
    const rate = this.rate(call);
    if (rate === null) return null;
    if (typeof this.by === 'function') {
      const text = this.textOf(this.by, call);
      if (text !== null) return this.policy.bucket('custom', digestKey(text), rate, 1);
    } else if (this.by === 'user' && call.user !== null) {
      return this.policy.bucket('user', partitionKey(call.user), rate, 1);
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
      this.reportUnusable(`by() threw ${error instanceof Error ? error.message : 'something'}`);
    }
    return null;
  }

  private reportUnusable(problem: string): void {
    this.report({ type: 'unusable-key', policy: this.name, problem });
  }
}

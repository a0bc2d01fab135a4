// The audit trail of refusals: the first of each client network and minute, handed to a sink of the app's choice.

import { nameOf } from '../errors.js';
import { show } from '../algorithms/rate.js';
import type { RefusalEvent } from './event.js';

/** One row of the audit trail. Source B, SB-14, SB-30. */
export interface AuditEntry {
  readonly action: 'http.rate_limited';
  /** When, in milliseconds since the epoch. */
  readonly at: number;
  /** The client's address; null when unknown. */
  readonly ip: string | null;
  /** What the address is counted by. */
  readonly network: string;
  readonly user: string | null;
  readonly details: {
    readonly limit: RefusalEvent['limit'];
    readonly policy: string;
    /** Seconds; null when waiting never helps. */
    readonly retryAfter: number | null;
    readonly dryRun: boolean;
  };
}

/** Where audit rows go. What it throws or rejects, and how long it takes, never touches a request. */
export abstract class AuditSink {
  abstract write(entry: AuditEntry): void | Promise<void>;
}

const MINUTE_MS = 60_000;
/** Networks remembered per minute: about 10 MB. Beyond, refusals of new ones are not audited until the next minute. */
const MOST_NETWORKS = 100_000;
/** Rows a slow sink may have in hand; more are dropped. */
const MOST_PENDING = 1_000;

export class AuditTrail {
  private minute = -1;
  private readonly seen = new Set<string>();
  private pending = 0;

  /** `failed` is told of rows that were lost; `later` decides when a row is handed over, by default at once. */
  constructor(
    private readonly sink: AuditSink,
    private readonly failed: (problem: string) => void,
    private readonly mostNetworks: number = MOST_NETWORKS,
    private readonly later: (step: () => void) => void = (step) => step(),
  ) {}

  /** `at` in milliseconds since the epoch. */
  record(event: RefusalEvent, at: number): void {
    const minute = Math.floor(at / MINUTE_MS);
    if (minute !== this.minute) {
      this.minute = minute;
      this.seen.clear();
    }
    // Apart: what a limit on trial would have refused doesn't hide the first real refusal.
    const key = event.dryRun ? `trial ${event.network}` : event.network;
    if (this.seen.has(key)) return;
    if (this.seen.size >= this.mostNetworks) {
      this.failed(`refusals of more than ${this.mostNetworks} networks in a minute are not audited`);
      return;
    }
    this.seen.add(key);
    this.later(() => this.write(entryOf(event, at)));
  }

  private write(entry: AuditEntry): void {
    if (this.pending >= MOST_PENDING) {
      this.failed(`the sink is too slow: more than ${MOST_PENDING} rows are waiting, new ones are dropped`);
      return;
    }
    try {
      const written = this.sink.write(entry);
      // Any promise: what an ORM's query gives is often a class of its own, and runs only once somebody waits for it.
      if (written !== undefined) void this.follow(written);
    } catch (error) {
      this.failed(`the sink threw ${messageOf(error)}`);
    }
  }

  private async follow(written: Promise<void>): Promise<void> {
    this.pending++;
    try {
      await written;
    } catch (error) {
      this.failed(`the sink rejected with ${messageOf(error)}`);
    } finally {
      this.pending--;
    }
  }
}

function entryOf({ limit, decision, address, network, user, dryRun }: RefusalEvent, at: number): AuditEntry {
  const { policy, retryAfter } = decision;
  return {
    action: 'http.rate_limited',
    at,
    ip: address,
    network,
    user,
    details: { limit, policy, retryAfter, dryRun },
  };
}

function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : show(error);
    return typeof message === 'string' ? message : nameOf(error);
  } catch {
    return nameOf(error);
  }
}

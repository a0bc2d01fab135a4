// The log of what an operator must know: refusals summed up in a flood, everything else once and not per request.

import { Logger, type LoggerService } from '@nestjs/common';
import { AuditTrail, type AuditSink } from '../events/audit.js';
import type { RateLimitEvent, RefusalEvent } from '../events/event.js';
import { printable, RefusalLog } from '../events/refusal-log.js';
import type { Clock } from '../stores/clock.js';

const FLUSH_EVERY_MS = 1_000;

/** How many different things are said once, at most: names come from the app, problems may come from anywhere. */
const MOST_SAID = 1_000;

/** Functions that fail without the client network being counted instead. */
const NO_KEYS: ReadonlySet<string> = new Set([
  'skipIf',
  'hasCredential',
  'login.fold',
  'Authenticator',
  '@PublicTool',
]);

/** What tells one audit problem from another: the first words, not what a sink's error says. */
const WORDS = 16;

export class EventLog {
  private readonly said = new Set<string>();
  private readonly refusals: RefusalLog;
  private readonly audit: AuditTrail | null;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly clock: Clock,
    sink: AuditSink | null,
    private readonly logger: LoggerService = new Logger('RateLimit'),
  ) {
    this.refusals = new RefusalLog((line) => logger.warn(line));
    const failed = (problem: string): void =>
      this.once(`audit ${problem.slice(0, WORDS)}`, `audit: ${problem}`);
    // Behind the answer: a sink that blocks would delay the very client that was refused.
    this.audit = sink === null ? null : new AuditTrail(sink, failed, undefined, setImmediate);
    this.timer = setInterval(() => this.refusals.flush(clock.monotonic()), FLUSH_EVERY_MS);
    this.timer.unref();
  }

  /** Says what is still to be summed up, and no more from then on. */
  close(): void {
    clearInterval(this.timer);
    this.refusals.flush(Infinity);
  }

  write(event: RateLimitEvent): void {
    switch (event.type) {
      case 'refusal':
        this.writeRefusal(event);
        return;
      case 'invalid-setting':
        this.logger.error(
          printable(`${event.setting}: ${event.problem}. The last good value stays in force`),
        );
        return;
      case 'store-down':
        this.logger.warn(
          printable(
            `the store is down (${event.problem}): until it is back each limit goes on as its onStoreError says`,
          ),
        );
        return;
      case 'store-up':
        this.logger.warn(`the store is back after ${event.seconds} s: limits are shared again`);
        return;
      case 'invalid-cost':
        this.logger.error(printable(`${event.where}: ${event.problem}. ${event.cost} is charged`));
        return;
      case 'overflow':
        this.once(
          `overflow ${event.namespace}`,
          `${event.namespace}: ${event.maxKeys} clients are live, newcomers share one bucket. Raise maxKeys, or find the flood`,
        );
        return;
      case 'forwarding-ignored':
        this.once(
          event.type,
          `${event.peer ?? 'a peer without an address'} sent forwarding headers, which are ignored, and all its clients ` +
            `share one limit. If it is your proxy, list it in trustedProxies`,
        );
        return;
      case 'unknown-address':
        this.once(
          event.type,
          `requests without a client address share one limit. Behind a Unix socket, list 'unix' in trustedProxies`,
        );
        return;
      case 'unusable-key':
        this.once(
          `${event.type} ${event.policy}`,
          `${event.policy}: ${event.problem}${NO_KEYS.has(event.policy) ? '' : '. The client network is counted'}`,
        );
    }
  }

  private writeRefusal(event: RefusalEvent): void {
    this.refusals.record(event, this.clock.monotonic());
    this.audit?.record(event, Math.floor(this.clock.wall() / 1_000));
  }

  private once(kind: string, message: string): void {
    if (this.said.has(kind) || this.said.size >= MOST_SAID) return;
    this.said.add(kind);
    this.logger.warn(printable(message));
  }
}

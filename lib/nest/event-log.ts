// The log of what an operator must know. Each kind is said once, not once per request.

import { Logger, type LoggerService } from '@nestjs/common';
import type { RateLimitEvent } from '../events/event.js';

export class EventLog {
  private readonly said = new Set<string>();

  constructor(private readonly logger: LoggerService = new Logger('RateLimit')) {}

  write(event: RateLimitEvent): void {
    switch (event.type) {
      case 'invalid-setting':
        this.logger.error(`${event.setting}: ${event.problem}. The last good value stays in force`);
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
          `${event.policy}: ${event.problem}. The client network is counted`,
        );
    }
  }

  private once(kind: string, message: string): void {
    if (this.said.has(kind)) return;
    this.said.add(kind);
    this.logger.warn(message);
  }
}

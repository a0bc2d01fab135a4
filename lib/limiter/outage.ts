// Tells when a shared store is not worth asking: after a few failures in a row, until one call in between succeeds.

import { CircuitState, circuitBreaker, ConsecutiveBreaker, handleAll } from 'cockatiel';
import { nameOf, TollgateError } from '../errors.js';
import type { Report } from '../events/event.js';

/** Failures in a row that are an outage: one may be a slow moment. */
const FAILURES = 3;

/** How long nobody is asked in an outage, before one call tries. */
const PAUSE_MS = 300;

export class Outage {
  private readonly circuit = circuitBreaker(handleAll, {
    halfOpenAfter: PAUSE_MS,
    breaker: new ConsecutiveBreaker(FAILURES),
  });
  /** When it began, in microseconds; null: there is none. */
  private since: number | null = null;
  private problem = '';

  /** `now` in microseconds of the monotonic clock. */
  constructor(
    private readonly report: Report,
    private readonly now: () => number,
  ) {
    this.circuit.onBreak(() => this.begin());
    this.circuit.onReset(() => this.end());
  }

  /** Whether a call would be made now, or be the one that tries. */
  get over(): boolean {
    return this.circuit.state === CircuitState.Closed;
  }

  /** Makes a call, or rejects at once while nobody is asked. */
  ask<T>(call: () => Promise<T>): Promise<T> {
    return this.circuit.execute(async () => {
      try {
        return await call();
      } catch (error) {
        this.problem = error instanceof TollgateError ? error.code : nameOf(error);
        throw error;
      }
    });
  }

  private begin(): void {
    if (this.since !== null) return;
    this.since = this.now();
    this.report({ type: 'store-down', problem: this.problem });
  }

  private end(): void {
    if (this.since === null) return;
    const seconds = Math.round((this.now() - this.since) / 1e6);
    this.since = null;
    this.report({ type: 'store-up', seconds });
  }
}

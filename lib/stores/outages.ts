// Tells which servers of a store are not worth asking: each after a few failures, until one call in between succeeds.

import { problemOf, TollgateError } from '../errors.js';
import type { Report } from '../events/event.js';
import type { MaybePromise } from './store.js';

/** Failures in a row that are an outage: one may be a slow moment. */
const FAILURES = 3;

/** How long nobody asks a server in an outage, before one call tries; microseconds. */
const PAUSE = 300_000;

/** The server of a store that has only one, and of one that is not connected. */
export const ONLY_SERVER = '';

/** A server that failed and has not answered since. Times in microseconds of the monotonic clock. */
class Circuit {
  failures = 0;
  lastError: unknown = undefined;
  failedAt = -Infinity;
  /** When a call was let through to try it. */
  triedAt = -Infinity;

  get open(): boolean {
    return this.failures >= FAILURES;
  }

  /** Whether no call may try it yet: one does once in a while, whether or not the last has come to an end. */
  isOut(now: number): boolean {
    return this.open && now - Math.max(this.failedAt, this.triedAt) < PAUSE;
  }

  /** A call begun before the last failure was known tells nothing new: a lost connection fails all that were on it. */
  fail(error: unknown, began: number, now: number): void {
    if (began < this.failedAt) return;
    this.lastError = error;
    this.failedAt = now;
    this.failures++;
  }
}

/** Time is an argument of the constructor: a clock that is set must neither lengthen an outage nor cut it short. */
export class Outages {
  /** Only of servers that failed. */
  private readonly circuits = new Map<string, Circuit>();
  /** Since when any server is out; null: none is. */
  private since: number | null = null;
  private checkedAt = -Infinity;

  /**
   * Tells of the first server that falls out and of the last that is back. `now`: microseconds, monotonic. `isServer`
   * tells whether the store still has a server of that name.
   */
  constructor(
    private readonly report: Report,
    private readonly now: () => number,
    private readonly isServer: (server: string) => boolean,
  ) {}

  /** @throws TollgateError while a server is not asked. */
  check(server: string): void {
    const circuit = this.circuits.get(server);
    if (circuit?.isOut(this.now()) === true) throw notAsked(circuit.lastError);
  }

  /**
   * Makes a call, or rejects at once while the server is not asked: nobody waits for the call that tries. An answer that
   * is no promise came from the store's own memory, and tells nothing of a server.
   */
  ask<T>(server: string, call: () => MaybePromise<T>): MaybePromise<T> {
    const began = this.now();
    const circuit = this.circuits.get(server);
    if (circuit?.isOut(began) === true) return Promise.reject(notAsked(circuit.lastError));
    if (circuit?.open === true) circuit.triedAt = began;
    try {
      const answer = call();
      return answer instanceof Promise ? this.watch(server, began, answer) : answer;
    } catch (error) {
      this.failed(server, began, error);
      throw error;
    }
  }

  private async watch<T>(server: string, began: number, answer: Promise<T>): Promise<T> {
    try {
      const value = await answer;
      if (this.circuits.size > 0) this.succeeded(server, began);
      return value;
    } catch (error) {
      this.failed(server, began, error);
      throw error;
    }
  }

  private succeeded(server: string, began: number): void {
    const circuit = this.circuits.get(server);
    if (circuit !== undefined && began >= circuit.failedAt) this.circuits.delete(server);
    this.forgetGone();
    if (this.since === null || [...this.circuits.values()].some(({ open }) => open)) return;
    const seconds = Math.round((this.now() - this.since) / 1e6);
    this.since = null;
    this.report({ type: 'store-up', seconds });
  }

  /** Another server may have the place of one that failed. Asked now and then: a store has to look for it. */
  private forgetGone(): void {
    const now = this.now();
    if (now - this.checkedAt < PAUSE) return;
    this.checkedAt = now;
    for (const server of this.circuits.keys()) if (!this.isServer(server)) this.circuits.delete(server);
  }

  private failed(server: string, began: number, error: unknown): void {
    const circuit = this.circuits.get(server) ?? new Circuit();
    this.circuits.set(server, circuit);
    circuit.fail(error, began, this.now());
    if (!circuit.open || this.since !== null) return;
    this.since = this.now();
    this.report({ type: 'store-down', problem: problemOf(error) });
  }
}

function notAsked(cause: unknown): TollgateError {
  const message = 'the store failed a moment ago and is not asked yet; nothing was done';
  return new TollgateError('TOLLGATE_STORE_NOT_DONE', message, { cause });
}

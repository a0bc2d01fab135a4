// Limits for an app's own code: inject it anywhere.

import { Injectable } from '@nestjs/common';
import { decisionOf, type Decision } from '../../algorithms/decision.js';
import { show } from '../../algorithms/rate.js';
import { tightest, type Bucket, type Verdict } from '../../algorithms/verdict.js';
import { Receipt } from '../../limiter/receipt.js';
import type { NamedQuota } from '../quota.js';
import { RateLimitRuntime } from '../rate-limit.runtime.js';
import { BucketRequests, checkCost, type BucketRequest } from './bucket-request.js';

/** A decision as the service gives it. */
export interface ServiceDecision extends Decision {
  /** What was charged, for `refund`; null when nothing was. */
  readonly receipt: Receipt | null;
}

/**
 * Every method takes a policy's name (or a quota with a name) and a key, or a list of buckets, which is one step: all
 * are charged or none. A refusal is a value. A wrong cost or key throws `RangeError`, an unknown policy `TollgateError`.
 */
@Injectable()
export class RateLimitService {
  private readonly requests: BucketRequests;

  constructor(private readonly runtime: RateLimitRuntime) {
    const { options, events } = runtime;
    this.requests = new BucketRequests(options.policies, (event) => events.emit(event));
  }

  /** Charges `cost` units (default 1) if there is room, in all buckets or none. */
  consume(policy: string | NamedQuota, key: string, cost?: number): Promise<ServiceDecision>;
  consume(buckets: readonly BucketRequest[]): Promise<ServiceDecision>;
  async consume(first: First, key?: string, cost?: number): Promise<ServiceDecision> {
    const verdicts = this.runtime.limiter.consume(this.buckets(first, key, cost));
    return this.decide(verdicts instanceof Promise ? await verdicts : verdicts);
  }

  /** What `consume` would answer; charges nothing. */
  peek(policy: string | NamedQuota, key: string, cost?: number): Promise<ServiceDecision>;
  peek(buckets: readonly BucketRequest[]): Promise<ServiceDecision>;
  async peek(first: First, key?: string, cost?: number): Promise<ServiceDecision> {
    const verdicts = this.runtime.limiter.peek(this.buckets(first, key, cost));
    return this.decide(verdicts instanceof Promise ? await verdicts : verdicts);
  }

  /**
   * Charges what was already spent, room or not: `allowed` says whether there was room. What exceeds a fixed window
   * is its debt until it ends; GCRA fills up at one window.
   */
  charge(policy: string | NamedQuota, key: string, cost?: number): Promise<ServiceDecision>;
  charge(buckets: readonly BucketRequest[]): Promise<ServiceDecision>;
  async charge(first: First, key?: string, cost?: number): Promise<ServiceDecision> {
    const verdicts = this.runtime.limiter.charge(this.buckets(first, key, cost));
    return this.decide(verdicts instanceof Promise ? await verdicts : verdicts);
  }

  /**
   * Gives a charge back: all of it, or `cost` units in each of its buckets. Works once per receipt (false the second
   * time, or where a shared store can't be told), only in the window of the charge, and gives back at most what the
   * charge still occupies.
   */
  async refund(receipt: Receipt, cost?: number): Promise<boolean> {
    if (cost !== undefined) checkCost(cost);
    const { limiter } = this.runtime;
    if (!(receipt instanceof Receipt) || !receipt.isFrom(limiter)) {
      throw new RangeError('the receipt is none of this app: give the one that a charge returned');
    }
    if (receipt.used || cost === 0) return false;
    try {
      await limiter.refund(receipt.take(cost ?? null));
      return true;
    } catch {
      // The store is down, or nobody knows what it did: telling it again could give back twice.
      return false;
    }
  }

  /** Forgets buckets, as if they were never charged. */
  clear(policy: string | NamedQuota, key: string): Promise<void>;
  clear(buckets: readonly BucketRequest[]): Promise<void>;
  async clear(first: First, key?: string): Promise<void> {
    await this.runtime.limiter.clear(this.buckets(first, key, 0));
  }

  /** Charges cost units to the bucket of an API key. Source A, SA-26. */
  async checkAdmin(keyId: string, cost: number): Promise<ServiceDecision> {
    return this.step([this.runtime.api.ofKey(idOf(keyId), unitsOf(cost, 1))]);
  }

  /** Charges cost units to the one bucket of a user over all sessions, apart from the user's keys. SA-32, SA-33. */
  async checkUser(userId: string, cost: number): Promise<ServiceDecision> {
    return this.step([this.runtime.api.ofUser(idOf(userId), unitsOf(cost, 1))]);
  }

  /**
   * Charges a client token (null: not known yet) and the client network, all or nothing; the network `networkCost`
   * units, `cost` unless given, 0 to report its state only. An unknown address is one shared network. SA-31, SA-42 to SA-45.
   */
  async checkPublic(
    ip: string | null,
    clientTokenHash: string | null,
    cost: number,
    networkCost: number = cost,
  ): Promise<ServiceDecision> {
    const network = this.networkOf(ip);
    const token = clientTokenHash === null ? null : idOf(clientTokenHash);
    return this.step(this.runtime.api.ofPublic(network, token, unitsOf(cost, 1), unitsOf(networkCost, 0)));
  }

  /** Counts a new row of a caller without a key against the network's quota and everybody's. SA-27, SA-28. */
  async checkNewRows(ip: string | null): Promise<ServiceDecision> {
    return this.step(this.runtime.api.ofNewRow(this.networkOf(ip)));
  }

  /** Whether an address may still fail authentication; charges nothing. Ask after a rejection only. SA-17, SA-29. */
  async checkPreauth(ip: string | null): Promise<ServiceDecision> {
    return this.decide(await this.runtime.limiter.peek([this.runtime.api.ofFailure(this.networkOf(ip))]));
  }

  /**
   * Counts a failed authentication if there is room. Refused: the failure wasn't charged, answer 429 instead of 401.
   * Parallel failures are told apart, so this one call does what asking first and counting then can't. SA-18, SA-34.
   */
  async recordAuthFailure(ip: string | null): Promise<ServiceDecision> {
    return this.step([this.runtime.api.ofFailure(this.networkOf(ip))]);
  }

  private async step(buckets: readonly Bucket[]): Promise<ServiceDecision> {
    return this.decide(await this.runtime.limiter.consume(buckets));
  }

  private networkOf(ip: string | null): string {
    return this.runtime.clientOf(ip).network;
  }

  private buckets(first: First, key = '', cost = 1) {
    if (typeof first === 'string' || 'limit' in first) {
      return [this.requests.bucket(first, key, cost)];
    }
    return this.requests.buckets(first);
  }

  private decide(verdicts: readonly Verdict[]): ServiceDecision {
    const verdict = tightest(verdicts);
    const { headers } = this.runtime;
    const lines = verdict.allowed ? headers.of(verdicts) : headers.ofRefusal(verdicts, verdict);
    const { allowed, policy, limit, cost, remaining, resetAfter, retryAfter, reason } = decisionOf(
      verdict,
      lines,
    );
    const receipt = verdicts.some(({ taken }) => taken > 0)
      ? new Receipt(verdicts, this.runtime.limiter)
      : null;
    // Field by field: spreading a decision into a literal that goes on costs 3 µs in V8.
    return {
      allowed,
      policy,
      limit,
      cost,
      remaining,
      resetAfter,
      retryAfter,
      reason,
      headers: lines,
      receipt,
    };
  }
}

type First = string | NamedQuota | readonly BucketRequest[];

/** @throws RangeError unless it is a text. */
function idOf(id: unknown): string {
  if (typeof id !== 'string' || id === '') throw new RangeError(`the id is ${show(id)}: give a text`);
  return id;
}

/** @throws RangeError unless it is a whole number, at least `least`. */
function unitsOf(cost: number, least: 0 | 1): number {
  checkCost(cost);
  if (cost < least) throw new RangeError(`cost is ${cost}: give a whole number above 0`);
  return cost;
}

// Buckets in Redis or Valkey, shared by every process that names the same server: one script call per step.

import type { LeaseReply } from '../../algorithms/lease.js';
import type { Bucket, Verdict } from '../../algorithms/verdict.js';
import { systemClock, type Clock } from '../clock.js';
import { Outages } from '../outages.js';
import { Refusals } from '../refusals.js';
import { RateLimitStore, type BucketName, type LeaseCall, type MaybePromise, type Refund } from '../store.js';
import { Link } from './calls/link.js';
import { ScriptCaller } from './calls/script-caller.js';
import type { ClientSource } from './clients/client.js';
import { clientSource, type RedisClient } from './clients/client-source.js';
import { KeyNames } from './key-names.js';
import { Operations } from './operations.js';
import { Parts } from './parts.js';
import { soundOptions, type RedisStoreOptions } from './redis-store-options.js';

/**
 * A store in Redis 6.2 or later, or Valkey.
 *
 * `clientOrUrl` is a client of ioredis, iovalkey or redis (node-redis), for one server, Sentinel or a cluster, or a URL
 * such as `redis://localhost:6379`. A client is duplicated and never used itself: the connections of the store neither
 * queue commands nor send any twice, whatever the client's own settings. It connects at the boot of the app, or at the
 * first call.
 *
 * On a cluster, buckets of different keys lie on different servers: one call each, one after the other, and what some
 * have charged is given back when another refuses.
 */
export class RedisStore extends RateLimitStore {
  override readonly clock: Clock;
  override readonly watchesServers = true;
  private readonly refusals: Refusals;
  private readonly source: ClientSource;
  private readonly link: Link;
  private readonly parts: Parts;
  private users = 0;

  /** @throws TollgateError when the client or the URL is none, or the prefix has braces. */
  constructor(clientOrUrl: RedisClient | string, options: RedisStoreOptions = {}) {
    super();
    const { keyPrefix, clock } = soundOptions(options);
    this.clock = clock ?? systemClock;
    this.refusals = new Refusals(() => this.clock.monotonic());
    this.source = clientSource(clientOrUrl);
    this.link = new Link(this.source, now);
    const outages = new Outages(
      (event) => this.report(event),
      now,
      (server) => this.link.has(server),
    );
    const caller = new ScriptCaller(this.link, outages, now);
    const operations = new Operations(caller, new KeyNames(keyPrefix), clock);
    this.parts = new Parts(operations, this.source.clustered);
  }

  override consume(buckets: readonly Bucket[], timeout: number): MaybePromise<Verdict[]> {
    return this.refusals.ofConsume(buckets) ?? this.ask('consume', buckets, dueIn(timeout));
  }

  override peek(buckets: readonly Bucket[], timeout: number): MaybePromise<Verdict[]> {
    return this.refusals.ofPeek(buckets) ?? this.ask('peek', buckets, dueIn(timeout));
  }

  override charge(buckets: readonly Bucket[], timeout: number): Promise<Verdict[]> {
    return this.changing(buckets, () => this.parts.step('charge', buckets, dueIn(timeout)));
  }

  override refund(refunds: readonly Refund[], timeout: number): Promise<void> {
    const real = refunds.filter(({ charge, cost }) => charge.taken > 0 && cost > 0);
    const buckets = real.map(({ charge }) => charge.bucket);
    return this.changing(buckets, () => this.parts.refund(real, dueIn(timeout)));
  }

  override clear(names: readonly BucketName[], timeout: number): Promise<void> {
    return this.changing(names, () => this.parts.clear(names, dueIn(timeout)));
  }

  override lease(calls: readonly LeaseCall[], timeout: number): Promise<LeaseReply[]> {
    return this.parts.lease(calls, dueIn(timeout));
  }

  override open(): MaybePromise<void> {
    this.users++;
    this.link.open();
    return this.source.load();
  }

  /** Ends the connections once no app uses the store; calls then reject until it is opened again. */
  override async close(): Promise<void> {
    this.users = Math.max(0, this.users - 1);
    if (this.users === 0) await this.link.close();
  }

  /** A consume or a peek, whose refusal is remembered. */
  private async ask(mode: 'consume' | 'peek', buckets: readonly Bucket[], due: number): Promise<Verdict[]> {
    const asked = this.clock.monotonic();
    const verdicts = await (mode === 'consume'
      ? this.parts.consume(buckets, due)
      : this.parts.step('peek', buckets, due));
    this.refusals.remember(verdicts, asked);
    return verdicts;
  }

  /** What is remembered of buckets that change is void, and so is what was asked before the change was over. */
  private async changing<R>(names: readonly BucketName[], change: () => Promise<R>): Promise<R> {
    try {
      return await change();
    } finally {
      this.refusals.forget(names);
    }
  }
}

function now(): number {
  return systemClock.monotonic();
}

/** The moment `timeout` milliseconds from now. */
function dueIn(timeout: number): number {
  return now() + timeout * 1000;
}

// What refused steps told of a shared store's buckets, remembered for a second: whoever keeps asking for what is not
// there costs one call per second, not one per request.

import { fixedVerdict, fixedWait, windowEnd } from '../algorithms/fixed-window.js';
import { gcraUsed, gcraVerdict, gcraWait } from '../algorithms/gcra.js';
import type { Rate } from '../algorithms/rate.js';
import { allAllowed, type Bucket, type Verdict } from '../algorithms/verdict.js';
import type { BucketName } from './store.js';

/** Longest that anything is believed, in microseconds. */
const LONGEST = 1_000_000;
/** After that, in microseconds, one call asks anew, so that not all do once it is over. */
const RENEWED_AFTER = 900_000;
/** In that time a refused bucket lets so many lists through to the store that have buckets nothing is known of. */
const MOST_ASKED = 10;

/** How many lists a bucket let through since when. */
interface LetThrough {
  readonly since: number;
  count: number;
}

/** The last verdict of a bucket that was in a refused step; null once a charge, a refund or a clear made it void. */
interface Memory {
  readonly verdict: Verdict | null;
  /** When it was heard, in microseconds of the monotonic clock. */
  readonly at: number;
  /** When it was asked for: the store read its clock no earlier, so no less has drained than since then. */
  readonly askedAt: number;
  readonly letThrough: LetThrough;
  /** A call asks anew. */
  renewing: boolean;
}

/**
 * A bucket holds at least what it held when it was last heard of, less what drained since. A cost that does not fit
 * into the rest is refused without asking; so is the list it stands in, its other buckets told as they were last heard
 * of. One of them may have the longer wait, so the store is asked where nothing is known of one; but whoever comes with
 * other buckets each time is soon answered as if those were never charged. What other processes give back is seen after
 * a second at most.
 */
export class Refusals {
  /** By namespace and key; a namespace has no line break. Oldest first. */
  private readonly memories = new Map<string, Memory>();
  private prunedAt = -Infinity;

  /** `now`: microseconds of the monotonic clock. Of more than `maxEntries` buckets the oldest are forgotten. */
  constructor(
    private readonly now: () => number,
    private readonly maxEntries = 10_000,
  ) {}

  get size(): number {
    return this.memories.size;
  }

  /** The verdicts of a consume that is known to be refused; null when the store has to be asked. */
  ofConsume(buckets: readonly Bucket[]): Verdict[] | null {
    if (this.memories.size === 0) return null;
    const known = this.recall(buckets);
    const refusal = known.find((verdict) => verdict?.allowed === false);
    if (refusal === undefined || refusal === null) return null;
    if (this.renews(refusal.bucket)) return null;
    if (known.includes(null) && this.letsThrough(refusal.bucket)) return null;
    const now = refusal.until - refusal.resetAfter;
    return known.map((verdict, index) => verdict ?? stateOf(buckets[index], 0, now));
  }

  /** The same of a peek, which answers for each of its buckets: all must be known to refuse. */
  ofPeek(buckets: readonly Bucket[]): Verdict[] | null {
    if (this.memories.size === 0) return null;
    const refusals: Verdict[] = [];
    for (const verdict of this.recall(buckets)) {
      if (verdict === null || verdict.allowed || this.renews(verdict.bucket)) return null;
      refusals.push(verdict);
    }
    return refusals;
  }

  /** Remembers what the store, asked at `asked`, answered to a consume or a peek: all of it when it refused. */
  remember(verdicts: readonly Verdict[], asked: number): void {
    const refused = !allAllowed(verdicts);
    if (!refused && this.memories.size === 0) return;
    const at = this.now();
    for (const verdict of verdicts) {
      const id = idOf(verdict.bucket);
      const known = this.memories.get(id);
      if (!refused && known === undefined) continue;
      // Asked before something was given back, the store may have answered before that too.
      if (known?.verdict === null && known.at >= asked) continue;
      this.put(id, verdict, at, asked);
    }
  }

  /** Forgets buckets that just changed. */
  forget(names: readonly BucketName[]): void {
    const at = this.now();
    for (const name of names) this.put(idOf(name), null, at, at);
  }

  /** What each bucket is known to answer now. */
  private recall(buckets: readonly Bucket[]): (Verdict | null)[] {
    const now = this.now();
    return buckets.map((bucket) => {
      const memory = this.memories.get(idOf(bucket));
      if (memory === undefined || memory.verdict === null || now - memory.at >= LONGEST) return null;
      if (!sameRate(memory.verdict.bucket.rate, bucket.rate)) return null;
      return later(memory.verdict, bucket, now - memory.askedAt);
    });
  }

  /** Whether this call is the one that asks anew, while others go on hearing what is known. */
  private renews(refused: Bucket): boolean {
    const memory = this.memories.get(idOf(refused));
    if (memory === undefined || memory.renewing || this.now() - memory.at < RENEWED_AFTER) return false;
    memory.renewing = true;
    return true;
  }

  private letsThrough(refused: Bucket): boolean {
    const letThrough = this.memories.get(idOf(refused))?.letThrough;
    return letThrough !== undefined && ++letThrough.count <= MOST_ASKED;
  }

  private put(id: string, verdict: Verdict | null, at: number, askedAt: number): void {
    const before = this.memories.get(id)?.letThrough;
    const goesOn = before !== undefined && at - before.since < LONGEST;
    const letThrough = goesOn ? before : { since: at, count: 0 };
    this.memories.delete(id);
    this.memories.set(id, { verdict, at, askedAt, letThrough, renewing: false });
    if (this.memories.size > this.maxEntries || at - this.prunedAt >= LONGEST) this.prune(at);
  }

  /** Drops what is over, and a tenth of all where there are too many: one by one would walk over what is gone each time. */
  private prune(at: number): void {
    this.prunedAt = at;
    const most = this.memories.size > this.maxEntries ? Math.floor(this.maxEntries * 0.9) : Infinity;
    for (const [oldest, memory] of this.memories) {
      if (this.memories.size <= most && at - memory.at < LONGEST) break;
      this.memories.delete(oldest);
    }
  }
}

function idOf({ namespace, key }: BucketName): string {
  return `${namespace}\n${key}`;
}

function sameRate(a: Rate, b: Rate): boolean {
  return a === b || (a.limit === b.limit && a.window === b.window && a.algorithm === b.algorithm);
}

/** The verdict `elapsed` microseconds later, of another cost; null in another window. */
function later(verdict: Verdict, bucket: Bucket, elapsed: number): Verdict | null {
  const { rate } = bucket;
  const { until, remaining, resetAfter } = verdict;
  const now = until - resetAfter + elapsed;
  if (rate.algorithm === 'gcra') return stateOf(bucket, gcraUsed(until, rate, now), now);
  return now < until ? stateOf(bucket, rate.limit - remaining, now) : null;
}

/** What a bucket that holds `used` answers at `now`, the store's time. */
function stateOf(bucket: Bucket, used: number, now: number): Verdict {
  const { rate, cost } = bucket;
  if (rate.algorithm === 'gcra') return gcraVerdict(bucket, used, 0, gcraWait(used, cost, rate), now);
  const end = windowEnd(rate.window, now);
  return fixedVerdict(bucket, used, 0, fixedWait(used, cost, rate, end, now), end, now);
}

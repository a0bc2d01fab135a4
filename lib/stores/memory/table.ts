// What a memory table of either algorithm has in common: a bounded set of buckets of one namespace.

import type { Bucket, Verdict } from '../../algorithms/verdict.js';
import type { Refund } from '../store.js';
import { NO_SLOT, OVERFLOW_SLOT, Slots } from './slots.js';

/** How many slots a newcomer to a full table may look at to find one that equals a fresh one. */
const LOOKS_FOR_ROOM = 32;
/** The key by which verdicts name the bucket that newcomers to a full table share: no client's key is empty. */
const OVERFLOW_KEY = '';

export abstract class Table {
  protected readonly slots: Slots;

  constructor(
    width: number,
    maxKeys: number,
    private readonly onOverflow: () => void,
  ) {
    this.slots = new Slots(width, maxKeys);
  }

  get size(): number {
    return this.slots.size;
  }

  abstract peek(bucket: Bucket, now: number): Verdict;
  /** Charges if there is room. */
  abstract consume(bucket: Bucket, now: number): Verdict;
  /** Charges in any case. */
  abstract charge(bucket: Bucket, now: number): Verdict;
  abstract refund(refund: Refund, now: number): void;
  /** Whether a slot equals a new one at `now`. */
  protected abstract isFresh(slot: number, now: number): boolean;

  clear(key: string): void {
    this.slots.remove(key);
  }

  /** Looks at up to `count` buckets and drops those that equal a fresh one. */
  sweep(count: number, now: number): number {
    return this.slots.sweep(count, (slot) => this.isFresh(slot, now));
  }

  /** Starts the next `sweep` at the top. */
  rewind(): void {
    this.slots.rewind();
  }

  /** The slot that a verdict's bucket was charged in; `NO_SLOT` when it is gone. */
  protected slotCharged(key: string): number {
    return key === OVERFLOW_KEY ? OVERFLOW_SLOT : this.slots.find(key);
  }

  /** The slot of a key; the shared one for a newcomer without room; `NO_SLOT` for a newcomer with room. */
  protected slotOf(key: string, now: number): number {
    const slot = this.slots.find(key);
    if (slot !== NO_SLOT || !this.slots.full || this.sweep(LOOKS_FOR_ROOM, now) > 0) return slot;
    this.onOverflow();
    return OVERFLOW_SLOT;
  }

  /** The bucket as a verdict should name it, so that a refund finds the one that was charged. */
  protected charged(bucket: Bucket, slot: number): Bucket {
    return slot === OVERFLOW_SLOT ? { ...bucket, key: OVERFLOW_KEY } : bucket;
  }
}

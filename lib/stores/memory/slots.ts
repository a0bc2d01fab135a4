// A bounded index from keys to numbers in one flat array: what memory tables keep their buckets in.
//
// A Map from key to slot plus a Float64Array costs less than a Map of objects, both in bytes and in time: updating a
// bucket writes one number. Slots stay dense (the last one moves into a gap), so sweeping and shrinking are simple.

/** The slot that newcomers share when every slot is taken by a live key. It has no key and can't be removed. */
export const OVERFLOW_SLOT = 0;
/** No such key. */
export const NO_SLOT = -1;

const SMALLEST = 16;

export class Slots {
  /** `width` numbers per slot. */
  numbers: Float64Array;
  private readonly index = new Map<string, number>();
  private keys: string[] = [''];
  private cursor = 0;

  constructor(
    private readonly width: number,
    private readonly maxKeys: number,
  ) {
    this.numbers = new Float64Array(SMALLEST * width);
  }

  /** How many keys have a slot of their own. */
  get size(): number {
    return this.index.size;
  }

  get full(): boolean {
    return this.index.size >= this.maxKeys;
  }

  find(key: string): number {
    const slot = this.index.get(key);
    return slot === undefined ? NO_SLOT : slot;
  }

  /** A new slot, all numbers 0. Check `full` first. */
  add(given: string): number {
    const key = ownCopy(given);
    const slot = this.keys.push(key) - 1;
    this.index.set(key, slot);
    const needed = (slot + 1) * this.width;
    if (needed > this.numbers.length) this.resize(this.numbers.length * 2);
    this.numbers.fill(0, needed - this.width, needed);
    return slot;
  }

  remove(key: string): void {
    const slot = this.index.get(key);
    if (slot !== undefined) this.removeSlot(slot);
  }

  /**
   * Looks at the next `count` slots in turn and removes those that `isFresh` says equal a new one. Returns how many
   * went. Removing them changes no decision.
   */
  sweep(count: number, isFresh: (slot: number) => boolean): number {
    let removed = 0;
    for (let i = Math.min(count, this.size); i > 0 && this.size > 0; i--) {
      if (this.cursor <= OVERFLOW_SLOT || this.cursor >= this.keys.length) this.cursor = this.keys.length - 1;
      if (isFresh(this.cursor)) {
        this.removeSlot(this.cursor);
        removed++;
      }
      this.cursor--;
    }
    this.shrink();
    return removed;
  }

  /** Lets the next `sweep` start at the top, so that what moves into a gap was looked at before. */
  rewind(): void {
    this.cursor = OVERFLOW_SLOT;
  }

  private removeSlot(slot: number): void {
    const { width, numbers } = this;
    this.index.delete(this.keys[slot]);
    const last = this.keys.length - 1;
    const moved = this.keys.pop();
    if (slot === last || moved === undefined) return;
    this.keys[slot] = moved;
    this.index.set(moved, slot);
    numbers.copyWithin(slot * width, last * width, (last + 1) * width);
  }

  private shrink(): void {
    const { length } = this.numbers;
    if (length <= SMALLEST * this.width || this.keys.length * this.width * 4 >= length) return;
    this.resize(length / 2);
    // A copy: an array that lost its elements one by one keeps the memory of all of them.
    this.keys = this.keys.slice();
  }

  private resize(length: number): void {
    const numbers = new Float64Array(length);
    numbers.set(this.numbers.subarray(0, Math.min(length, this.numbers.length)));
    this.numbers = numbers;
  }
}

/** V8 cuts strings by reference: kept as it is, an id cut out of a header would keep the whole header alive. */
function ownCopy(text: string): string {
  return ` ${text}`.slice(1);
}

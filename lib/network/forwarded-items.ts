// Reads a list header from its right end, an item at a time, so that a hostile 15 kB costs no more than an honest line.
import { MAX_ITEM_LENGTH } from './forwarded-address.js';

/** How many items of a list header are examined, counted from the right; empty ones count. */
export const MAX_FORWARDED_ITEMS = 32;

const COMMA = 0x2c;
const SPACE = 0x20;
const TAB = 0x09;

/** The items of one header, right to left. Repeated lines (an array) are read as if joined by commas in their order. */
export class ForwardedItems {
  private readonly lines: readonly unknown[];
  private line: number;
  private text = '';
  // Where the next item ends in `text`; below 0 when the line is used up.
  private end = -1;
  private examined = 0;

  /** @param header what a header holds; neither a string nor an array: a header without items */
  constructor(header: unknown) {
    this.lines = Array.isArray(header) ? header : typeof header === 'string' ? [header] : [];
    this.line = this.lines.length;
  }

  /** The next item that is not empty, without its blanks; `null`: unreadable, stop here; `undefined`: no more items. */
  next(): string | null | undefined {
    for (;;) {
      if (this.end < 0) {
        if (this.line === 0) return undefined;
        const text = this.lines[--this.line];
        if (typeof text !== 'string') return null;
        this.text = text;
        this.end = text.length;
      }
      if (this.examined++ === MAX_FORWARDED_ITEMS) return null;
      const end = this.end;
      const start = this.startOf(end);
      if (start < 0) return null;
      this.end = start - 1;
      const item = withoutBlanks(this.text, start, end);
      if (item !== '') return item;
    }
  }

  // -1 when no comma comes within the length of an address: the rest is never looked at.
  private startOf(end: number): number {
    const floor = Math.max(0, end - MAX_ITEM_LENGTH);
    let start = end;
    while (start > floor && this.text.charCodeAt(start - 1) !== COMMA) start--;
    return start === 0 || this.text.charCodeAt(start - 1) === COMMA ? start : -1;
  }
}

function withoutBlanks(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return ownCopy(text.slice(start, end));
}

// V8 cuts strings by reference: kept as the key of a bucket, an item would keep its whole header. Appending and cutting
// again leaves it with a parent of its own size.
function ownCopy(text: string): string {
  return ` ${text}`.slice(1);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

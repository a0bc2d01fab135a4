import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { MAX_ITEM_LENGTH } from '../../lib/network/forwarded-address.js';
import { ForwardedItems, MAX_FORWARDED_ITEMS } from '../../lib/network/forwarded-items.js';

/** All items up to the end (`undefined`) or a stop (`null`), which is kept as the last one. */
function read(header: unknown): (string | null)[] {
  const items = new ForwardedItems(header);
  const all: (string | null)[] = [];
  for (let item = items.next(); item !== undefined; item = items.next()) {
    all.push(item);
    if (item === null) break;
  }
  return all;
}

describe('ForwardedItems', () => {
  it('reads from the right, without blanks and without empty items', () => {
    expect(read('a, b ,\tc\t')).toEqual(['c', 'b', 'a']);
    expect(read('a,, ,b, ,')).toEqual(['b', 'a']);
    expect(read('a')).toEqual(['a']);
    for (const none of ['', ' ', ',', ' , ,', [], ['', ' ']]) expect(read(none)).toEqual([]);
  });

  it('trims spaces and tabs only', () => {
    expect(read('a\u00a0,\u2003b')).toEqual(['\u2003b', 'a\u00a0']);
  });

  it('reads repeated lines as one list in their order', () => {
    expect(read(['a, b', '', 'c,d'])).toEqual(['d', 'c', 'b', 'a']);
  });

  it('has no items when the header is neither text nor lines', () => {
    for (const none of [undefined, null, 7, true, {}, () => 'a', Symbol('a')]) expect(read(none)).toEqual([]);
  });

  it('stops at a line that is no text', () => {
    expect(read(['a', 7, 'b'])).toEqual(['b', null]);
  });

  it('stops at an item that is longer than any address', () => {
    const longest = 'x'.repeat(MAX_ITEM_LENGTH);
    expect(read(`a,${longest},b`)).toEqual(['b', longest, 'a']);
    expect(read(`a,${longest}x,b`)).toEqual(['b', null]);
    expect(read(`${longest}x`)).toEqual([null]);
    expect(read(`a,${' '.repeat(MAX_ITEM_LENGTH)}x`)).toEqual([null]);
  });

  it('stops after a fixed number of items, the empty ones included', () => {
    const many = Array.from({ length: MAX_FORWARDED_ITEMS }, (_, index) => `i${index}`);
    expect(read(many.join())).toEqual(many.toReversed());
    expect(read(['x', ...many].join())).toEqual([...many.toReversed(), null]);
    expect(read(many)).toEqual(many.toReversed());
    expect(read(['x', ...many])).toEqual([...many.toReversed(), null]);
    expect(read(`x${','.repeat(MAX_FORWARDED_ITEMS - 1)}`)).toEqual(['x']);
    expect(read(`x${','.repeat(MAX_FORWARDED_ITEMS)}`)).toEqual([null]);
  });

  it('does not keep a header alive for an item of it', () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const used = () => {
      collect();
      return getHeapStatistics().used_heap_size;
    };
    const kept: (string | null | undefined)[] = [];
    const before = used();
    for (let index = 0; index < 500; index++) {
      const address = `2001:db8:1234:5678:9abc:def0:1234:${(index + 0x1000).toString(16)}`;
      const header = Buffer.from(`${'x'.repeat(15_000)}, ${address}`, 'latin1').toString('latin1');
      kept.push(new ForwardedItems(header).next());
    }
    expect(used() - before).toBeLessThan(500 * 1000);
    expect(kept).toHaveLength(500);
  });
});

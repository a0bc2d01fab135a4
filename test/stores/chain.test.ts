import { describe, expect, it } from 'vitest';
import { chain } from '../../lib/stores/chain.js';

describe('chain', () => {
  it('follows a value at once, and a promise when it comes', async () => {
    expect(chain(1, (value) => value + 1)).toBe(2);
    const later = chain(Promise.resolve(1), (value) => value + 1);
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toBe(2);
    expect(await chain(1, (value) => Promise.resolve(value + 1))).toBe(2);
  });

  it('what is thrown stays thrown, what rejects stays rejected', async () => {
    const fail = (): never => {
      throw new Error('no');
    };
    expect(() => chain(1, fail)).toThrow('no');
    await expect(chain(Promise.resolve(1), fail)).rejects.toThrow('no');
    await expect(chain(Promise.reject(new Error('lost')), () => 1)).rejects.toThrow('lost');
  });
});

import { describe, expect, it, vi } from 'vitest';
import { proceed } from '../../../lib/nest/http/proceed.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('going on', () => {
  it('is synchronous where the answer is there', () => {
    const next = vi.fn();
    proceed(() => true, next);
    expect(next.mock.calls).toEqual([[]]);
  });

  it('passes a thrown refusal on', () => {
    const next = vi.fn();
    const refusal = new Error('429');
    proceed(() => {
      throw refusal;
    }, next);
    expect(next.mock.calls).toEqual([[refusal]]);
  });

  it('waits for an answer that comes later', async () => {
    const next = vi.fn();
    proceed(() => Promise.resolve<true>(true), next);
    expect(next).not.toHaveBeenCalled();
    await settled();
    expect(next.mock.calls).toEqual([[]]);
  });

  it('passes a late refusal on', async () => {
    const next = vi.fn();
    const refusal = new Error('429');
    proceed(() => Promise.reject(refusal), next);
    await settled();
    expect(next.mock.calls).toEqual([[refusal]]);
  });

  it('D13 never goes on twice: what fails behind it is not taken for a refusal', () => {
    const next = vi.fn(() => {
      throw new Error('of the app');
    });
    expect(() => proceed(() => true, next)).toThrow('of the app');
    expect(next).toHaveBeenCalledTimes(1);
  });
});

import { describe, expect, it, vi } from 'vitest';
import { MemoryStore, type RateLimitOptions } from '../../../lib/index.js';
import { MailThrottle } from '../../../lib/nest/login/mail.throttle.js';
import { RateLimitRuntime } from '../../../lib/nest/rate-limit.runtime.js';
import type { Verdict } from '../../../lib/algorithms/verdict.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';

const CLIENT = '203.0.113.7';

function throttleOf(options: RateLimitOptions = {}): MailThrottle {
  const store = new MemoryStore({ clock: new FakeClock() });
  return new MailThrottle(new RateLimitRuntime({ store, audit: null, ...options }, {}));
}

describe('MailThrottle', () => {
  it('K11 where a mail can’t be counted none is sent', async () => {
    class Down extends MemoryStore {
      override consume(): Verdict[] {
        throw new Error('down');
      }
    }
    const send = vi.fn();
    await expect(throttleOf({ store: new Down() }).attempt('a', CLIENT, send)).rejects.toThrow('down');
    expect(send).not.toHaveBeenCalled();
  });

  it('waits for the sending', async () => {
    let sent = false;
    const ran = await throttleOf().attempt('a', CLIENT, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      sent = true;
    });
    expect([ran, sent]).toEqual([true, true]);
  });

  it('more than one mail at a time, where the app says so; one that failed leaves the others counted', async () => {
    const throttle = throttleOf({ login: { mails: { limit: 2, per: '1h' } } });
    const failing = () => {
      throw new Error('no mail server');
    };
    expect(await throttle.attempt('a', CLIENT, () => 1)).toBe(true);
    await expect(throttle.attempt('a', CLIENT, failing)).rejects.toThrow('no mail server');
    expect(await throttle.attempt('a', CLIENT, () => 1)).toBe(true);
    expect(await throttle.attempt('a', CLIENT, () => 1)).toBe(false);
  });

  it('what send gives back means nothing', async () => {
    const throttle = throttleOf();
    for (const [index, result] of [false, null, undefined, 0].entries()) {
      expect(await throttle.attempt(`a${index}`, CLIENT, () => result)).toBe(true);
      expect(await throttle.attempt(`a${index}`, CLIENT, () => result)).toBe(false);
    }
  });
});

import { describe, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import { ConfigSettings, RateLimitSettings, SafeSettings } from '../../../lib/nest/config/settings.js';

describe('the settings of @nestjs/config', () => {
  it('are the very object that ConfigService.set() changes', () => {
    const config: { perIp?: unknown } = {};
    const settings = new ConfigSettings(config);
    expect(settings.read().perIp).toBeUndefined();
    config.perIp = '5/1m';
    expect(settings.read().perIp).toBe('5/1m');
    expect(settings.read()).toBe(config);
  });
});

/** Settings over a source that answers what a test says next. */
function setup() {
  const events: RateLimitEvent[] = [];
  let next: () => unknown = () => ({});
  class Source extends RateLimitSettings {
    override read(): never {
      return next() as never;
    }
  }
  const settings = new SafeSettings(new Source(), (event) => events.push(event));
  return { settings, events, says: (answer: () => unknown) => void (next = answer) };
}

const fails = (error: unknown) => (): never => {
  throw error;
};

describe('settings that may fail', () => {
  it('are those of the source while it works', () => {
    const { settings, events, says } = setup();
    says(() => ({ perIp: '5/1m' }));
    expect(settings.read()).toEqual({ perIp: '5/1m' });
    says(() => ({ perIp: '6/1m', throttle: null }));
    expect(settings.read()).toEqual({ perIp: '6/1m', throttle: null });
    expect(events).toEqual([]);
  });

  it('P07 keep what was said last while the source fails, and say so once', () => {
    const { settings, events, says } = setup();
    says(() => ({ perIp: '5/1m' }));
    settings.read();
    says(fails(new Error('down')));
    for (let call = 0; call < 100; call++) expect(settings.read()).toEqual({ perIp: '5/1m' });
    expect(events).toEqual([{ type: 'invalid-setting', setting: 'settings', problem: 'read() threw Error' }]);
  });

  it('P07 are the defaults where the source never worked', () => {
    const { settings, says } = setup();
    says(fails(new Error('down')));
    expect(settings.read()).toEqual({});
  });

  it('say a new failure, and the same one again once it was over', () => {
    const { settings, events, says } = setup();
    for (const answer of [fails('a'), fails('a'), fails(new Error('b')), () => ({}), fails(new Error('b'))]) {
      says(answer);
      settings.read();
    }
    expect(events.map((event) => event.type === 'invalid-setting' && event.problem)).toEqual([
      'read() threw a string',
      'read() threw Error',
      'read() threw Error',
    ]);
  });

  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    ['600/1m', '"600/1m"'],
    [5, '5'],
  ])('P07 take %j of a source for a failure: what was said last holds', (answer, shown) => {
    const { settings, events, says } = setup();
    says(() => ({ perIp: '5/1m' }));
    settings.read();
    says(() => answer);
    expect(settings.read()).toEqual({ perIp: '5/1m' });
    expect(events).toMatchObject([{ problem: `read() returned ${shown}` }]);
  });

  it('a source that is async by mistake is said, and leaves no rejection behind', async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', note);
    try {
      const { settings, events, says } = setup();
      says(() => Promise.reject(new Error('too late')));
      expect(settings.read()).toEqual({});
      expect(events).toMatchObject([{ problem: 'read() returned a promise' }]);
      await new Promise((resolve) => setImmediate(resolve));
      expect(rejections).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('read getters of a class too, and take one that throws for a failure', () => {
    const { settings, events, says } = setup();
    class Live {
      limit: string | null = '5/1m';

      get perIp(): string {
        if (this.limit === null) throw new Error('no connection to db.internal');
        return this.limit;
      }
    }
    const live = new Live();
    says(() => live);
    expect(settings.read().perIp).toBe('5/1m');
    live.limit = null;
    expect(settings.read().perIp).toBe('5/1m');
    expect(events).toMatchObject([{ problem: 'read() threw Error' }]);
    live.limit = '6/1m';
    expect(settings.read().perIp).toBe('6/1m');
  });

  it.each([undefined, null, Symbol('x'), Object.create(null)])('survive whatever is thrown', (thrown) => {
    const { settings, events, says } = setup();
    says(fails(thrown));
    expect(settings.read()).toEqual({});
    expect(events).toHaveLength(1);
  });
});

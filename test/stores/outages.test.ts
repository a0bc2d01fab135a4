import { describe, expect, it } from 'vitest';
import { TollgateError } from '../../lib/errors.js';
import type { RateLimitEvent } from '../../lib/events/event.js';
import { ONLY_SERVER, Outages } from '../../lib/stores/outages.js';

const SECOND = 1_000_000;

/** Calls that end when the test says so. */
class Bench {
  readonly events: RateLimitEvent[] = [];
  /** As after days. */
  now = 500_000 * SECOND;
  readonly servers = new Set([ONLY_SERVER, 'a', 'b']);
  private readonly outages = new Outages(
    (event) => void this.events.push(event),
    () => this.now,
    (server) => this.servers.has(server),
  );

  /** Whether a call of a server that would succeed, or fail, is made at all. */
  async ask(fails: boolean, server: string = ONLY_SERVER): Promise<boolean> {
    const call = this.begin(server);
    if (call === null) return false;
    await call.end(fails);
    return true;
  }

  /** A call under way; null: the server isn't asked. */
  begin(server: string = ONLY_SERVER): { end(fails: boolean): Promise<void> } | null {
    let settle: (fails: boolean) => void = () => {};
    const promise = new Promise<void>((resolve, reject) => {
      settle = (fails) => (fails ? reject(failure()) : resolve());
    });
    let asked = false;
    const answer = Promise.resolve(
      this.outages.ask(server, () => {
        asked = true;
        return promise;
      }),
    ).catch(() => {});
    if (!asked) return null;
    return {
      end: async (fails) => {
        settle(fails);
        await answer;
      },
    };
  }

  fromMemory(): unknown {
    return this.outages.ask(ONLY_SERVER, () => 'remembered');
  }

  throwing(): unknown {
    return this.outages.ask(ONLY_SERVER, () => {
      throw failure();
    });
  }

  get types(): string[] {
    return this.events.map(({ type }) => type);
  }
}

function failure(): TollgateError {
  const cause = new Error('WRONGPASS invalid username-password pair secret');
  return new TollgateError('TOLLGATE_STORE_NOT_DONE', 'secret://user:pass@host', { cause });
}

async function down(bench: Bench, server: string = ONLY_SERVER): Promise<void> {
  for (let i = 0; i < 3; i++) expect(await bench.ask(true, server)).toBe(true);
  expect(await bench.ask(false, server)).toBe(false);
}

describe('an outage', () => {
  it('is no single failure: a call that succeeds in between begins the count anew', async () => {
    const bench = new Bench();
    for (let i = 0; i < 10; i++)
      for (const fails of [true, true, false]) expect(await bench.ask(fails)).toBe(true);
    expect(bench.events).toEqual([]);
  });

  it('is three failures in a row, told once, by codes and without a word of the error', async () => {
    const bench = new Bench();
    await down(bench);
    expect(bench.events).toEqual([{ type: 'store-down', problem: 'TOLLGATE_STORE_NOT_DONE: WRONGPASS' }]);
  });

  it('is not what fails at one moment: calls that were under way when it was noticed tell nothing new', async () => {
    const bench = new Bench();
    for (let moment = 1; moment <= 3; moment++) {
      expect(bench.events).toEqual([]);
      const calls = Array.from({ length: 50 }, () => bench.begin());
      bench.now += 100_000;
      for (const call of calls) await call?.end(true);
    }
    expect(bench.types).toEqual(['store-down']);
  });

  it('lets one call try every 300 ms; the others are not kept waiting for it', async () => {
    const bench = new Bench();
    await down(bench);
    for (let i = 0; i < 3; i++) {
      bench.now += 299_999;
      expect(bench.begin()).toBeNull();
      bench.now += 1;
      const trial = bench.begin();
      expect(trial).not.toBeNull();
      bench.now += 299_999;
      expect(bench.begin()).toBeNull();
      await trial?.end(true);
    }
    expect(bench.types).toEqual(['store-down']);
  });

  it('is tried again though a call that tries never ends', async () => {
    const bench = new Bench();
    await down(bench);
    for (let i = 0; i < 3; i++) {
      bench.now += 300_000;
      expect(bench.begin()).not.toBeNull();
      expect(bench.begin()).toBeNull();
    }
  });

  it('is tried again after the store has answered from memory', async () => {
    const bench = new Bench();
    await down(bench);
    bench.now += 300_000;
    expect(bench.fromMemory()).toBe('remembered');
    bench.now += 300_000;
    expect(await bench.ask(false)).toBe(true);
    expect(bench.types).toEqual(['store-down', 'store-up']);
  });

  it('is seen in calls that throw at once', async () => {
    const bench = new Bench();
    for (let i = 0; i < 3; i++) expect(() => bench.throwing()).toThrow('secret');
    expect(bench.types).toEqual(['store-down']);
    expect(await bench.ask(false)).toBe(false);
  });

  it('ends with a call that succeeds, told once with its length', async () => {
    const bench = new Bench();
    await down(bench);
    bench.now += 42 * SECOND;
    await bench.ask(false);
    expect(bench.events.slice(1)).toEqual([{ type: 'store-up', seconds: 42 }]);
    expect(await bench.ask(true)).toBe(true);
    expect(await bench.ask(true)).toBe(true);
    expect(bench.events).toHaveLength(2);
  });

  it('does not end with a call that began before it', async () => {
    const bench = new Bench();
    const early = bench.begin();
    bench.now += 1;
    await down(bench);
    await early?.end(false);
    expect(await bench.ask(false)).toBe(false);
    expect(bench.types).toEqual(['store-down']);
  });

  it('is not seen in what the store remembers', async () => {
    const bench = new Bench();
    for (let i = 0; i < 2; i++) {
      await bench.ask(true);
      expect(bench.fromMemory()).toBe('remembered');
    }
    expect(bench.types).toEqual([]);
    await bench.ask(true);
    expect(bench.types).toEqual(['store-down']);
  });
});

describe('servers of one store', () => {
  it('fall out one by one, told as one outage', async () => {
    const bench = new Bench();
    await down(bench, 'a');
    for (let i = 0; i < 100; i++) {
      bench.now += 10_000;
      expect(await bench.ask(false, 'b')).toBe(true);
      await bench.ask(true, 'a');
    }
    await down(bench, 'b');
    expect(bench.types).toEqual(['store-down']);
    bench.now += SECOND;
    await bench.ask(false, 'a');
    expect(bench.types).toEqual(['store-down']);
    await bench.ask(false, 'b');
    expect(bench.types).toEqual(['store-down', 'store-up']);
  });

  it('are forgotten when another has their place', async () => {
    const bench = new Bench();
    await down(bench, 'a');
    bench.now += SECOND;
    await bench.ask(false, 'b');
    expect(bench.types).toEqual(['store-down']);
    bench.servers.delete('a');
    bench.now += 300_000;
    await bench.ask(false, 'b');
    expect(bench.types).toEqual(['store-down', 'store-up']);
  });

  it('are reached again when one is: the missing connection is over', async () => {
    const bench = new Bench();
    await down(bench);
    bench.servers.delete(ONLY_SERVER);
    await bench.ask(false, 'a');
    expect(bench.types).toEqual(['store-down', 'store-up']);
  });
});

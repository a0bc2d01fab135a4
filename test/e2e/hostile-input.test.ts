import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryStore, type Bucket, type Verdict } from '../../lib/index.js';
import { ADAPTERS, startApp } from './support/app.js';
import { exchange, send, statusOf, via } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

const REQUESTS = 2_000;
const AT_ONCE = 50;
const VICTIM = '203.0.113.50';

/** Numbers that look random and are the same in each run (xorshift). */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return Math.abs(state) % below;
  };
}

const SENT = [
  'x-forwarded-for',
  'X-Real-IP',
  'forwarded',
  'origin',
  'access-control-request-method',
  'content-type',
  'authorization',
  'cookie',
  'user-agent',
  'expect',
  'upgrade',
];
const METHODS = ['GET', 'POST', 'HEAD', 'OPTIONS', 'DELETE', 'PURGE', 'BREW'];
const PATHS = ['/', '/nope', '//', '/%zz', '/%00', '/a?b=%', '*', '/\u00e9', '/..;/x', '/__proto__'];
const ITEMS = [
  '127.0.0.1',
  '::1',
  '::ffff:198.51.100.9%eth0',
  '203.0.113.50:99999',
  '010.0.0.1',
  '[2001:db8::1',
  'unknown',
  '__proto__',
  'constructor',
  'undefined',
  '1e9',
];

/** A request of bytes: some of it as a client would send it, all of it meant badly. */
function hostileRequest(random: (below: number) => number): Buffer {
  const bytes = (length: number): string =>
    Array.from({ length }, () => String.fromCharCode(random(256))).join('');
  const value = (): string => {
    const kind = random(4);
    if (kind === 0) return bytes(random(60));
    if (kind === 1) return ITEMS[random(ITEMS.length)];
    // The victim is never named by the hop that is vouched for, only in front of it.
    if (kind === 2) return `${VICTIM}, ${bytes(random(10)).replaceAll(/[\r\n\0,]/g, '')}x`;
    const items = Array.from({ length: random(40) }, () => ITEMS[random(ITEMS.length)]);
    return [VICTIM, ...items, '127.0.0.1x'].join(', ');
  };
  const lines = Array.from({ length: random(8) }, () => `${SENT[random(SENT.length)]}: ${value()}`);
  const head = `${METHODS[random(METHODS.length)]} ${PATHS[random(PATHS.length)]} HTTP/1.1`;
  return Buffer.from([head, 'host: x', 'connection: close', ...lines, '', ''].join('\r\n'), 'latin1');
}

class Watched extends MemoryStore {
  readonly keys = new Map<string, number>();

  override consume(buckets: readonly Bucket[]): Verdict[] {
    for (const { key } of buckets) this.keys.set(key, (this.keys.get(key) ?? 0) + 1);
    return super.consume(buckets);
  }
}

checkNestVersion();

describe.each(ADAPTERS)('2,000 hostile requests on %s', (adapter) => {
  const problems: unknown[] = [];
  const note = (problem: unknown): void => void problems.push(problem);
  beforeEach(() => {
    problems.length = 0;
    process.on('unhandledRejection', note).on('uncaughtExceptionMonitor', note);
  });
  afterEach(() => {
    process.off('unhandledRejection', note).off('uncaughtExceptionMonitor', note);
  });

  it.each([
    ['from a client', undefined],
    ['through a trusted proxy', ['127.0.0.1']],
  ])(
    '%s are answered, never 5xx, and cost nobody else anything',
    async (_name, trustedProxies) => {
      const store = new Watched();
      const running = await startApp(adapter, {
        rateLimit: {
          perIp: { limit: 600, per: '24h' },
          store,
          ...(trustedProxies === undefined ? {} : { trustedProxies }),
        },
        enableCors: { origin: true },
      });
      const random = randomNumbers(20_260_729);
      const seen = new Map<number, number>();
      let sent = 0;
      const client = async (): Promise<void> => {
        while (sent < REQUESTS) {
          sent += 1;
          const request = hostileRequest(random);
          const status = statusOf(await exchange(running, request, 5_000));
          seen.set(status, (seen.get(status) ?? 0) + 1);
          if (status >= 500) throw new Error(`${status}: ${JSON.stringify(request.toString('latin1'))}`);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, client));
      expect(problems).toEqual([]);
      // Many got as far as the limit, or this proves nothing.
      const counted = [...store.keys.values()].reduce((sum, count) => sum + count, 0);
      expect(counted).toBeGreaterThan(200);
      expect([...seen.keys()]).toEqual(expect.arrayContaining([400, 404]));
      // Peers, and what a trusted proxy may say: the few addresses that are any among what was sent.
      const networks = new Set(['127.0.0.1', '::/64', '198.51.100.9']);
      if (trustedProxies === undefined) expect([...store.keys.keys()]).toEqual(['127.0.0.1']);
      else expect([...store.keys.keys()].filter((key) => !networks.has(key))).toEqual([]);
      expect(store.size).toBeLessThanOrEqual(networks.size);
      // And the app still works, for another client too.
      const other = await send(running, '/nope', { ...via('198.51.100.1'), from: '127.0.0.9' });
      expect([other.status, other.headers['ratelimit-remaining']]).toEqual([404, '599']);
      if (trustedProxies === undefined) return;
      const victim = await send(running, '/nope', via(VICTIM));
      expect([victim.status, victim.headers['ratelimit-remaining']]).toEqual([404, '599']);
    },
    60_000,
  );

  it('an attacker that names a victim in front of its own address spends its own allowance', async () => {
    const store = new MemoryStore();
    const running = await startApp(adapter, {
      rateLimit: { perIp: { limit: 3, per: '24h' }, store, trustedProxies: ['127.0.0.1'] },
    });
    const answers: number[] = [];
    for (let sent = 0; sent < 10; sent++) {
      const { status } = await send(running, '/', via(`${VICTIM}, 198.51.100.7`));
      answers.push(status);
    }
    expect(answers).toEqual([404, 404, 404, 429, 429, 429, 429, 429, 429, 429]);
    expect((await send(running, '/', via(VICTIM))).headers['ratelimit-remaining']).toBe('2');
  });
});

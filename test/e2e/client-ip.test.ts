import { mkdtempSync, rmSync } from 'node:fs';
import { request as open, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Controller,
  Get,
  Module,
  Req,
  type INestApplication,
  type MiddlewareConsumer,
  type NestModule,
} from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  ClientIp,
  clientIpOf,
  MemoryStore,
  RateLimitStore,
  type Bucket,
  type BucketName,
  type LeaseCall,
  type LeaseReply,
  type MaybePromise,
  type RateLimitOptions,
  type Refund,
  type Verdict,
} from '../../lib/index.js';
import { ADAPTERS, startApp, type RunningApp } from './support/app.js';
import { send, statuses, via } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

type Request = Parameters<typeof clientIpOf>[0];

@Controller()
class WhoAmI {
  @Get('whoami')
  whoami(@ClientIp() ip: string | null, @Req() request: Request): object {
    return { ip, of: clientIpOf(request), ofRaw: clientIpOf(request.raw ?? request) };
  }
}

const PER_IP = { limit: 2, per: '1m' };
const PROXY = ['127.0.0.1'];

/** How many clients the server still has. */
function connections(running: RunningApp): Promise<number> {
  return new Promise((resolve, reject) => {
    const server: Server = running.app.getHttpServer();
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}

checkNestVersion();

describe.each(ADAPTERS)('client addresses on %s', (adapter) => {
  const start = (rateLimit: RateLimitOptions, listen?: { host: string } | { path: string }) =>
    startApp(adapter, { controllers: [WhoAmI], rateLimit, ...(listen === undefined ? {} : { listen }) });

  it('A01 a mapped and a plain address are one client, two IPv4 clients are two', async () => {
    const store = new MemoryStore();
    const dual = await start({ perIp: PER_IP, store }, { host: '::' });
    const plain = await start({ perIp: PER_IP, store });
    expect(await statuses(dual, '/nope', 3)).toEqual([404, 404, 429]);
    expect(await statuses(dual, '/nope', 1, { from: '127.0.0.2' })).toEqual([404]);
    expect(await statuses(plain, '/nope', 1)).toEqual([429]);
    const { body } = await send(dual, '/whoami', { from: '127.0.0.2' });
    expect(JSON.parse(body)).toMatchObject({ ip: '127.0.0.2' });
  });

  it('a peer over IPv6 is counted by its network', async () => {
    const store = new MemoryStore();
    const dual = await start({ perIp: PER_IP, store }, { host: '::' });
    expect(await statuses(dual, '/nope', 3, { host: '::1' })).toEqual([404, 404, 429]);
    expect(await statuses(dual, '/nope', 1)).toEqual([404]);
    expect(store.size).toBe(2);
  });

  it('A03 an IPv6 client is its /64', async () => {
    const running = await start({ perIp: { limit: 3, per: '1m' }, trustedProxies: PROXY });
    const answers: number[] = [];
    for (const host of ['1', '2', '3', '4']) {
      answers.push(...(await statuses(running, '/', 1, via(`2001:db8:5:6::${host}`))));
    }
    expect(answers).toEqual([404, 404, 404, 429]);
    expect(await statuses(running, '/', 1, via('2001:db8:5:7::1'))).toEqual([404]);
  });

  it.each([
    [48, [404, 404, 404, 429]],
    [undefined, [404, 404, 404, 404]],
  ])('A04 or a wider network: ipv6Prefix %s', async (ipv6Prefix, expected) => {
    const running = await start({
      perIp: { limit: 3, per: '1m' },
      trustedProxies: PROXY,
      ...(ipv6Prefix === undefined ? {} : { ipv6Prefix }),
    });
    const answers: number[] = [];
    for (const subnet of ['0', '1', '2', '3']) {
      answers.push(...(await statuses(running, '/', 1, via(`2001:db8:5:${subnet}::1`))));
    }
    expect(answers).toEqual(expected);
  });

  it('A05 every spelling of an address is one client, and handlers see one text', async () => {
    const running = await start({ perIp: PER_IP, trustedProxies: PROXY });
    const seen: unknown[] = [];
    for (const address of ['2001:DB8::1', '2001:db8::1']) {
      const { status, body } = await send(running, '/whoami', via(address));
      seen.push(status, JSON.parse(body));
    }
    const same = { ip: '2001:db8::1', of: '2001:db8::1', ofRaw: '2001:db8::1' };
    expect(seen).toEqual([200, same, 200, same]);
    const long = '2001:0db8:0000:0000:0000:0000:0000:0001';
    expect(await statuses(running, '/whoami', 1, via(long))).toEqual([429]);
  });

  it('SB-43 from a listed proxy the right-most address that is no proxy counts, else X-Real-IP', async () => {
    const running = await start({ trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] });
    const ip = async (headers: Record<string, string | string[]>): Promise<unknown> =>
      JSON.parse((await send(running, '/whoami', { headers })).body).ip;
    expect(await ip({ 'x-forwarded-for': '203.0.113.1, 198.51.100.7, 10.0.0.4' })).toBe('198.51.100.7');
    expect(await ip({ 'x-real-ip': '198.51.100.9' })).toBe('198.51.100.9');
    expect(await ip({})).toBe('127.0.0.1');
    // B08 Repeated lines are one list, in their order.
    expect(await ip({ 'x-forwarded-for': ['192.0.2.66', '198.51.100.7'] })).toBe('198.51.100.7');
  });

  it('SB-49 trustProxy believes the right-most entry of any peer', async () => {
    const running = await start({ trustProxy: true });
    const { body } = await send(running, '/whoami', {
      headers: { 'x-forwarded-for': '192.0.2.66, 198.51.100.7' },
      from: '127.0.0.9',
    });
    expect(JSON.parse(body).ip).toBe('198.51.100.7');
    // Who asked for it is not warned about it.
    expect(running.log.own('warn').filter((line) => line.includes('ignored'))).toEqual([]);
  });

  describe('A12 on a Unix socket', () => {
    let folder = '';
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'socket-'));
    });
    afterAll(() => {
      rmSync(folder, { recursive: true });
    });

    it('nobody has an address: all share one bucket, with one warning and no failure', async () => {
      const store = new MemoryStore();
      const running = await start({ perIp: PER_IP, store }, { path: join(folder, `a-${adapter}`) });
      const first = await send(running, '/whoami', via('198.51.100.1'));
      expect(JSON.parse(first.body)).toEqual({ ip: null, of: null, ofRaw: null });
      expect(await statuses(running, '/nope', 1, via('198.51.100.2'))).toEqual([404]);
      expect(await statuses(running, '/nope', 2, via('198.51.100.3'))).toEqual([429, 429]);
      expect(store.size).toBe(1);
      const warnings = running.log.own('warn');
      expect(warnings.filter((line) => line.includes('without a client address'))).toHaveLength(1);
      expect(warnings.join()).toContain("'unix' in trustedProxies");
    });

    it("with 'unix' listed, the proxy behind it names its clients", async () => {
      const running = await start(
        { perIp: PER_IP, trustedProxies: ['unix'] },
        { path: join(folder, `b-${adapter}`) },
      );
      expect(await statuses(running, '/nope', 3, via('198.51.100.1'))).toEqual([404, 404, 429]);
      expect(await statuses(running, '/nope', 1, via('198.51.100.2'))).toEqual([404]);
      expect(running.log.own('warn')).toEqual([]);
    });
  });

  describe('A13', () => {
    const problems: unknown[] = [];
    const note = (problem: unknown): void => void problems.push(problem);
    beforeEach(() => {
      problems.length = 0;
      process.on('unhandledRejection', note);
    });
    afterEach(() => {
      process.off('unhandledRejection', note);
    });

    it('clients that leave before the store answered are counted as themselves', async () => {
      const asked: Bucket[] = [];
      let gone = (): void => undefined;
      const gate = new Promise<void>((resolve) => (gone = resolve));
      class SlowStore extends RateLimitStore {
        private readonly memory = new MemoryStore();

        override async consume(buckets: readonly Bucket[]): Promise<Verdict[]> {
          asked.push(...buckets);
          await gate;
          return this.memory.consume(buckets);
        }

        override peek(buckets: readonly Bucket[]): Verdict[] {
          return this.memory.peek(buckets);
        }

        override charge(buckets: readonly Bucket[]): Verdict[] {
          return this.memory.charge(buckets);
        }

        override refund(refunds: readonly Refund[]): MaybePromise<void> {
          this.memory.refund(refunds);
        }

        override clear(names: readonly BucketName[]): MaybePromise<void> {
          this.memory.clear(names);
        }

        override lease(calls: readonly LeaseCall[]): LeaseReply[] {
          return this.memory.lease(calls);
        }

        override close(): void {
          this.memory.close();
        }
      }
      const running = await start({ perIp: { limit: 30, per: '24h' }, store: new SlowStore() });
      const leaving = Array.from({ length: 20 }, () => {
        const sent = open({ port: running.port, host: '127.0.0.1', path: '/nope', agent: false });
        sent.on('error', () => undefined).end();
        return sent;
      });
      await vi.waitUntil(() => asked.length === 20);
      for (const sent of leaving) sent.destroy();
      await vi.waitUntil(async () => (await connections(running)) === 0);
      gone();
      const { headers } = await send(running, '/nope');
      expect(headers['ratelimit-remaining']).toBe('9');
      expect(new Set(asked.map(({ key }) => key))).toEqual(new Set(['127.0.0.1']));
      expect(problems).toEqual([]);
    });
  });

  it('B03 headers of a peer that is not listed mean nothing', async () => {
    for (const trustedProxies of [['10.0.0.0/8'], undefined]) {
      const running = await start({
        perIp: PER_IP,
        ...(trustedProxies === undefined ? {} : { trustedProxies }),
      });
      const answers: number[] = [];
      for (const client of ['1', '2', '3']) {
        const headers = { 'x-forwarded-for': `203.0.113.${client}`, 'x-real-ip': `203.0.113.${client}` };
        const { status, body } = await send(running, '/whoami', { headers, from: '127.0.0.9' });
        answers.push(status);
        if (status === 200) expect(JSON.parse(body).ip).toBe('127.0.0.9');
      }
      expect(answers).toEqual([200, 200, 429]);
    }
  });

  it('B06 an allow-list sees the resolved client, never header text or the proxy', async () => {
    const allowed = new Set(['127.0.0.1', '203.0.113.35']);
    const running = await start({
      perIp: PER_IP,
      trustedProxies: PROXY,
      skipIf: ({ address }) => address !== null && allowed.has(address),
    });
    expect(await statuses(running, '/', 3, via('127.0.0.1, 198.51.100.7'))).toEqual([404, 404, 429]);
    expect(await statuses(running, '/', 3, via('203.0.113.35, 198.51.100.8'))).toEqual([404, 404, 429]);
    expect(await statuses(running, '/', 3, via('203.0.113.35'))).toEqual([404, 404, 404]);
  });

  it('B10 clientIpHeader names the one header that the proxy sets', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.66', 'x-real-ip': '198.51.100.7' };
    for (const [clientIpHeader, ip] of [
      ['x-real-ip', '198.51.100.7'],
      ['X-Real-IP', '198.51.100.7'],
      [undefined, '192.0.2.66'],
    ] as const) {
      const running = await start({
        trustedProxies: PROXY,
        ...(clientIpHeader === undefined ? {} : { clientIpHeader }),
      });
      expect(JSON.parse((await send(running, '/whoami', { headers })).body).ip).toBe(ip);
    }
  });

  it("B11 a vendor's header is believed from that vendor's addresses only", async () => {
    const running = await start({
      perIp: PER_IP,
      trustedProxies: PROXY,
      clientIpHeader: 'cf-connecting-ip',
    });
    const answers: number[] = [];
    for (const client of ['1', '2', '3']) {
      const headers = { 'cf-connecting-ip': `203.0.113.${client}` };
      answers.push(...(await statuses(running, '/', 1, { headers, from: '127.0.0.9' })));
    }
    expect(answers).toEqual([404, 404, 429]);
    const named = await send(running, '/whoami', { headers: { 'cf-connecting-ip': '203.0.113.4' } });
    expect(JSON.parse(named.body).ip).toBe('203.0.113.4');
    const unset = await start({ trustedProxies: PROXY });
    const ignored = await send(unset, '/whoami', { headers: { 'cf-connecting-ip': '203.0.113.4' } });
    expect(JSON.parse(ignored.body).ip).toBe('127.0.0.1');
  });

  it('B12 an unknown proxy is one client, and one warning tells how to trust it', async () => {
    const store = new MemoryStore();
    const running = await start({ perIp: { limit: 150, per: '24h' }, store });
    const passed: number[] = [];
    for (let sent = 0; sent < 200; sent++) {
      const client = `203.0.113.${sent % 100}`;
      passed.push(...(await statuses(running, '/', 1, { ...via(client), from: '127.0.0.9' })));
    }
    expect(passed.filter((status) => status === 404)).toHaveLength(150);
    expect(store.size).toBe(1);
    const warnings = running.log.own('warn').filter((line) => line.includes('trustedProxies'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('127.0.0.9');
    expect(JSON.stringify(running.log.all)).not.toContain('203.0.113.');
  });

  it('B17 long headers cost little and make no long keys', async () => {
    const keys: string[] = [];
    class Watched extends MemoryStore {
      override consume(buckets: readonly Bucket[]): Verdict[] {
        keys.push(...buckets.map(({ key }) => key));
        return super.consume(buckets);
      }
    }
    const running = await start({ store: new Watched(), trustedProxies: [...PROXY, '10.0.0.0/8'] });
    for (const text of [
      Array.from({ length: 1000 }, (_, index) => `203.0.113.${index % 250}`).join(','),
      'x'.repeat(15_000),
      Array.from({ length: 1400 }, () => '10.1.1.1').join(','),
      ','.repeat(15_000),
    ]) {
      expect(await statuses(running, '/', 1, via(text))).toEqual([404]);
    }
    expect(keys).toHaveLength(4);
    for (const key of keys) expect(key.length).toBeLessThanOrEqual(43);
    expect(keys[1]).toBe('127.0.0.1');
  });

  it('P09 a User-Agent exempts nobody', async () => {
    const running = await start({ perIp: PER_IP });
    const googlebot = { headers: { 'user-agent': 'Googlebot/2.1', referer: 'https://google.com' } };
    expect(await statuses(running, '/', 3, googlebot)).toEqual([404, 404, 429]);
  });

  it("the address is there in an app's own middleware, and null for a request never seen", async () => {
    const seen: unknown[] = [];
    @Module({})
    class Logging implements NestModule {
      configure(consumer: MiddlewareConsumer): void {
        consumer
          .apply((request: Request, _response: unknown, next: () => void) => {
            seen.push(clientIpOf(request));
            next();
          })
          .forRoutes('{*splat}');
      }
    }
    const running = await startApp(adapter, {
      imports: [Logging],
      controllers: [WhoAmI],
      rateLimit: { trustedProxies: PROXY, perIp: null },
      main: (app: INestApplication) => app.enableCors(),
    });
    expect(await statuses(running, '/whoami', 1, via('198.51.100.7'))).toEqual([200]);
    expect(seen).toEqual(['198.51.100.7']);
    expect(clientIpOf({ headers: {}, socket: { remoteAddress: '198.51.100.7' } })).toBeNull();
  });
});

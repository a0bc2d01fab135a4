import { Agent } from 'node:http';
import type { ServerResponse } from 'node:http';
import { Controller, Get, type ExecutionContext, type INestApplication } from '@nestjs/common';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AuditSink, MemoryStore, Throttle, type AuditEntry, type RateLimitOptions } from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp, type RunningApp } from './support/app.js';
import { send, statuses, via } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

const CLIENT = '203.0.113.7';
const START = Date.UTC(2026, 0, 1);
const ONE = { limit: 1, per: '1h' };

@Controller()
class Routes {
  @Get('throttled')
  @Throttle({ limit: 1, per: '1h' })
  throttled(): string {
    return 'ok';
  }

  @Get('tried-out')
  @Throttle({ limit: 1, per: '1h', dryRun: true })
  triedOut(): string {
    return 'ok';
  }
}

class Rows extends AuditSink {
  readonly rows: AuditEntry[] = [];

  override write(entry: AuditEntry): void {
    this.rows.push(entry);
  }
}

function identify(context: ExecutionContext): string | undefined {
  return context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>().headers[
    'x-user'
  ];
}

checkNestVersion();

describe.each(ADAPTERS)('the audit trail on %s', (adapter) => {
  async function start(
    options: RateLimitOptions,
    main?: (app: INestApplication) => void,
  ): Promise<RunningApp & { clock: FakeClock }> {
    const clock = new FakeClock();
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: {
        trustedProxies: ['127.0.0.1'],
        perIp: { limit: 3, per: '1h' },
        identify,
        store: new MemoryStore({ clock }),
        ...options,
      },
      ...(main !== undefined && { main }),
    });
    return { ...running, clock };
  }

  /** Sends in parallel, over few connections; the answers' statuses, each with how often. */
  async function flood(
    running: RunningApp,
    path: string,
    clients: readonly string[],
  ): Promise<Record<number, number>> {
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    onTestFinished(() => agent.destroy());
    const counts: Record<number, number> = {};
    await Promise.all(
      clients.map(async (client) => {
        const { status } = await send(running, path, { agent, ...via(client) });
        counts[status] = (counts[status] ?? 0) + 1;
      }),
    );
    return counts;
  }

  it('P06, SB-14 2,000 refusals of a client in two minutes are two rows', async () => {
    const audit = new Rows();
    const running = await start({ audit, perIp: ONE });
    expect(await statuses(running, '/nope', 1, via(CLIENT))).toEqual([404]);
    for (let minute = 0; minute < 2; minute++) {
      expect(await flood(running, '/nope', Array<string>(1_000).fill(CLIENT))).toEqual({ 429: 1_000 });
      running.clock.advance('1m');
    }
    expect(audit.rows.map(({ at }) => at)).toEqual([START, START + 60_000]);
  });

  it('SB-14, SB-30 a row says who was refused, by what, and for how long', async () => {
    const audit = new Rows();
    const running = await start({ audit });
    const ada = { headers: { 'x-forwarded-for': '2001:db8:1:2:3::4', 'x-user': 'ada' } };
    expect(await statuses(running, '/throttled', 2, ada)).toEqual([200, 429]);
    // Another address of the same network, in the same minute.
    expect(await statuses(running, '/throttled', 3, via('2001:db8:1:2:9::9'))).toEqual([200, 429, 429]);
    expect(await statuses(running, '/nope', 4, via(CLIENT))).toEqual([404, 404, 404, 429]);
    running.clock.advance('1m');
    expect(await statuses(running, '/throttled', 1, ada)).toEqual([429]);
    const row = { action: 'http.rate_limited', at: START };
    const six = { ip: '2001:db8:1:2:3::4', network: '2001:db8:1:2::/64' };
    const route = { limit: 'route', policy: 'GET /throttled', retryAfter: 3600, dryRun: false };
    const ip = { limit: 'ip', policy: 'per-ip', dryRun: false };
    expect(audit.rows).toEqual([
      { ...row, ...six, user: 'ada', details: route },
      { ...row, ip: CLIENT, network: CLIENT, user: null, details: { ...ip, retryAfter: 1200 } },
      { ...row, ...six, at: START + 60_000, user: null, details: { ...ip, retryAfter: 1140 } },
    ]);
  });

  it('is by default one line of JSON per row in the log, whatever a user is called', async () => {
    const running = await start({});
    const eve = { headers: { 'x-forwarded-for': CLIENT, 'x-user': 'eve\u009b2J"\u00e9' } };
    expect(await statuses(running, '/throttled', 3, eve)).toEqual([200, 429, 429]);
    await running.app.close();
    const lines = running.log.all.filter(({ context }) => context === 'RateLimitAudit');
    expect(lines).toHaveLength(1);
    const [{ level, message }] = lines;
    expect(level).toBe('log');
    expect(message).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(message)).toEqual({
      action: 'http.rate_limited',
      at: START,
      ip: CLIENT,
      network: CLIENT,
      user: 'eve\u009b2J"\u00e9',
      details: { limit: 'route', policy: 'GET /throttled', retryAfter: 3600, dryRun: false },
    });
  });

  it('null turns it off, and only it', async () => {
    const running = await start({ audit: null });
    expect(await statuses(running, '/throttled', 2, via(CLIENT))).toEqual([200, 429]);
    await running.app.close();
    expect(running.log.all.filter(({ context }) => context === 'RateLimitAudit')).toEqual([]);
    expect(running.log.every('warn')).toHaveLength(1);
  });

  it('what a limit on trial would have refused has a row that says so, and hides no refusal', async () => {
    const audit = new Rows();
    const running = await start({ audit });
    expect(await statuses(running, '/tried-out', 3, via(CLIENT))).toEqual([200, 200, 200]);
    expect(await statuses(running, '/tried-out', 2, via(CLIENT))).toEqual([429, 429]);
    expect(audit.rows.map(({ details }) => details)).toMatchObject([
      { limit: 'route', policy: 'GET /tried-out', dryRun: true },
      { limit: 'ip', policy: 'per-ip', dryRun: false },
    ]);
  });

  it('a sink that throws, rejects or never settles touches no request, and is told once', async () => {
    const handed: string[] = [];
    class Failing extends AuditSink {
      override write({ network }: AuditEntry): void | Promise<void> {
        handed.push(network);
        if (network.endsWith('.1')) throw new Error('disk\nfull');
        if (network.endsWith('.2')) return Promise.reject(new Error('no database'));
        // No error at all: what JavaScript may throw.
        if (network.endsWith('.3')) return Promise.reject(Object.create(null));
        return new Promise(() => {});
      }
    }
    const running = await start({ audit: new Failing(), perIp: ONE });
    const clients = [1, 1, 2, 2, 3, 3, 4, 4].map((last) => `198.51.100.${last}`);
    for (const client of clients) {
      const started = performance.now();
      const answers = [];
      for (let sent = 0; sent < 2; sent++) answers.push(await send(running, '/nope', via(client)));
      expect(performance.now() - started).toBeLessThan(1_000);
      expect(answers.at(-1)).toMatchObject({ status: 429, headers: { 'retry-after': '3600' } });
    }
    await vi.waitFor(() => expect(handed).toHaveLength(4));
    const warnings = running.log.own('warn').filter((line) => line.startsWith('audit: '));
    // Once per kind: the third says something else, which could be something new every time.
    expect(warnings).toEqual([
      'audit: the sink threw disk\\u{a}full',
      'audit: the sink rejected with no database',
    ]);
  });

  it('a sink that blocks gets its row when the answer is out', async () => {
    const order: string[] = [];
    class Blocking extends AuditSink {
      override write(): void {
        const until = performance.now() + 200;
        while (performance.now() < until);
        order.push('written');
      }
    }
    const running = await start({ audit: new Blocking(), perIp: ONE }, (app) => {
      app.getHttpServer().on('request', (_request: unknown, response: ServerResponse) => {
        response.on('finish', () => order.push(`answered ${response.statusCode}`));
      });
    });
    expect(await statuses(running, '/nope', 3, via(CLIENT))).toEqual([404, 429, 429]);
    await vi.waitFor(() => expect(order).toContain('written'));
    expect(order).toEqual(['answered 404', 'answered 429', 'written', 'answered 429']);
  });

  it('a sink that never settles holds a thousand rows at most', async () => {
    const handed: AuditEntry[] = [];
    class Never extends AuditSink {
      override write(entry: AuditEntry): Promise<void> {
        handed.push(entry);
        return new Promise(() => {});
      }
    }
    const running = await start({ audit: new Never(), perIp: ONE });
    const clients = Array.from({ length: 1_100 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    expect(await flood(running, '/nope', clients)).toEqual({ 404: 1_100 });
    expect(await flood(running, '/nope', clients)).toEqual({ 429: 1_100 });
    await vi.waitFor(() =>
      expect(running.log.own('warn').filter((line) => line.startsWith('audit: '))).toEqual([
        expect.stringMatching(/^audit: the sink is too slow: more than 1000 rows/),
      ]),
    );
    expect(handed).toHaveLength(1_000);
  });
});

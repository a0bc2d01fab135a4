import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { describe, expect, it } from 'vitest';
import {
  AuditSink,
  MemoryStore,
  RateLimitEvents,
  RateLimitException,
  Throttle,
  type AuditEntry,
  type Call,
} from '../../lib/index.js';
import { HttpLimits } from '../../lib/nest/http/http-limits.js';
import { ThrottleEnforcer } from '../../lib/nest/throttle/throttle.enforcer.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, failedBoot, startApp } from './support/app.js';
import { send, statuses, via } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

@Controller()
class Routes {
  @Get('throttled')
  @Throttle({ limit: 1, per: '24h' })
  throttled(): string {
    return 'ok';
  }
}

/** Counts, and keeps nothing else. */
class Counting extends AuditSink {
  rows = 0;
  readonly minutes = new Set<number>();

  override write({ at }: AuditEntry): void {
    this.rows++;
    this.minutes.add(Math.floor(at / 60_000));
  }
}

/** Without an answer to make: what a request costs the limiter alone. */
class SilentResponse {
  readonly headersSent = false;
  readonly statusCode = 200;
  private readonly lines = new Map<string, string>();

  getHeader(name: string): string | undefined {
    return this.lines.get(name);
  }

  setHeader(name: string, value: string): void {
    this.lines.set(name, value);
  }

  once(): void {}

  removeHeader(name: string): void {
    this.lines.delete(name);
  }
}

function collectGarbage(): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
  return process.memoryUsage().heapUsed;
}

const NETWORKS = 200;
const SECONDS = 125;
const PER_SECOND = 800;

checkNestVersion();

describe.each(ADAPTERS)('a flood of refusals on %s', (adapter) => {
  it(
    'P06 of 100,000 fills neither log, audit trail nor heap, and every one is an event',
    { timeout: 60_000 },
    async () => {
      const clock = new FakeClock();
      const audit = new Counting();
      const { app, log } = await startApp(adapter, {
        controllers: [Routes],
        rateLimit: { perIp: { limit: 1, per: '24h' }, audit, store: new MemoryStore({ clock }) },
      });
      const limits = app.get(HttpLimits);
      const enforcer = app.get(ThrottleEnforcer);
      const counts = { ip: 0, route: 0 };
      app.get(RateLimitEvents).all$.subscribe((event) => {
        if (event.type !== 'refusal') return;
        if (event.limit === 'ip' || event.limit === 'route') counts[event.limit]++;
      });

      let refused = 0;
      const refusal = (step: () => unknown): void => {
        try {
          void step();
        } catch (error) {
          if (!(error instanceof RateLimitException)) throw error;
          refused++;
        }
      };
      const request = (index: number) => ({
        headers: { 'user-agent': `bot ${index}` },
        socket: { remoteAddress: `10.0.0.${index % NETWORKS}` },
      });
      /** Half of them meet the per-IP limit, half, as if it were off, the throttle. */
      const call = (index: number): void => {
        const [asked, response] = [request(index >> 1), new SilentResponse()];
        if (index % 2 === 0) return refusal(() => limits.onRequest(asked, response));
        const context = new ExecutionContextHost([asked, response], Routes, Routes.prototype.throttled);
        return refusal(() => enforcer.enforce(context, 'global'));
      };
      for (let index = 0; index < 2 * NETWORKS; index++) call(index);
      expect(refused).toBe(0);
      log.all.length = 0;

      const before = collectGarbage();
      let lines = 0;
      for (let second = 0; second < SECONDS; second++) {
        for (let index = 0; index < PER_SECOND; index++) call(index);
        await turn();
        const own = log.every('warn');
        for (const text of ['per-IP rate limit', 'route throttle']) {
          expect(own.filter((line) => line.startsWith(text)).length).toBeLessThanOrEqual(11);
        }
        lines += log.all.length;
        log.all.length = 0;
        clock.advance('1s');
      }
      const growth = (collectGarbage() - before) / 1e6;

      expect(refused).toBe(SECONDS * PER_SECOND);
      expect(counts).toEqual({ ip: refused / 2, route: refused / 2 });
      expect(audit.rows).toBe(NETWORKS * audit.minutes.size);
      expect(audit.minutes.size).toBe(3);
      expect(lines).toBeGreaterThanOrEqual(SECONDS * 20);
      expect(lines).toBeLessThanOrEqual(SECONDS * 22);
      expect(growth).toBeLessThan(20);
    },
  );
});

describe.each(ADAPTERS)('a bot on %s', (adapter) => {
  it('P09 is refused whoever it says it is: only what the server knows exempts', async () => {
    const asked: Call[] = [];
    const running = await startApp(adapter, {
      rateLimit: {
        perIp: { limit: 1, per: '1h' },
        trustedProxies: ['127.0.0.1'],
        skipIf: (call) => {
          asked.push(call);
          return call.address === '192.0.2.9';
        },
      },
    });
    const names = ['Googlebot/2.1 (+http://www.google.com/bot.html)', 'bingbot', '', 'kube-probe/1.30'];
    for (const [index, name] of names.entries()) {
      const sent = {
        headers: { ...via('203.0.113.7').headers, 'user-agent': name, referer: 'http://localhost/' },
      };
      const { status } = await send(running, '/', sent);
      expect([name, status]).toEqual([name, index === 0 ? 404 : 429]);
    }
    // The proxy's entry counts, not what the client put before it.
    expect(await statuses(running, '/', 3, via('192.0.2.9'))).toEqual([404, 404, 404]);
    expect(await statuses(running, '/', 1, via('192.0.2.9, 203.0.113.7'))).toEqual([429]);
    expect(asked.map(({ address, network }) => [address, network])).toEqual(
      [4, 3, 1].flatMap((count, index) => {
        const client = index === 1 ? '192.0.2.9' : '203.0.113.7';
        return Array.from({ length: count }, () => [client, client]);
      }),
    );
  });

  it('P09 has no option that goes by user agents', async () => {
    for (const option of ['userAgents', 'ignoreUserAgents', 'skipUserAgents']) {
      const { message } = await failedBoot(adapter, { rateLimit: Object.fromEntries([[option, [/bot/]]]) });
      expect(message).toContain(`${option} is no option`);
      expect(message.replace(option, '')).not.toMatch(/agent|bot|crawler|referer/i);
    }
  });
});

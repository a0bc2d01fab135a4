import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { describe, expect, it, vi } from 'vitest';
import {
  MemoryStore,
  RateLimitEvents,
  RateLimitService,
  Throttle,
  type DecisionEvent,
  type RateLimitEvent,
  type RateLimitOptions,
  type RefusalEvent,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp, type RunningApp } from './support/app.js';
import { exchange, statuses, statusOf, via } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

const CLIENT = '203.0.113.7';

@Controller()
class Routes {
  @Get('plain')
  plain(): string {
    return 'ok';
  }

  @Get('throttled')
  @Throttle({ limit: 2, per: '1m' })
  throttled(): string {
    return 'ok';
  }

  @Get('other')
  @Throttle({ name: 'other', limit: 1, per: '1h' })
  other(): string {
    return 'ok';
  }

  // The first path names the counter.
  @Get(['\u001bred\nline\u009b\u202e', 'strange'])
  @Throttle({ limit: 1, per: '1m' })
  strange(): string {
    return 'ok';
  }
}

/** The user that a test says is calling. */
function identify(context: ExecutionContext): string | undefined {
  return context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>().headers[
    'x-user'
  ];
}

checkNestVersion();

describe.each(ADAPTERS)('what operators hear on %s', (adapter) => {
  async function start(options: RateLimitOptions = {}): Promise<RunningApp & { clock: FakeClock }> {
    const clock = new FakeClock();
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: {
        perIp: { limit: 6, per: '1m' },
        trustedProxies: ['127.0.0.1'],
        policies: { exports: { limit: 1, per: '1m' } },
        identify,
        audit: null,
        store: new MemoryStore({ clock }),
        ...options,
      },
    });
    return { ...running, clock };
  }

  it('subscribers get decisions and refusals, with all there is to know, and the end', async () => {
    const running = await start();
    const events: RateLimitEvent[] = [];
    let ended = false;
    running.app.get(RateLimitEvents).all$.subscribe({
      next: (event) => events.push(event),
      complete: () => (ended = true),
    });
    const sent = { headers: { 'x-forwarded-for': '2001:db8:1:2:3::4', 'x-user': 'ada' } };
    expect(await statuses(running, '/throttled', 3, sent)).toEqual([200, 200, 429]);
    const network = { address: '2001:db8:1:2:3::4', network: '2001:db8:1:2::/64', dryRun: false };
    const ip = { type: 'decision', limit: 'ip', user: null, ...network };
    const route = { type: 'decision', limit: 'route', user: 'ada', ...network };
    const passed = { allowed: true, cost: 1, retryAfter: 0, reason: null };
    const perIp = { ...passed, policy: 'per-ip', limit: 6 };
    const own = { ...passed, policy: 'GET /throttled', limit: 2 };
    const refusal = { ...own, allowed: false, remaining: 0, retryAfter: 30, reason: 'limit-exceeded' };
    expect(events).toMatchObject([
      { ...ip, decision: { ...perIp, remaining: 5, resetAfter: 10 } },
      { ...route, decision: { ...own, remaining: 1, resetAfter: 30 } },
      { ...ip, decision: { ...perIp, remaining: 4, resetAfter: 20 } },
      { ...route, decision: { ...own, remaining: 0, resetAfter: 60 } },
      { ...ip, decision: { ...perIp, remaining: 3, resetAfter: 30 } },
      { ...route, decision: refusal },
      {
        ...route,
        type: 'refusal',
        decision: { ...refusal, headers: { 'retry-after': '30', 'ratelimit-limit': '2' } },
      },
    ]);
    expect(ended).toBe(false);
    await running.app.close();
    expect(ended).toBe(true);
  });

  it('are typed by what happened', async () => {
    const running = await start({ perIp: { limit: 1, per: '1m' } });
    const decisions: DecisionEvent[] = [];
    const refusals: RefusalEvent[] = [];
    running.app.get(RateLimitEvents).all$.subscribe((event) => {
      if (event.type === 'decision') decisions.push(event);
      else if (event.type === 'refusal') refusals.push(event);
    });
    expect(await statuses(running, '/nope', 2, via(CLIENT))).toEqual([404, 429]);
    expect(decisions.map(({ decision }) => decision.allowed)).toEqual([true, false]);
    const [{ limit, decision }] = refusals;
    expect([limit, decision.policy, decision.reason]).toEqual(['ip', 'per-ip', 'limit-exceeded']);
  });

  it('decisions are made only while somebody listens, refusals always', async () => {
    const running = await start();
    const events = running.app.get(RateLimitEvents);
    const emit = vi.spyOn(events, 'emit');
    const types = () => emit.mock.calls.splice(0).map(([{ type }]) => type);
    await statuses(running, '/throttled', 3, via(CLIENT));
    expect([events.observed, types()]).toEqual([false, ['refusal']]);
    const subscription = events.all$.subscribe();
    await statuses(running, '/plain', 2, via(CLIENT));
    expect([events.observed, types()]).toEqual([true, ['decision', 'decision']]);
    subscription.unsubscribe();
    await statuses(running, '/plain', 2, via(CLIENT));
    expect([events.observed, types()]).toEqual([false, ['refusal']]);
  });

  it('what the service decides is for its caller: no event, no line', async () => {
    const running = await start();
    const events: RateLimitEvent[] = [];
    running.app.get(RateLimitEvents).all$.subscribe((event) => events.push(event));
    const service = running.app.get(RateLimitService);
    const answers = [await service.consume('exports', 'ada'), await service.consume('exports', 'ada')];
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, false]);
    expect([events, running.log.every('warn')]).toEqual([[], []]);
  });

  it('SB-13, SB-30 each refusal is a WARN with policy and network', async () => {
    const running = await start();
    await statuses(running, '/throttled', 3, via('2001:db8:1:2:3::4'));
    await statuses(running, '/nope', 7, via(CLIENT));
    expect(running.log.every('warn')).toEqual([
      'route throttle exceeded: policy=GET /throttled network=2001:db8:1:2::/64',
      'per-IP rate limit exceeded: policy=per-ip network=203.0.113.7',
    ]);
  });

  it('P06 beyond ten a second refusals of a policy are summed up', async () => {
    const running = await start({ perIp: { limit: 1_000, per: '1m' } });
    const lines = (): string[] => {
      const own = running.log.every('warn');
      running.log.all.length = 0;
      return own;
    };
    const line = (policy: string) => `route throttle exceeded: policy=${policy} network=${CLIENT}`;
    await statuses(running, '/throttled', 27, via(CLIENT));
    await statuses(running, '/other', 4, via(CLIENT));
    expect(lines()).toEqual([
      ...Array<string>(10).fill(line('GET /throttled')),
      ...Array(3).fill(line('other')),
    ]);
    running.clock.advance('1s');
    await statuses(running, '/throttled', 1, via(CLIENT));
    expect(lines()).toEqual([
      'route throttle exceeded: policy=GET /throttled and 15 more in that second',
      line('GET /throttled'),
    ]);
    // What is left when the app ends is said too.
    await statuses(running, '/other', 12, via(CLIENT));
    await running.app.close();
    expect(lines().slice(10)).toEqual(['route throttle exceeded: policy=other and 2 more in that second']);
  });

  it('a flood that is over is summed up without another refusal', async () => {
    const running = await start();
    await statuses(running, '/nope', 6 + 13, via(CLIENT));
    running.clock.advance('1s');
    await vi.waitFor(
      () =>
        expect(running.log.every('warn').at(-1)).toBe(
          'per-IP rate limit exceeded: policy=per-ip and 3 more in that second',
        ),
      { timeout: 3_000, interval: 50 },
    );
  });

  it('P06 control characters and what clients send never reach the log', async () => {
    const running = await start({ audit: undefined });
    const hostile = 'X\u009b31m\u00e9';
    const request = [
      'GET /strange HTTP/1.1',
      'host: a',
      'connection: close',
      `x-forwarded-for: ${hostile}, ${CLIENT}`,
      `x-user: ${hostile}`,
      ...['user-agent', 'referer', 'origin', 'x-real-ip', 'forwarded'].map((name) => `${name}: ${hostile}`),
      '\r\n',
    ].join('\r\n');
    const answers: number[] = [];
    for (let sent = 0; sent < 9; sent++) {
      answers.push(statusOf(await exchange(running, Buffer.from(request, 'latin1'))));
    }
    expect(answers).toEqual([200, 429, 429, 429, 429, 429, 429, 429, 429]);
    await running.app.close();
    const logged = running.log.all.filter(({ context }) => context.startsWith('RateLimit'));
    expect(running.log.every('warn')[0]).toBe(
      `route throttle exceeded: policy=GET /\\u{1b}red\\u{a}line\\u{9b}\\u{202e} network=${CLIENT}`,
    );
    expect(logged.filter(({ context }) => context === 'RateLimitAudit')).toHaveLength(1);
    for (const { message } of logged) {
      // The table of the boot has lines; nothing else breaks one.
      expect(message.replaceAll('\n  ', '')).toMatch(/^[\x20-\x7e]*$/);
    }
    expect(running.log.every('warn').join()).not.toContain('X');
  });
});

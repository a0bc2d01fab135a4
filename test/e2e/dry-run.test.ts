import { Controller, Get, type INestApplication } from '@nestjs/common';
import { describe, expect, it, vi } from 'vitest';
import {
  AuditSink,
  MemoryStore,
  RateLimitEvents,
  RateLimitService,
  Throttle,
  throttle,
  type AuditEntry,
  type RateLimitOptions,
  type RefusalEvent,
} from '../../lib/index.js';
import { RedisStore } from '../../lib/stores/redis/redis.store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { freePort } from '../tools/servers/redis-server.js';
import { ADAPTERS, startApp, type RunningApp } from './support/app.js';
import { send, statuses, via, type Answer } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

const CLIENT = '203.0.113.7';
const TRIAL = { limit: 2, per: '1m', dryRun: true };

@Controller()
class Routes {
  @Get('plain')
  plain(): string {
    return 'ok';
  }

  @Get('own')
  @Throttle(TRIAL)
  own(): string {
    return 'ok';
  }

  @Get('closed')
  @Throttle({ ...TRIAL, onStoreError: 'closed' })
  closed(): string {
    return 'ok';
  }

  @Get('named')
  @Throttle('exports')
  named(): string {
    return 'ok';
  }

  @Get('enforced')
  @Throttle({ limit: 2, per: '1m' })
  enforced(): string {
    return 'ok';
  }

  @Get('beside')
  @Throttle([
    { name: 'trial', limit: 3, per: '1h', dryRun: true },
    { name: 'strict', limit: 1, per: '30s' },
    { name: 'second trial', limit: 2, per: '2h', dryRun: true },
  ])
  beside(): string {
    return 'ok';
  }

  @Get('roomy')
  @Throttle([
    { name: 'trial', limit: 1, per: '1h', dryRun: true },
    { name: 'wide', limit: 4, per: '1m' },
  ])
  roomy(): string {
    return 'ok';
  }
}

class Rows extends AuditSink {
  readonly rows: AuditEntry[] = [];

  override write(entry: AuditEntry): void {
    this.rows.push(entry);
  }
}

interface Started extends RunningApp {
  readonly clock: FakeClock;
  readonly rows: readonly AuditEntry[];
  readonly refusals: readonly RefusalEvent[];
}

/** Limit, remaining and reset as told. */
function told({ headers }: Answer): unknown[] {
  return ['limit', 'remaining', 'reset'].map((name) => Number(headers[`ratelimit-${name}`]));
}

checkNestVersion();

describe.each(ADAPTERS)('limits on trial on %s', (adapter) => {
  async function start(options: RateLimitOptions, main?: (app: INestApplication) => void): Promise<Started> {
    const clock = new FakeClock();
    const audit = new Rows();
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: {
        perIp: null,
        trustedProxies: ['127.0.0.1'],
        policies: { exports: TRIAL },
        audit,
        store: new MemoryStore({ clock }),
        ...options,
      },
      ...(main !== undefined && { main }),
    });
    const refusals: RefusalEvent[] = [];
    running.app.get(RateLimitEvents).all$.subscribe((event) => {
      if (event.type === 'refusal') refusals.push(event);
    });
    return { ...running, clock, rows: audit.rows, refusals };
  }

  const places: [
    place: string,
    path: string,
    policy: string,
    options: RateLimitOptions,
    main?: (app: INestApplication) => void,
  ][] = [
    ['the per-IP limit', '/nope', 'per-ip', { perIp: TRIAL }],
    ['a throttle', '/own', 'GET /own', {}],
    ['a policy', '/named', 'exports', {}],
    ['the throttle of all routes', '/plain', 'GET /plain', { throttle: TRIAL }],
    [
      'a throttle of middleware',
      '/plain',
      'by hand',
      {},
      (app) => void app.use(throttle({ ...TRIAL, name: 'by hand' })),
    ],
    ['the per-IP limit, as all are,', '/nope', 'per-ip', { perIp: { limit: 2, per: '1m' }, dryRun: true }],
    ['an enforced throttle, as all are,', '/enforced', 'GET /enforced', { dryRun: true }],
  ];

  it.each(places)(
    '%s counts, tells and reports, and refuses nothing',
    async (_, path, policy, options, main) => {
      const running = await start(options, main);
      const status = path === '/nope' ? 404 : 200;
      const answers: Answer[] = [];
      for (let sent = 0; sent < 4; sent++) answers.push(await send(running, path, via(CLIENT)));
      running.clock.advance('30s');
      answers.push(await send(running, path, via(CLIENT)));
      expect(answers.map((answer) => [answer.status, ...told(answer)])).toEqual([
        [status, 2, 1, 30],
        [status, 2, 0, 60],
        [status, 2, 0, 60],
        [status, 2, 0, 60],
        [status, 2, 0, 60],
      ]);
      for (const { headers } of answers) {
        expect(headers).not.toHaveProperty('retry-after');
        expect(headers).not.toHaveProperty('cache-control');
      }
      const limit = policy === 'per-ip' ? 'ip' : 'route';
      const refusal = { type: 'refusal', limit, network: CLIENT, dryRun: true };
      const decision = { policy, allowed: false, remaining: 0, retryAfter: 30, reason: 'limit-exceeded' };
      expect(running.refusals).toMatchObject([
        { ...refusal, decision },
        { ...refusal, decision },
      ]);
      const text = limit === 'ip' ? 'per-IP rate limit exceeded' : 'route throttle exceeded';
      const line = `${text} (dry run, not refused): policy=${policy} network=${CLIENT}`;
      expect(running.log.every('warn')).toEqual([line, line]);
      await vi.waitFor(() => expect(running.rows).toHaveLength(1));
      expect(running.rows[0]).toMatchObject({
        ip: CLIENT,
        details: { limit, policy, retryAfter: 30, dryRun: true },
      });
    },
  );

  it('a call that an enforced limit refuses is not counted on trial, and one on trial blocks no other', async () => {
    const running = await start({});
    const policies = () => running.refusals.map(({ decision, dryRun }) => [decision.policy, dryRun]);
    const strict = ['strict', false];
    expect(await statuses(running, '/beside', 4, via(CLIENT))).toEqual([200, 429, 429, 429]);
    expect(policies()).toEqual([strict, strict, strict]);
    running.clock.advance('30s');
    expect(await statuses(running, '/beside', 2, via(CLIENT))).toEqual([200, 429]);
    running.clock.advance('30s');
    // The second trial is full, which doesn't keep the first from counting.
    expect(await statuses(running, '/beside', 1, via(CLIENT))).toEqual([200]);
    running.clock.advance('30s');
    expect(await statuses(running, '/beside', 1, via(CLIENT))).toEqual([200]);
    expect(policies().slice(3)).toEqual([
      strict,
      ['second trial', true],
      ['trial', true],
      ['second trial', true],
    ]);
  });

  it('beside one on trial an enforced limit counts what passes, and refuses at its own number', async () => {
    const running = await start({});
    const answers: Answer[] = [];
    for (let sent = 0; sent < 5; sent++) answers.push(await send(running, '/roomy', via(CLIENT)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
    // What refuses is what is told, though the trial's bucket has longer to wait.
    expect(told(answers[4])).toEqual([4, 0, 60]);
    expect(answers[4].headers).toMatchObject({ 'retry-after': '15', 'cache-control': 'no-store' });
    expect(running.refusals.map(({ decision, dryRun }) => [decision.policy, dryRun])).toEqual([
      ...Array.from({ length: 3 }, () => ['trial', true]),
      ['wide', false],
    ]);
  });

  it('a full per-IP limit on trial leaves the answer of a throttle as it is', async () => {
    const running = await start({ perIp: { limit: 1, per: '1h', dryRun: true } });
    const answers: Answer[] = [];
    for (let sent = 0; sent < 3; sent++) answers.push(await send(running, '/enforced', via(CLIENT)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect([told(answers[2]), answers[2].headers['retry-after']]).toEqual([[2, 0, 60], '30']);
    expect(answers[1].headers).not.toHaveProperty('retry-after');
  });

  it.each([
    ['draft-11', 'ratelimit', '"per-ip";r=0;t=60'],
    ['x-ratelimit', 'x-ratelimit-remaining', '0'],
    ['retry-after', 'ratelimit-limit', undefined],
    [null, 'ratelimit-limit', undefined],
  ] as const)('the header lines are those of headers: %s, without a wait', async (format, name, value) => {
    const running = await start({ perIp: TRIAL, headers: format });
    expect(await statuses(running, '/plain', 2, via(CLIENT))).toEqual([200, 200]);
    const { status, headers } = await send(running, '/plain', via(CLIENT));
    expect([status, headers[name]]).toEqual([200, value]);
    expect(headers).not.toHaveProperty('retry-after');
  });

  it('decisions say which limits are on trial', async () => {
    const running = await start({ perIp: { limit: 9, per: '1m' } });
    const seen: unknown[] = [];
    running.app.get(RateLimitEvents).all$.subscribe((event) => {
      if (event.type === 'decision') seen.push([event.decision.policy, event.dryRun]);
    });
    await statuses(running, '/own', 1, via(CLIENT));
    await statuses(running, '/roomy', 1, via(CLIENT));
    expect(seen).toEqual([
      ['per-ip', false],
      ['GET /own', true],
      ['per-ip', false],
      ['wide', false],
    ]);
  });

  it('the service decides as ever', async () => {
    const running = await start({ dryRun: true, policies: { exports: { limit: 1, per: '1m' } } });
    const service = running.app.get(RateLimitService);
    const answers = [await service.consume('exports', 'ada'), await service.consume('exports', 'ada')];
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(running.refusals).toEqual([]);
  });

  it.each([{ onStoreError: 'closed', dryRun: true }, { onStoreError: 'closed' }] as const)(
    'K11 is refused nothing while the store is down, though limits were closed: %o',
    async (options) => {
      const store = new RedisStore(`redis://127.0.0.1:${await freePort()}`);
      const trial = { ...TRIAL, onStoreError: 'closed' } as const;
      const running = await start({ ...options, store, perIp: trial });
      expect(await statuses(running, '/closed', 6, via(CLIENT))).toEqual(Array(6).fill(200));
    },
  );
});

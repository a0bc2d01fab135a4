import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Controller, Get, type DynamicModule, type INestApplication } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRate } from '../../lib/algorithms/rate.js';
import {
  MemoryStore,
  rateLimitConfig,
  RateLimitEvents,
  RateLimitSettings,
  TollgateError,
  type LiveSettings,
  type RateLimitEvent,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, failedBoot, startApp } from './support/app.js';
import { send, statuses, via, type Target } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

@Controller()
class Routes {
  @Get('ok')
  ok(): object {
    return { ok: true };
  }
}

/** The limit that a fresh client is told, and what it has left. */
async function told(target: Target, path = '/nope'): Promise<[unknown, unknown]> {
  const { headers } = await send(target, path);
  return [headers['ratelimit-limit'], headers['ratelimit-remaining']];
}

function configOf(app: INestApplication): ConfigService {
  return app.get(ConfigService, { strict: false });
}

checkNestVersion();

beforeEach(() => {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('RATE_LIMIT_')) vi.stubEnv(name, undefined);
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('settings from the environment', () => {
  const ways: [string, () => DynamicModule['imports']][] = [
    ["without the app's own ConfigModule", () => []],
    ['beside a global ConfigModule', () => [ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true })]],
    [
      'beside a ConfigModule with a cache',
      () => [ConfigModule.forRoot({ cache: true, ignoreEnvFile: true })],
    ],
    [
      'beside a ConfigModule that loads the namespace too',
      () => [ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true, load: [rateLimitConfig] })],
    ],
  ];

  it.each(ways)('are read %s', async (_name, imports) => {
    vi.stubEnv('RATE_LIMIT_PER_IP', '7/1m');
    vi.stubEnv('RATE_LIMIT_THROTTLE', '2/1m');
    vi.stubEnv('RATE_LIMIT_TRUSTED_PROXIES', '127.0.0.1, ::1,10.0.0.0/8');
    vi.stubEnv('RATE_LIMIT_IPV6_PREFIX', '48');
    const running = await startApp('express', { imports: imports() ?? [], controllers: [Routes] });
    expect(await told(running)).toEqual(['7', '6']);
    expect(await statuses(running, '/ok', 3)).toEqual([200, 200, 429]);
    expect(await statuses(running, '/ok', 2, via('2001:db8:5:1::1'))).toEqual([200, 200]);
    expect(await statuses(running, '/ok', 1, via('2001:db8:5:2::1'))).toEqual([429]);
  });

  it('are read from the .env file of the ConfigModule', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'env-'));
    try {
      writeFileSync(join(folder, '.env'), 'RATE_LIMIT_PER_IP=9/1m\n');
      const imports = [ConfigModule.forRoot({ envFilePath: join(folder, '.env') })];
      const running = await startApp('express', { imports });
      expect(await told(running)).toEqual(['9', '8']);
    } finally {
      rmSync(folder, { recursive: true });
      delete process.env.RATE_LIMIT_PER_IP;
    }
  });

  it('name the header and the trust of a proxy', async () => {
    vi.stubEnv('RATE_LIMIT_PER_IP', '1/1m');
    vi.stubEnv('RATE_LIMIT_TRUST_PROXY', 'true');
    vi.stubEnv('RATE_LIMIT_CLIENT_IP_HEADER', 'fly-client-ip');
    const running = await startApp('express');
    const client = (ip: string) => ({ headers: { 'fly-client-ip': ip } });
    expect(await statuses(running, '/', 2, client('203.0.113.1'))).toEqual([404, 429]);
    expect(await statuses(running, '/', 1, client('203.0.113.2'))).toEqual([404]);
  });

  it("B13 'false' trusts nobody", async () => {
    vi.stubEnv('RATE_LIMIT_PER_IP', '1/1m');
    vi.stubEnv('RATE_LIMIT_TRUST_PROXY', 'false');
    const running = await startApp('express');
    expect(await statuses(running, '/', 1, via('203.0.113.1'))).toEqual([404]);
    expect(await statuses(running, '/', 1, via('203.0.113.2'))).toEqual([429]);
  });

  it('lose against options', async () => {
    vi.stubEnv('RATE_LIMIT_PER_IP', '7/1m');
    vi.stubEnv('RATE_LIMIT_THROTTLE', '2/1m');
    vi.stubEnv('RATE_LIMIT_TRUSTED_PROXIES', '127.0.0.1');
    const running = await startApp('express', {
      controllers: [Routes],
      rateLimit: { perIp: { limit: 3, per: '1m' }, throttle: null, trustedProxies: [] },
    });
    expect(await told(running)).toEqual(['3', '2']);
    expect(await statuses(running, '/ok', 3, via('203.0.113.1'))).toEqual([200, 200, 429]);
    // What code says is fixed.
    configOf(running.app).set('rateLimit.perIp', '100/1m');
    expect(await statuses(running, '/ok', 1)).toEqual([429]);
  });

  it.each([
    ['RATE_LIMIT_PER_IP', ''],
    ['RATE_LIMIT_PER_IP', ' '],
    ['RATE_LIMIT_PER_IP', '6O'],
    ['RATE_LIMIT_PER_IP', '0/1m'],
    ['RATE_LIMIT_PER_IP', '-1/1m'],
    ['RATE_LIMIT_PER_IP', '1.5/1m'],
    ['RATE_LIMIT_PER_IP', '600'],
    ['RATE_LIMIT_PER_IP', 'null'],
    ['RATE_LIMIT_PER_IP', 'NaN/1m'],
    ['RATE_LIMIT_PER_IP', 'Infinity/1m'],
    ['RATE_LIMIT_PER_IP', '600/60'],
    ['RATE_LIMIT_PER_IP', '600/1 m'],
    ['RATE_LIMIT_PER_IP', '600/0s'],
    ['RATE_LIMIT_PER_IP', '600/1d'],
    ['RATE_LIMIT_THROTTLE', ''],
    ['RATE_LIMIT_THROTTLE', '1m/10'],
    ['RATE_LIMIT_TRUSTED_PROXIES', ''],
    ['RATE_LIMIT_TRUSTED_PROXIES', '1'],
    ['RATE_LIMIT_TRUSTED_PROXIES', '127.0.0.1,,10.0.0.0/8'],
    ['RATE_LIMIT_TRUSTED_PROXIES', '10.0.0.1/8'],
    ['RATE_LIMIT_TRUST_PROXY', ''],
    ['RATE_LIMIT_TRUST_PROXY', '0'],
    ['RATE_LIMIT_TRUST_PROXY', 'yes'],
    ['RATE_LIMIT_CLIENT_IP_HEADER', ''],
    ['RATE_LIMIT_CLIENT_IP_HEADER', 'x forwarded'],
    ['RATE_LIMIT_IPV6_PREFIX', ''],
    ['RATE_LIMIT_IPV6_PREFIX', '63.5'],
    ['RATE_LIMIT_IPV6_PREFIX', '0'],
  ])('P01, P02, P03 %s=%o fails the boot, by name', async (name, value) => {
    vi.stubEnv(name, value);
    const error = await failedBoot('express', {});
    expect(error).toBeInstanceOf(TollgateError);
    expect(error.message).toContain(name);
    // The value that is wrong, and what to do about it.
    expect(error.message).toMatch(/(".*"|[-\d.]+) is no quota: | is (".*"|[-\d.]+): /);
    expect(error.message).toMatch(/give|write|list/);
  });

  it('all that is wrong is in one error', async () => {
    vi.stubEnv('RATE_LIMIT_PER_IP', '');
    vi.stubEnv('RATE_LIMIT_TRUSTED_PROXIES', '10.0.0.300');
    vi.stubEnv('RATE_LIMIT_IPV6_PREFIX', '129');
    const { message } = await failedBoot('fastify', {});
    expect(message).toContain('RATE_LIMIT_PER_IP');
    expect(message).toContain('RATE_LIMIT_TRUSTED_PROXIES');
    expect(message).toContain('RATE_LIMIT_IPV6_PREFIX');
    expect(message.match(/^ {2}- /gm)).toHaveLength(3);
  });
});

describe.each(ADAPTERS)('live settings on %s', (adapter) => {
  it.each([
    ["without the app's own ConfigModule", () => []],
    ['with it, cached', () => [ConfigModule.forRoot({ isGlobal: true, cache: true, ignoreEnvFile: true })]],
  ])('an edit takes effect with the next call, %s', async (_name, imports) => {
    // A throttle is live where there is one at boot: without, routes stay free of any work.
    vi.stubEnv('RATE_LIMIT_THROTTLE', '9/1m');
    const running = await startApp(adapter, { controllers: [Routes], imports: imports() });
    expect(await told(running)).toEqual(['600', '599']);
    const config = configOf(running.app);
    config.set('rateLimit.perIp', '5/1m');
    expect((await told(running))[0]).toBe('5');
    config.set('rateLimit.perIp', { limit: 6, per: '1h' });
    expect((await told(running))[0]).toBe('6');
    config.set('rateLimit.throttle', '1/1m');
    expect((await told(running, '/ok'))[0]).toBe('1');
    expect(await statuses(running, '/ok', 1)).toEqual([429]);
    config.set('rateLimit.throttle', null);
    expect(await statuses(running, '/ok', 1)).toEqual([200]);
    for (const name of ['RATE_LIMIT_PER_IP', 'rateLimit.perIp', 'rateLimit.throttle'])
      delete process.env[name];
  });

  it('P01, P02 what is invalid keeps the last good value, and is logged once as an ERROR', async () => {
    const running = await startApp(adapter, { controllers: [Routes] });
    const config = configOf(running.app);
    config.set('rateLimit.perIp', '50/1m');
    expect((await told(running))[0]).toBe('50');
    const bad = [
      0,
      '0/1m',
      '6O/1m',
      '',
      ' ',
      Number.NaN,
      Infinity,
      1.5,
      -1,
      true,
      '10',
      {},
      [],
      { limit: 5 },
    ];
    for (const value of bad) {
      const before = running.log.own('error').length;
      config.set('rateLimit.perIp', value);
      for (let call = 0; call < 2; call++) expect((await told(running))[0]).toBe('50');
      const errors = running.log.own('error').slice(before);
      expect([value, errors.length]).toEqual([value, 1]);
      expect(errors[0]).toContain('rateLimit.perIp');
    }
    config.set('rateLimit.perIp', '70/1m');
    expect((await told(running))[0]).toBe('70');
    expect(running.log.own('error')).toHaveLength(bad.length);
  });

  it('null turns a limit off, undefined keeps what holds', async () => {
    const store = new MemoryStore();
    const running = await startApp(adapter, { rateLimit: { store } });
    const config = configOf(running.app);
    config.set('rateLimit.perIp', null);
    expect(await told(running)).toEqual([undefined, undefined]);
    expect(store.size).toBe(0);
    config.set('rateLimit.perIp', '2/1m');
    expect(await statuses(running, '/', 3)).toEqual([404, 404, 429]);
    config.set('rateLimit.perIp', undefined);
    expect((await told(running))[0]).toBe('2');
    expect(running.log.own('error')).toEqual([]);
  });

  it('P04 a lowered limit applies to clients in the middle of their window', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock });
    const running = await startApp(adapter, { rateLimit: { store } });
    const name = { policy: 'per-ip', namespace: 'network:per-ip', key: '127.0.0.1' };
    store.consume([{ ...name, rate: createRate('gcra', 600, 60e6), cost: 600 }]);
    expect(await statuses(running, '/', 1)).toEqual([429]);
    configOf(running.app).set('rateLimit.perIp', '3/1m');
    const { status, headers } = await send(running, '/');
    expect([status, headers['retry-after'], headers['ratelimit-limit']]).toEqual([429, '20', '3']);
    for (let pass = 0; pass < 3; pass++) {
      clock.advance('19s');
      clock.advance('999ms');
      expect(await statuses(running, '/', 1)).toEqual([429]);
      clock.advance('1ms');
      expect(await statuses(running, '/', 2)).toEqual([404, 429]);
    }
  });

  it('C08 50 of 100 become 30 of 60', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock });
    const running = await startApp(adapter, { rateLimit: { store } });
    const config = configOf(running.app);
    config.set('rateLimit.perIp', '100/1m');
    expect(new Set(await statuses(running, '/', 50))).toEqual(new Set([404]));
    config.set('rateLimit.perIp', '60/1m');
    expect(await told(running)).toEqual(['60', '29']);
    expect(new Set(await statuses(running, '/', 29))).toEqual(new Set([404]));
    expect(await statuses(running, '/', 1)).toEqual([429]);
  });

  it('D15 a check reads the settings once, so it never mixes two versions of them', async () => {
    class Flipping extends RateLimitSettings {
      reads = 0;

      override read(): LiveSettings {
        this.reads += 1;
        return { perIp: this.reads % 2 === 1 ? { limit: 100, per: '1m' } : { limit: 5, per: '1s' } };
      }
    }
    const settings = new Flipping();
    const running = await startApp(adapter, {
      rateLimit: { settings, store: new MemoryStore({ clock: new FakeClock() }) },
    });
    for (let sent = 0; sent < 20; sent++) {
      const before = settings.reads;
      const { headers } = await send(running, '/');
      expect(settings.reads).toBe(before + 1);
      // Whatever is used, a version's interval goes with its limit: one call is a hundredth or a fifth.
      const limit = Number(headers['ratelimit-limit']);
      const reset = Number(headers['ratelimit-reset']);
      expect(limit === 100 ? reset <= 60 : reset <= 1).toBe(true);
      expect(settings.reads % 2 === 1 ? 100 : 5).toBe(limit);
    }
  });

  it('P07 limits outlive their source: what it doesn’t say holds, and what it throws harms nobody', async () => {
    class Source extends RateLimitSettings {
      now: () => LiveSettings = () => ({});

      override read(): LiveSettings {
        return this.now();
      }
    }
    const settings = new Source();
    const running = await startApp(adapter, { rateLimit: { settings } });
    expect((await told(running))[0]).toBe('600');
    settings.now = () => ({ perIp: '40/1m' });
    expect((await told(running))[0]).toBe('40');
    settings.now = () => ({});
    expect((await told(running))[0]).toBe('40');
    settings.now = () => {
      throw new Error('source is down');
    };
    const { status, headers } = await send(running, '/');
    expect([status, headers['ratelimit-limit']]).toEqual([404, '40']);
    expect(await statuses(running, '/', 3)).toEqual([404, 404, 404]);
    expect(running.log.own('error')).toHaveLength(1);
  });

  it('a limit that is a function is asked on every call', async () => {
    let limit: unknown = 4;
    const running = await startApp(adapter, {
      rateLimit: {
        perIp: {
          limit: () => {
            if (limit instanceof Error) throw limit;
            return limit as number;
          },
          per: '1m',
        },
      },
    });
    const events: RateLimitEvent[] = [];
    running.app.get(RateLimitEvents).all$.subscribe((event) => {
      if (event.type === 'invalid-setting') events.push(event);
    });
    expect((await told(running))[0]).toBe('4');
    limit = 8;
    expect((await told(running))[0]).toBe('8');
    for (const bad of [Number.NaN, 0, -1, 2.5, 'x', null, undefined, new Error('down')]) {
      const before = events.length;
      limit = bad;
      expect((await told(running))[0]).toBe('8');
      await told(running);
      expect([bad, events.slice(before).map(({ type }) => type)]).toEqual([bad, ['invalid-setting']]);
    }
  });
});

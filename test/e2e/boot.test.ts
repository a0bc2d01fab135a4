import { Injectable, Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, vi } from 'vitest';
import {
  MemoryStore,
  RateLimitModule,
  RateLimitService,
  RateLimitStore,
  TollgateError,
  type RateLimitOptions,
  type RateLimitOptionsFactory,
} from '../../lib/index.js';
import { ADAPTERS, failedBoot, startApp } from './support/app.js';
import { send, statuses } from './support/client.js';
import { LogLines } from './support/log-lines.js';
import { checkNestVersion } from './support/nest-version.js';

/** Options as JavaScript may give them. */
function unchecked(options: Record<string, unknown>): RateLimitOptions {
  return options;
}

checkNestVersion();

describe.each(ADAPTERS)('the boot on %s', (adapter) => {
  it('succeeds without any option', async () => {
    const running = await startApp(adapter);
    const { status, headers } = await send(running, '/');
    expect([status, headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual([404, '600', '599']);
    expect(running.app.get(RateLimitStore)).toBeInstanceOf(MemoryStore);
    expect(running.log.own('warn')).toEqual([]);
  });

  it('K11 fails where sign-ins would be open while a store is down, and where a word for it is none', async () => {
    const error = await failedBoot(adapter, {
      rateLimit: unchecked({
        login: { onStoreError: 'open' },
        perIp: { limit: 9, per: '1m', onStoreError: 'fail' },
        throttle: { limit: 9, per: '1m', onStoreError: 'none' },
      }),
    });
    expect(error.message).toContain(`login.onStoreError is "open": give 'local' or 'closed'`);
    expect(error.message).toContain(`perIp.onStoreError is "fail": give 'local' or 'open' or 'closed'`);
    expect(error.message).toContain(`throttle.onStoreError is "none": give 'local' or 'open' or 'closed'`);
  });

  it('fails with a store that can never work, says why, and lets go of it', async () => {
    let users = 0;
    class Unusable extends MemoryStore {
      override async open(): Promise<void> {
        users++;
        throw new TollgateError('TOLLGATE_BAD_CONFIGURATION', 'none is installed: npm install ioredis');
      }
      override close(): void {
        users--;
      }
    }
    const error = await failedBoot(adapter, { rateLimit: { store: new Unusable() } });
    expect(error.message).toBe('none is installed: npm install ioredis');
    expect(users).toBe(0);
  });

  it('that fails uses no store', async () => {
    const store = new MemoryStore();
    const open = vi.spyOn(store, 'open');
    await failedBoot(adapter, { rateLimit: unchecked({ store, perIp: { limit: 0, per: '1m' } }) });
    expect(open).not.toHaveBeenCalled();
    const running = await startApp(adapter, { rateLimit: { store } });
    expect(open).toHaveBeenCalledTimes(1);
    await running.app.close();
  });

  it('P02, A04, B04 says everything that is wrong at once: name, value and remedy', async () => {
    const findings = {
      perIp: { limit: 0, per: '1m' },
      ipv6Prefix: 129,
      trustedProxies: [1, '10.0.0.300'],
      throttle: { limit: 5, per: '60' },
      policies: { reports: { limit: -1, per: '1m' } },
      identify: 'user',
      windowMs: 1000,
    };
    const error = await failedBoot(adapter, { rateLimit: unchecked(findings) });
    expect(error).toBeInstanceOf(TollgateError);
    expect(error).toMatchObject({ code: 'TOLLGATE_BAD_CONFIGURATION' });
    const lines = error.message.split('\n').slice(1);
    expect(lines).toHaveLength(8);
    for (const pattern of [
      /perIp: limit is 0: give a whole number above 0 \(null turns a limit off/,
      /ipv6Prefix is 129: give a whole number from 32 to 128/,
      /trustedProxies\[0\] is 1: .*list the addresses of your proxies/,
      /trustedProxies\[1\] is "10\.0\.0\.300": give an IP address/,
      /throttle\.per is "60": write/,
      /policies\.reports\.limit is -1: give/,
      /identify is "user": give a function/,
      /windowMs is no option: there are perIp, /,
    ]) {
      expect(lines.filter((line) => pattern.test(line))).toHaveLength(1);
    }
  });

  it.each([0, 129, 63.5, Number.NaN, '64', null])('A04 refuses ipv6Prefix %o', async (ipv6Prefix) => {
    const { message } = await failedBoot(adapter, { rateLimit: unchecked({ ipv6Prefix }) });
    expect(message).toContain('ipv6Prefix is');
  });

  it.each([[1], ['1'], [[1]], [['2']], [true], ['10.0.0.0/8']])(
    'B04 refuses trustedProxies %o',
    async (trustedProxies) => {
      const { message } = await failedBoot(adapter, { rateLimit: unchecked({ trustedProxies }) });
      expect(message).toContain('trustedProxies');
    },
  );

  it.each([
    0,
    600,
    '600',
    {},
    { limit: 5 },
    { limit: '5', per: '1m' },
    { limit: 1.5, per: '1m' },
    { limit: Infinity, per: '1m' },
    { limit: 5, per: 60 },
    { limit: 5, per: '60' },
    { limit: 5, per: '1 m' },
    { limit: 5, per: '1.5m' },
    { limit: 5, per: '-1s' },
    { limit: 5, per: '1d' },
    { limit: 5, per: '' },
    { limit: 5, per: '0s' },
    { limit: 700_000, per: '1s' },
  ])('P01, P02, P03 refuses perIp %j', async (perIp) => {
    const { message } = await failedBoot(adapter, { rateLimit: unchecked({ perIp }) });
    expect(message).toContain('perIp');
  });

  it.each(['500ms', '30s', '1m', '1h'])('P03 accepts per %s', async (per) => {
    const running = await startApp(adapter, { rateLimit: { perIp: { limit: 5, per } } });
    expect(await statuses(running, '/', 1)).toEqual([404]);
  });

  it.each([
    { skipIf: true },
    { identify: null, skipIf: 'no' },
    { perIp: { limit: 5, per: '1m', windowMs: 3 } },
    { clientIpHeader: '' },
    { trustProxy: 1 },
    { store: {} },
    { settings: {} },
    { policies: 5 },
    { throttle: [{ limit: 5, per: '1m' }, null] },
    { authGuard: 'jwt' },
  ])('refuses what can’t be meant: %j', async (options) => {
    const error = await failedBoot(adapter, { rateLimit: unchecked(options) });
    expect(error).toBeInstanceOf(TollgateError);
    expect(error.message).toContain(Object.keys(options).at(-1));
  });

  it('D12 fails when forRoot is called twice, with other options or the same', async () => {
    for (const second of [{ perIp: { limit: 5, per: '1m' } }, {}]) {
      @Module({ imports: [RateLimitModule.forRoot(second)] })
      class Feature {}
      const { message } = await failedBoot(adapter, { imports: [Feature] });
      expect(message).toMatch(/forRoot\(\) is called twice/);
    }
  });

  it('one dynamic module may be imported by many', async () => {
    const limits = RateLimitModule.forRoot({ perIp: { limit: 3, per: '1m' } });
    @Module({ imports: [limits] })
    class One {}
    @Module({ imports: [limits] })
    class Two {}
    const running = await startApp(adapter, { rateLimit: null, imports: [One, Two, limits] });
    expect(await statuses(running, '/', 4)).toEqual([404, 404, 404, 429]);
  });

  it('two apps in one process count apart', async () => {
    const rateLimit = { perIp: { limit: 2, per: '1m' } };
    const [one, two] = [await startApp(adapter, { rateLimit }), await startApp(adapter, { rateLimit })];
    expect(await statuses(one, '/', 3)).toEqual([404, 404, 429]);
    expect(await statuses(two, '/', 3)).toEqual([404, 404, 429]);
    expect(one.app.get(RateLimitService)).not.toBe(two.app.get(RateLimitService));
  });

  describe('forRootAsync', () => {
    @Injectable()
    class Numbers {
      readonly limit = 3;
    }
    @Module({ providers: [Numbers], exports: [Numbers] })
    class NumbersModule {}
    @Injectable()
    class Factory implements RateLimitOptionsFactory {
      constructor(private readonly numbers: Numbers) {}

      async createRateLimitOptions(): Promise<RateLimitOptions> {
        return { perIp: { limit: this.numbers.limit, per: '1m' } };
      }
    }
    @Module({ imports: [NumbersModule], providers: [Factory], exports: [Factory] })
    class FactoryModule {}

    const ways: [string, () => DynamicModule][] = [
      [
        'useFactory with imports and inject',
        () =>
          RateLimitModule.forRootAsync({
            imports: [NumbersModule],
            inject: [Numbers],
            useFactory: (numbers: Numbers) => ({ perIp: { limit: numbers.limit, per: '1m' } }),
          }),
      ],
      [
        'an async useFactory',
        () =>
          RateLimitModule.forRootAsync({
            useFactory: async () => ({ perIp: { limit: 3, per: '1m' } }),
          }),
      ],
      ['useClass', () => RateLimitModule.forRootAsync({ imports: [NumbersModule], useClass: Factory })],
      ['useExisting', () => RateLimitModule.forRootAsync({ imports: [FactoryModule], useExisting: Factory })],
    ];

    it.each(ways)('takes options from %s', async (_name, module) => {
      for (const testing of [false, true]) {
        const running = await startApp(adapter, { rateLimit: null, imports: [module()], testing });
        expect(await statuses(running, '/', 4)).toEqual([404, 404, 404, 429]);
      }
    });

    it('checks them like those of forRoot', async () => {
      const module = RateLimitModule.forRootAsync({
        useFactory: () => unchecked({ perIp: { limit: 0, per: '1m' }, max: 5 }),
      });
      const { message } = await failedBoot(adapter, { rateLimit: null, imports: [module] });
      expect(message).toMatch(/perIp: limit is 0/);
      expect(message).toMatch(/max is no option/);
    });

    it('lets the error of a factory fail the boot', async () => {
      const module = RateLimitModule.forRootAsync({
        useFactory: () => Promise.reject(new Error('no secrets today')),
      });
      const { message } = await failedBoot(adapter, { rateLimit: null, imports: [module] });
      expect(message).toBe('no secrets today');
    });

    it('wants exactly one way', () => {
      expect(() => RateLimitModule.forRootAsync({})).toThrow(/0 of useFactory, useClass and useExisting/);
      expect(() => RateLimitModule.forRootAsync({ useClass: Factory, useExisting: Factory })).toThrow(/2 of/);
    });
  });
});

describe('apps without HTTP', () => {
  it('an application context boots, and its service counts', async () => {
    const log = new LogLines();
    const context = await NestFactory.createApplicationContext(
      {
        module: class Root {},
        imports: [RateLimitModule.forRoot({ policies: { mail: { limit: 1, per: '1m' } } })],
      },
      { logger: log, abortOnError: false },
    );
    const service = context.get(RateLimitService);
    expect((await service.consume('mail', 'a')).allowed).toBe(true);
    expect((await service.consume('mail', 'a')).allowed).toBe(false);
    await context.close();
  });

  it('and fails on wrong options too', async () => {
    const boot = NestFactory.createApplicationContext(
      { module: class Root {}, imports: [RateLimitModule.forRoot(unchecked({ perIp: 5 }))] },
      { logger: false, abortOnError: false },
    );
    await expect(boot).rejects.toThrow(/perIp/);
  });
});

describe('the end of an app', () => {
  it('H08 closes twice and many times without keeping anything', async () => {
    const close = vi.spyOn(MemoryStore.prototype, 'close');
    try {
      for (let cycle = 0; cycle < 10; cycle++) {
        const running = await startApp('fastify');
        expect(await statuses(running, '/', 1)).toEqual([404]);
        await running.app.close();
        await running.app.close();
      }
      expect(close.mock.calls.length).toBeGreaterThanOrEqual(10);
    } finally {
      close.mockRestore();
    }
  });
});

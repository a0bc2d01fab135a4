import { AsyncLocalStorage } from 'node:async_hooks';
import { execFile } from 'node:child_process';
import { Agent } from 'node:http';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Controller, Get, Injectable, UseGuards, type CanActivate, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  MemoryStore,
  RateLimitEvents,
  RateLimitModule,
  RateLimitService,
  RateLimitStore,
  Throttle,
  type RateLimitOptions,
} from '../../lib/index.js';
import { clearLimits, FakeClock, limitsOff, limitsOn } from '../../lib/testing/index.js';
import { ADAPTERS, createAdapter, startApp } from './support/app.js';
import { send, statuses, via } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** What a test can see of the heap once everything that is unreachable has gone. */
async function settled(): Promise<number> {
  for (let pass = 0; pass < 3; pass++) {
    // A weak reference holds what it gave until the end of the turn.
    await new Promise((done) => setImmediate(done));
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

/** Where this package asked to be called later, other than to sweep, which is once for all requests. */
function lateWork(): string[] {
  const stacks: string[] = [];
  for (const name of ['setTimeout', 'setInterval', 'setImmediate'] as const) {
    const original = globalThis[name] as (...given: unknown[]) => unknown;
    const spied = (...given: unknown[]): unknown => {
      const stack = new Error(name).stack ?? '';
      if (/\/lib\/(nest|limiter|policies|stores)\//.test(stack) && !stack.includes('/sweeper.ts')) {
        stacks.push(stack);
      }
      return original(...given);
    };
    const spy = vi.spyOn(globalThis, name).mockImplementation(spied as never);
    onTestFinished(() => spy.mockRestore());
  }
  return stacks;
}

@Injectable()
class Pass implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

@Controller()
class Routes {
  @Get()
  @Throttle({ limit: 2, per: '1m' })
  list(): string {
    return 'listed';
  }

  @Get('free')
  free(): string {
    return 'free';
  }
}

function limits(options: RateLimitOptions = {}): RateLimitOptions {
  return { perIp: null, store: new MemoryStore({ clock: new FakeClock() }), ...options };
}

checkNestVersion();

describe.each(ADAPTERS)("an app's own tests on %s", (adapter) => {
  it('switch all limits off and on again', async () => {
    const app = await startApp(adapter, {
      rateLimit: limits({ perIp: { limit: 5, per: '1m' }, policies: { mail: { limit: 1, per: '1m' } } }),
      controllers: [Routes],
    });
    const service = app.app.get(RateLimitService);
    expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
    limitsOff(app.app);
    expect(await statuses(app, '/', 20)).toEqual(Array(20).fill(200));
    expect(await statuses(app, '/nope', 5)).toEqual(Array(5).fill(404));
    for (let call = 0; call < 3; call++)
      expect(await service.consume('mail', 'a')).toMatchObject({ allowed: true });
    limitsOn(app.app);
    // What was counted before still is, and nothing since.
    expect(await statuses(app, '/', 1)).toEqual([429]);
    expect(await statuses(app, '/free', 2)).toEqual([200, 429]);
    expect(await service.consume('mail', 'a')).toMatchObject({ allowed: true });
    expect(await service.consume('mail', 'a')).toMatchObject({ allowed: false });
  });

  it('forget everything that was counted, so that each starts afresh', async () => {
    const app = await startApp(adapter, {
      rateLimit: limits({ perIp: { limit: 5, per: '1m' }, policies: { mail: { limit: 1, per: '1m' } } }),
      controllers: [Routes],
    });
    const service = app.app.get(RateLimitService);
    for (let round = 0; round < 3; round++) {
      expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
      expect(await statuses(app, '/free', 3)).toEqual([200, 200, 429]);
      expect(await service.consume('mail', 'a')).toMatchObject({ allowed: true });
      expect(await service.consume('mail', 'a')).toMatchObject({ allowed: false });
      clearLimits(app.app);
    }
  });

  it('are told when the store is not theirs to clear', async () => {
    // A store of another kind, that counts as well.
    const store = new Proxy<RateLimitStore>(new MemoryStore(), {
      getPrototypeOf: () => RateLimitStore.prototype,
    });
    const app = await startApp(adapter, {
      rateLimit: limits({ store }),
      controllers: [Routes],
    });
    expect(() => clearLimits(app.app)).toThrow(/clearLimits\(\) works on a MemoryStore/);
    expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
  });
});

describe.each(ADAPTERS)('the life of an app on %s', (adapter) => {
  const create = (options: RateLimitOptions, controllers: Type[] = [Routes]) =>
    NestFactory.create(
      { module: class Root {}, imports: [RateLimitModule.forRoot(options)], controllers },
      createAdapter(adapter),
      { logger: false, abortOnError: false },
    );

  it('H08 leaves nothing behind after 200 boots', { timeout: 60_000 }, async () => {
    const shared = new Pass();

    @Controller()
    @UseGuards(shared)
    class Guarded {
      @Get()
      @Throttle({ limit: 2, per: '1m' })
      list(): void {}
    }
    const stores: WeakRef<object>[] = [];
    const cycle = async (): Promise<void> => {
      const app = await create({ authGuard: Pass }, [Guarded]);
      await app.init();
      stores.push(new WeakRef(app.get(RateLimitStore)));
      await app.close();
    };
    for (let warmUp = 0; warmUp < 5; warmUp++) await cycle();
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await settled();
    const before = timers();
    for (let boot = 0; boot < 200; boot++) await cycle();
    await settled();
    expect(timers()).toBeLessThanOrEqual(before);
    const alive = stores.filter((store) => store.deref() !== undefined);
    // The frame of the last cycle may still be on the stack.
    expect(alive.length).toBeLessThanOrEqual(1);
    expect(Object.hasOwn(shared, 'canActivate')).toBe(false);
  });

  it('ends its stream of events and may end twice', async () => {
    const app = await create(limits());
    await app.init();
    let ended = 0;
    app.get(RateLimitEvents).all$.subscribe({ complete: () => ended++ });
    await app.close();
    await app.close();
    expect(ended).toBe(1);
  });

  it('ends before it was initialised', async () => {
    const app = await create(limits());
    await expect(app.close()).resolves.toBeUndefined();
  });

  it(
    'H07 holds nothing of a request, and sets no timer for one, over 10,000 requests',
    { timeout: 120_000 },
    async () => {
      const als = new AsyncLocalStorage<unknown>();
      const app = await startApp(adapter, {
        rateLimit: {
          perIp: { limit: 1_000_000, per: '1m' },
          throttle: { limit: 1_000_000, per: '1m' },
          trustedProxies: ['127.0.0.1'],
        },
        controllers: [Routes],
        // 100 kB on the heap, in the context of each request.
        main: (nest) =>
          void nest.use((_request: unknown, _response: unknown, next: () => void) =>
            als.run(Array<number>(12_500).fill(0.5), next),
          ),
      });
      const timers = lateWork();
      const agent = new Agent({ keepAlive: true, maxSockets: 20 });
      onTestFinished(() => agent.destroy());
      const round = async (requests: number): Promise<void> => {
        for (let sent = 0; sent < requests; sent += 100) {
          await Promise.all(
            Array.from({ length: 100 }, async (_, index) => {
              const client = `10.0.${(sent / 100) % 256}.${index}`;
              const { status } = await send(app, '/free', { ...via(client), agent });
              expect(status).toBe(200);
            }),
          );
        }
      };
      await round(500);
      const before = await settled();
      await round(10_000);
      const grown = (await settled()) - before;
      expect(grown).toBeLessThan(20 * 2 ** 20);
      expect(timers).toEqual([]);
    },
  );
});

// On the built package, in a process of its own: `npm test` builds it first.
describe('a process', () => {
  const root = resolve(import.meta.dirname, '../..');
  const cwd = process.env.NEST_MAJOR === '11' ? resolve(root, 'test/nest11') : root;

  it.each([
    'NestFactory.create(AppModule, { logger: false })',
    'NestFactory.createApplicationContext(AppModule, { logger: false })',
  ])('H08 with an app that nobody closes ends by itself: %s', { timeout: 30_000 }, async (create) => {
    const script = `
        import 'reflect-metadata';
        import { Module } from '@nestjs/common';
        import { NestFactory } from '@nestjs/core';
        import { RateLimitModule, RateLimitService } from 'nestjs-tollgate';
        class AppModule {}
        Module({ imports: [RateLimitModule.forRoot()] })(AppModule);
        const app = await ${create};
        await app.init();
        const quota = { name: 'jobs', limit: 1, per: '1h' };
        const { allowed } = await app.get(RateLimitService).consume(quota, 'nightly');
        console.log('allowed', allowed);
      `;
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
      cwd,
      timeout: 20_000,
    });
    expect(stdout).toBe('allowed true\n');
  });
});

import {
  All,
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Patch,
  Post,
  Put,
  Query,
  Scope,
  Sse,
  UseGuards,
  UseInterceptors,
  VERSION_NEUTRAL,
  VersioningType,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { REQUEST, RouterModule } from '@nestjs/core';
import { RouterExecutionContext } from '@nestjs/core/router/router-execution-context.js';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { of, type Observable } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryStore, Throttle, type RateLimitOptions } from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp, type AppSetup, type RunningApp } from './support/app.js';
import { send, statuses } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

function limits(options: RateLimitOptions = {}): { rateLimit: RateLimitOptions } {
  return { rateLimit: { perIp: null, store: new MemoryStore({ clock: new FakeClock() }), ...options } };
}

/** A class of any name, as a minifier leaves it. */
function renamed<T extends Function>(type: T, name: string): T {
  return Object.defineProperty(type, 'name', { value: name });
}

/** A store, and the names of the buckets that it was asked for. */
function watchedStore() {
  const store = new MemoryStore({ clock: new FakeClock() });
  const consumed: { policy: string; namespace: string; key: string }[] = [];
  const { consume } = store;
  store.consume = (buckets) => {
    consumed.push(...buckets.map(({ policy, namespace, key }) => ({ policy, namespace, key })));
    return consume.call(store, buckets);
  };
  return { consumed, store };
}

/** The status of each path, one after the other. */
async function each(app: RunningApp, paths: string[], method = 'GET'): Promise<number[]> {
  const answers: number[] = [];
  for (const path of paths) answers.push((await send(app, path, { method })).status);
  return answers;
}

checkNestVersion();

describe.each(ADAPTERS)('the counter of a handler on %s', (adapter) => {
  const start = (setup: AppSetup) => startApp(adapter, setup);

  it('E02 is one for every spelling of its path', async () => {
    @Controller('reports')
    class Reports {
      @Get()
      @Throttle({ limit: 3, per: '1m' })
      list(): void {}
    }
    const app = await start({
      ...limits(),
      controllers: [Reports],
      ...(adapter === 'fastify' && {
        makeAdapter: () =>
          new FastifyAdapter({ routerOptions: { caseSensitive: false, ignoreTrailingSlash: true } }),
      }),
    });
    expect(await each(app, ['/reports', '/reports/', '/REPORTS', '/reports?x=1'])).toEqual([
      200, 200, 200, 429,
    ]);
  });

  it('E01 is spent by every spelling with more slashes that reaches the handler', async () => {
    @Controller('auth')
    class Auth {
      @Post('login')
      @Throttle({ limit: 3, per: '1m' })
      login(): void {}
    }
    const app = await start({
      ...limits(),
      controllers: [Auth],
      ...(adapter === 'fastify' && {
        makeAdapter: () => new FastifyAdapter({ routerOptions: { ignoreDuplicateSlashes: true } }),
      }),
    });
    const paths = [
      '/auth/login',
      '//auth/login',
      '/auth//login',
      '///auth/login',
      '/auth/login',
      '/auth/login',
      '/auth/login',
    ];
    const answers = await each(app, paths, 'POST');
    const reached = answers.filter((status) => status !== 404);
    expect(reached).toEqual([201, 201, 201, ...Array<number>(reached.length - 3).fill(429)]);
    expect(reached.length).toBeGreaterThan(adapter === 'fastify' ? 4 : 3);
  });

  it('E04 is one for all values of its parameters', async () => {
    @Controller('items')
    class Items {
      @Post(':id/lock')
      @Throttle({ limit: 3, per: '1m' })
      lock(): void {}
    }
    const app = await start({ ...limits(), controllers: [Items] });
    const paths = [1, 2, 3, 4].map((id) => `/items/${id}/lock`);
    expect(await each(app, paths, 'POST')).toEqual([201, 201, 201, 429]);
  });

  it('E05 is shared by HEAD, which is charged once', async () => {
    @Controller()
    class Routes {
      @Get('r')
      @Throttle({ limit: 2, per: '1m' })
      list(): string {
        return 'listed';
      }
    }
    const app = await start({ ...limits(), controllers: [Routes] });
    const head = await send(app, '/r', { method: 'HEAD' });
    expect([head.status, head.headers['ratelimit-remaining']]).toEqual([200, '1']);
    expect(await statuses(app, '/r', 1)).toEqual([200]);
    const refused = await send(app, '/r', { method: 'HEAD' });
    expect([refused.status, refused.headers['retry-after'], refused.body]).toEqual([429, '30', '']);
  });

  it('E06 is its own for each method of a path', async () => {
    @Controller('reports')
    @Throttle({ limit: 1, per: '1m' })
    class Reports {
      @Get()
      list(): void {}

      @Post()
      create(): void {}

      @Put()
      replace(): void {}

      @Patch()
      change(): void {}
    }
    const app = await start({ ...limits(), controllers: [Reports] });
    for (const method of ['GET', 'POST', 'PUT', 'PATCH']) {
      const first = method === 'POST' ? 201 : 200;
      expect(await statuses(app, '/reports', 2, { method })).toEqual([first, 429]);
    }
  });

  it('E06 is one for all methods of an @All, all its paths and all paths of its controller', async () => {
    @Controller(['a', 'b'])
    @Throttle({ limit: 3, per: '1m' })
    class Routes {
      @Get(['x', 'y'])
      list(): void {}

      @All('all')
      all(): void {}
    }
    const app = await start({ ...limits(), controllers: [Routes] });
    expect(await each(app, ['/a/x', '/b/y', '/a/y', '/b/x'])).toEqual([200, 200, 200, 429]);
    expect(await statuses(app, '/a/all', 1)).toEqual([200]);
    expect(await statuses(app, '/a/all', 1, { method: 'PUT' })).toEqual([200]);
    expect(await statuses(app, '/b/all', 2, { method: 'POST' })).toEqual([200, 429]);
  });

  it('is one for all versions of a handler, and another for another handler of the version', async () => {
    @Controller({ path: 'items', version: ['1', '2'] })
    @Throttle({ limit: 2, per: '1m' })
    class Items {
      @Get()
      list(): void {}
    }

    @Controller({ path: 'items', version: '3' })
    @Throttle({ limit: 2, per: '1m' })
    class NewItems {
      @Get()
      list(): void {}
    }

    @Controller('mixed')
    @Throttle({ limit: 1, per: '1m' })
    class Mixed {
      @Get()
      old(): void {}
    }
    const versioned = (main: (app: INestApplication) => void, mixed: Type) =>
      start({ ...limits(), controllers: [Items, NewItems, mixed], main });
    const byUri = await versioned(
      (app) =>
        void app.enableVersioning({ type: VersioningType.URI, defaultVersion: [VERSION_NEUTRAL, '1'] }),
      Mixed,
    );
    expect(await each(byUri, ['/v1/items', '/v2/items', '/v1/items'])).toEqual([200, 200, 429]);
    expect(await each(byUri, ['/v3/items', '/v3/items', '/v3/items'])).toEqual([200, 200, 429]);
    expect(await each(byUri, ['/mixed', '/v1/mixed'])).toEqual([200, 429]);

    const byHeader = await versioned(
      (app) =>
        void app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version', defaultVersion: '1' }),
      Mixed,
    );
    const answers: number[] = [];
    for (const version of ['1', '2', '1', '3', '3', '3']) {
      answers.push((await send(byHeader, '/items', { headers: { 'x-version': version } })).status);
    }
    expect(answers).toEqual([200, 200, 429, 200, 200, 429]);
  });

  it.each(['ItemsController', 'a', ''])(
    'C09 is its own for controllers of one name (%j) in two modules',
    async (name) => {
      const make = (path: string): Type => {
        @Controller(path)
        class ItemsController {
          @Get()
          @Throttle({ limit: 1, per: '1m' })
          list(): void {}
        }

        @Module({ controllers: [renamed(ItemsController, name)] })
        class ItemsModule {}
        return ItemsModule;
      };
      const app = await start({ ...limits(), imports: [make('v1/items'), make('v2/items')] });
      expect(await each(app, ['/v1/items', '/v2/items', '/v1/items', '/v2/items'])).toEqual([
        200, 200, 429, 429,
      ]);
    },
  );

  it('is its own for handlers of one name in one class', async () => {
    @Controller()
    @Throttle({ limit: 1, per: '1m' })
    class Routes {
      @Get('a')
      a(): void {}

      @Get('b')
      b(): void {}
    }
    renamed(Routes.prototype.a, 'x');
    renamed(Routes.prototype.b, 'x');

    const app = await start({ ...limits(), controllers: [Routes] });
    expect(await each(app, ['/a', '/b', '/a', '/b'])).toEqual([200, 200, 429, 429]);
  });

  it('is its own under each prefix of RouterModule', async () => {
    const make = (): Type => {
      @Controller('items')
      class Items {
        @Get()
        @Throttle({ limit: 1, per: '1m' })
        list(): void {}
      }

      @Module({ controllers: [Items] })
      class ItemsModule {}
      return ItemsModule;
    };
    const [shop, admin] = [make(), make()];
    const { consumed, store } = watchedStore();
    const app = await start({
      rateLimit: { perIp: null, store },
      imports: [
        shop,
        admin,
        RouterModule.register([
          { path: 'shop', module: shop },
          { path: 'admin', module: admin },
        ]),
      ],
      prefix: 'api',
    });
    const paths = ['/api/shop/items', '/api/admin/items', '/api/shop/items', '/api/admin/items'];
    expect(await each(app, paths)).toEqual([200, 200, 429, 429]);
    expect(consumed.slice(0, 2).map(({ policy }) => policy)).toEqual(['GET /shop/items', 'GET /admin/items']);
  });

  it('holds in request-scoped controllers, and behind guards and interceptors of a request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest implements CanActivate, NestInterceptor {
      constructor(@Inject(REQUEST) readonly request: unknown) {}

      canActivate(): boolean {
        return this.request !== undefined;
      }

      intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
        return next.handle();
      }
    }

    @Controller({ path: 'scoped', scope: Scope.REQUEST })
    class Scoped {
      @Get()
      @Throttle({ limit: 2, per: '1m' })
      list(): void {}
    }

    @Controller('bubbled')
    @Throttle({ limit: 2, per: '1m' })
    class Bubbled {
      constructor(readonly service: PerRequest) {}

      @Get()
      list(): void {}
    }

    @Controller('guarded')
    @Throttle({ limit: 2, per: '1m' })
    class Guarded {
      @Get()
      @UseGuards(PerRequest)
      @UseInterceptors(PerRequest)
      list(@Query('x') _x: string): void {}
    }
    const app = await start({
      ...limits(),
      controllers: [Scoped, Bubbled, Guarded],
      providers: [PerRequest],
    });
    for (const path of ['/scoped', '/bubbled', '/guarded']) {
      expect(await statuses(app, path, 3)).toEqual([200, 200, 429]);
    }
  });

  it('holds for a stream of events', async () => {
    @Controller()
    class Events {
      @Sse('events')
      @Throttle({ limit: 1, per: '1m' })
      stream(): Observable<{ data: string }> {
        return of({ data: 'one' });
      }
    }
    const app = await start({ ...limits(), controllers: [Events] });
    expect(await statuses(app, '/events', 2)).toEqual([200, 429]);
  });

  it('holds where a tracing library puts its own function in the place of the handler', async () => {
    @Controller()
    class Routes {
      @Get()
      @Throttle({ limit: 1, per: '1m' })
      list(): string {
        return 'listed';
      }
    }
    // As OpenTelemetry instruments Nest: a wrapper with the same name and metadata.
    const { create } = RouterExecutionContext.prototype;
    onTestFinished(() => {
      RouterExecutionContext.prototype.create = create;
    });
    RouterExecutionContext.prototype.create = function (this: RouterExecutionContext, ...args) {
      const [, handler] = args;
      const traced = function (this: unknown, ...given: unknown[]): unknown {
        return handler.apply(this, given);
      };
      renamed(traced, handler.name);
      for (const key of Reflect.getMetadataKeys(handler)) {
        Reflect.defineMetadata(key, Reflect.getMetadata(key, handler), traced);
      }
      args[1] = traced;
      return create.apply(this, args);
    } as typeof create;
    const app = await start({ ...limits(), controllers: [Routes] });
    expect(await statuses(app, '/', 2)).toEqual([200, 429]);
  });

  it('is named the same in every process', async () => {
    @Controller(['b', 'a'])
    class Routes {
      @Get(['y', ':id/x'])
      @Throttle({ limit: 1, per: '1m' })
      list(): void {}
    }
    const names: unknown[] = [];
    for (let boot = 0; boot < 2; boot++) {
      const { consumed, store } = watchedStore();
      const app = await start({ rateLimit: { perIp: null, store }, controllers: [Routes] });
      await send(app, '/b/y');
      names.push(consumed);
    }
    expect(names[0]).toEqual([
      { policy: 'GET /a/:id/x', namespace: 'network:route GET /a/:id/x #1', key: '127.0.0.1' },
    ]);
    expect(names[1]).toEqual(names[0]);
  });
});

// Nest's Fastify adapter refuses to boot with two handlers of one path.
describe('the counter of a handler that shares its path with another, on Express', () => {
  const start = (setup: AppSetup) => startApp('express', setup);

  it('is its own for each host', async () => {
    @Controller({ host: 'admin.example', path: 'items' })
    @Throttle({ limit: 1, per: '1m' })
    class Admin {
      @Get()
      list(): string {
        return 'admin';
      }
    }

    @Controller({ host: ['shop.example', 'store.example'], path: 'items' })
    @Throttle({ limit: 2, per: '1m' })
    class Shop {
      @Get()
      list(): string {
        return 'shop';
      }
    }
    const app = await start({ ...limits(), controllers: [Admin, Shop] });
    const answers: string[] = [];
    for (const host of ['admin.example', 'admin.example', 'shop.example', 'store.example', 'shop.example']) {
      const { status, body } = await send(app, '/items', { headers: { host } });
      answers.push(status === 200 ? body : String(status));
    }
    expect(answers).toEqual(['admin', '429', 'shop', 'shop', '429']);
  });

  it('is its own for a handler that another one of its route hides', async () => {
    @Controller()
    class Routes {
      @Get('a')
      @Throttle({ limit: 2, per: '1m' })
      a(): void {}
    }

    @Controller()
    class Hidden {
      @Get(['a', 'b'])
      @Throttle({ limit: 1, per: '1m' })
      a(): void {}
    }
    const app = await start({ ...limits(), controllers: [Routes, Hidden] });
    expect(await each(app, ['/b', '/b', '/a', '/a', '/a'])).toEqual([200, 429, 200, 200, 429]);
  });

  it('holds for a controller that two modules have', async () => {
    @Controller('items')
    class Items {
      @Get()
      @Throttle({ limit: 2, per: '1m' })
      list(): void {}
    }

    @Module({ controllers: [Items] })
    class A {}

    @Module({ controllers: [Items] })
    class B {}
    const app = await start({ ...limits(), imports: [A, B] });
    expect(await statuses(app, '/items', 3)).toEqual([200, 200, 429]);
  });
});

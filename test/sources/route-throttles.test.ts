import {
  Controller,
  Get,
  Injectable,
  Module,
  Post,
  UseGuards,
  type CanActivate,
  type MiddlewareConsumer,
  type NestModule,
  type Type,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import { Throttle, throttle, TollgateError, type RateLimitOptions } from '../../lib/index.js';
import { ADAPTERS, startApp } from '../e2e/support/app.js';
import { send, statuses, via } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { as, HeaderAuth, timed } from './support/http.js';

const POST = { method: 'POST' };

checkNestVersion();

describe.each(ADAPTERS)('route throttles on %s', (adapter) => {
  async function start(controllers: Type[], options: RateLimitOptions = {}, imports: Type[] = []) {
    const { clock, rateLimit } = timed({
      perIp: null,
      trustedProxies: ['127.0.0.1'],
      authGuard: HeaderAuth,
      ...options,
    });
    const providers = [{ provide: APP_GUARD, useClass: HeaderAuth }];
    return { ...(await startApp(adapter, { controllers, providers, imports, rateLimit })), clock };
  }

  it('SB-03 any route may have its own limit beside that of the address, counted per user', async () => {
    @Controller()
    class Routes {
      @Get('tight')
      @Throttle({ limit: 1, per: '1m' })
      tight(): void {}

      @Get('free')
      free(): void {}
    }
    const app = await start([Routes], { perIp: { limit: 6, per: '1m' } });
    expect(await statuses(app, '/tight', 2, as('ada'))).toEqual([200, 429]);
    expect(await statuses(app, '/tight', 2, as('bob'))).toEqual([200, 429]);
    // Both users are one address, which has sent four requests by now.
    expect(await statuses(app, '/free', 3, as('ada'))).toEqual([200, 200, 429]);
  });

  it('SB-21 a decorator makes a route tighter, and leaves the one beside it alone', async () => {
    @Controller('reports')
    class Reports {
      @Get()
      list(): void {}

      @Post()
      @Throttle({ limit: 2, per: '1m' })
      generate(): void {}
    }
    const app = await start([Reports]);
    expect(await statuses(app, '/reports', 3, POST)).toEqual([201, 201, 429]);
    expect(await statuses(app, '/reports', 5)).toEqual(Array(5).fill(200));
  });

  it('SB-22 users are counted wherever they are, guests by their address', async () => {
    @Controller()
    class Routes {
      @Get('reports')
      @Throttle({ limit: 1, per: '1m' })
      reports(): void {}
    }
    const app = await start([Routes]);
    const status = async (client: string, user?: string) => {
      const headers = { ...via(client).headers, ...(user === undefined ? {} : as(user).headers) };
      return (await send(app, '/reports', { headers })).status;
    };
    expect(await status('192.0.2.1', 'ada')).toBe(200);
    expect(await status('192.0.2.2', 'ada')).toBe(429);
    expect(await status('192.0.2.1', 'bob')).toBe(200);
    expect(await status('192.0.2.1')).toBe(200);
    expect(await status('192.0.2.1')).toBe(429);
    expect(await status('192.0.2.2')).toBe(200);
    // A user whose id is the text of an address is not that guest.
    expect(await status('192.0.2.9', '192.0.2.1')).toBe(200);
  });

  it('SB-23 the one call too many within the time is refused; ms, s, m and h are understood', async () => {
    @Controller()
    class Routes {
      @Post('reports')
      @Throttle({ limit: 10, per: '1m' })
      reports(): void {}

      @Get('500ms')
      @Throttle({ limit: 1, per: '500ms' })
      milliseconds(): void {}

      @Get('30s')
      @Throttle({ limit: 1, per: '30s' })
      seconds(): void {}

      @Get('1h')
      @Throttle({ limit: 1, per: '1h' })
      hour(): void {}
    }
    const app = await start([Routes]);
    expect(await statuses(app, '/reports', 10, POST)).toEqual(Array(10).fill(201));
    const eleventh = await send(app, '/reports', POST);
    expect([eleventh.status, eleventh.headers['retry-after']]).toEqual([429, '6']);
    for (const [path, wait] of [
      ['/500ms', '1'],
      ['/30s', '30'],
      ['/1h', '3600'],
    ]) {
      expect(await statuses(app, path, 1)).toEqual([200]);
      expect((await send(app, path)).headers['retry-after']).toBe(wait);
    }
    app.clock.advance('500ms');
    expect(await statuses(app, '/500ms', 2)).toEqual([200, 429]);
    app.clock.advance('29500ms');
    expect(await statuses(app, '/30s', 2)).toEqual([200, 429]);
    app.clock.advance('1h');
    expect(await statuses(app, '/1h', 2)).toEqual([200, 429]);
  });

  it('SB-25 routes written by hand have the same as middleware', async () => {
    @Controller()
    class Routes {
      @Post('exports')
      exports(): string {
        return 'queued';
      }

      @Post('imports')
      imports(): string {
        return 'queued';
      }
    }
    @Module({})
    class ByHand implements NestModule {
      configure(consumer: MiddlewareConsumer): void {
        consumer.apply(throttle({ name: 'exports', limit: 5, per: '1m' })).forRoutes('exports');
      }
    }
    const app = await start([Routes], {}, [ByHand]);
    expect(await statuses(app, '/exports', 6, POST)).toEqual([...Array<number>(5).fill(201), 429]);
    expect((await send(app, '/exports', POST)).headers['retry-after']).toBe('12');
    expect(await statuses(app, '/imports', 6, POST)).toEqual(Array(6).fill(201));
  });

  it('SB-27 no two routes have a counter in common, be they of one path or of one class name', async () => {
    function named(path: string): Type {
      @Controller(path)
      class Routes {
        @Get()
        @Throttle({ limit: 1, per: '1m' })
        read(): void {}

        @Post()
        @Throttle({ limit: 1, per: '1m' })
        write(): void {}
      }
      return Routes;
    }
    const app = await start([named('a'), named('b')]);
    for (const path of ['/a', '/b']) {
      expect(await statuses(app, path, 2)).toEqual([200, 429]);
      expect(await statuses(app, path, 2, POST)).toEqual([201, 429]);
    }
  });

  it('SB-28 a decorator on the class gives each of its routes a limit, and the own one of a route replaces it', async () => {
    @Controller('search')
    @Throttle({ limit: 2, per: '1m' })
    class Search {
      @Get()
      search(): void {}

      @Get('help')
      help(): void {}

      @Get('suggest')
      @Throttle({ limit: 5, per: '1m' })
      suggest(): void {}
    }
    const app = await start([Search]);
    expect(await statuses(app, '/search', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/search/help', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/search/suggest', 6)).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it('SB-29 it runs behind authentication and ahead of other guards: calls that end in 403 count', async () => {
    let asked = 0;
    @Injectable()
    class Roles implements CanActivate {
      canActivate(): boolean {
        asked++;
        return false;
      }
    }
    @Controller()
    class Routes {
      @Get('admin')
      @UseGuards(Roles)
      @Throttle({ limit: 2, per: '1m' })
      admin(): void {}
    }
    const app = await start([Routes]);
    expect(await statuses(app, '/admin', 4, as('ada'))).toEqual([403, 403, 429, 429]);
    expect(asked).toBe(2);
    // Who was authenticated is known by then.
    expect(await statuses(app, '/admin', 1, as('bob'))).toEqual([403]);
  });
});

describe('the numbers of a throttle', () => {
  it('SB-24 are above 0: the compiler refuses others, and so does the class when it is loaded', () => {
    const refused: (() => unknown)[] = [
      // @ts-expect-error 0 is no limit
      () => Throttle({ limit: 0, per: '1m' }),
      // @ts-expect-error nor is anything below
      () => Throttle({ limit: -1, per: '1m' }),
      // @ts-expect-error 0 is no duration
      () => Throttle({ limit: 1, per: '0s' }),
      // @ts-expect-error nor is one without a unit
      () => Throttle({ limit: 1, per: '60' }),
    ];
    for (const make of refused) {
      expect(() => (make() as MethodDecorator)({}, 'route', { value: () => {} })).toThrow(TollgateError);
    }
  });
});

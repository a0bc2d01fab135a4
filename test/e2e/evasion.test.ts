// Ways around limits that were tried: each is closed for its whole kind.

import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Next,
  Scope,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import {
  ClientIp,
  MemoryStore,
  RateLimitModule,
  RateLimitService,
  throttle,
  Throttle,
  ThrottleGuard,
} from '../../lib/index.js';
import { ADAPTERS, startApp, type RunningApp } from './support/app.js';
import { send, statuses } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

checkNestVersion();

const OFF = { perIp: null };
const ONE = { limit: 1, per: '1h' } as const;

interface WithUser {
  headers: Record<string, string | undefined>;
  user?: unknown;
}

@Injectable()
class KeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<WithUser>();
    const key = request.headers['x-key'];
    if (key !== undefined) request.user = { id: key };
    return true;
  }
}

@Injectable()
class EitherGuard implements CanActivate {
  constructor(@Inject(KeyGuard) private readonly key: KeyGuard) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    try {
      await Promise.resolve(this.key.canActivate(context));
    } catch {
      // The next way to authenticate.
    }
    return true;
  }
}

@Injectable()
class PublicGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

const key = (name: string) => ({ headers: { 'x-key': name } });

describe.each(ADAPTERS)('limits hold on %s', (adapter) => {
  it('when a guard of the app swallows a refusal', async () => {
    @Controller()
    class Routes {
      @Get('either')
      @UseGuards(EitherGuard)
      @Throttle(ONE)
      either(): string {
        return 'ok';
      }

      @Get('both')
      @UseGuards(EitherGuard, KeyGuard)
      @Throttle(ONE)
      both(): string {
        return 'ok';
      }
    }
    for (const authGuard of [[KeyGuard, EitherGuard], KeyGuard]) {
      const app = await startApp(adapter, {
        rateLimit: { ...OFF, authGuard },
        controllers: [Routes],
        providers: [KeyGuard],
      });
      expect(await statuses(app, '/both', 3)).toEqual([200, 429, 429]);
      if (Array.isArray(authGuard)) expect(await statuses(app, '/either', 3)).toEqual([200, 429, 429]);
    }
  });

  it('by user where the last of several auth guards knows the user', async () => {
    @Controller()
    class Routes {
      @Get()
      @UseGuards(KeyGuard)
      @Throttle(ONE)
      get(): string {
        return 'ok';
      }
    }
    const app = await startApp(adapter, {
      rateLimit: { ...OFF, authGuard: [PublicGuard, KeyGuard] },
      controllers: [Routes],
      providers: [{ provide: APP_GUARD, useClass: PublicGuard }],
    });
    expect(await statuses(app, '/', 2, key('ada'))).toEqual([200, 429]);
    expect(await statuses(app, '/', 2, key('bob'))).toEqual([200, 429]);
  });

  it('where the app binds ThrottleGuard in front of what may authenticate, which is said at boot', async () => {
    @Controller()
    class Routes {
      @Get()
      @Throttle(ONE)
      get(): string {
        return 'ok';
      }
    }
    const app = await startApp(adapter, {
      rateLimit: OFF,
      controllers: [Routes],
      providers: [
        { provide: APP_GUARD, useClass: ThrottleGuard },
        { provide: APP_GUARD, useClass: KeyGuard },
      ],
    });
    expect(app.log.own('warn')).toEqual([
      expect.stringMatching(/^ThrottleGuard is bound globally in front of other guards/),
    ]);
    expect(await statuses(app, '/', 2, key('ada'))).toEqual([200, 429]);
  });

  it('for handlers that a controller binds to itself', async () => {
    @Controller()
    class Routes {
      constructor() {
        this.get = this.get.bind(this);
      }

      @Get()
      @Throttle(ONE)
      get(): string {
        return 'ok';
      }
    }
    const app = await startApp(adapter, { rateLimit: OFF, controllers: [Routes] });
    expect(await statuses(app, '/', 3)).toEqual([200, 429, 429]);
  });

  it('for a user object that can’t be read, by network and without a 500', async () => {
    const users = [
      Object.defineProperty({}, 'id', {
        get: () => {
          throw new Error('no');
        },
      }),
      {
        id: {
          toString: () => {
            throw new Error('no');
          },
        },
      },
      Proxy.revocable({}, {}).proxy,
    ];
    for (const [index, user] of users.entries()) {
      @Injectable()
      class Broken implements CanActivate {
        canActivate(context: ExecutionContext): boolean {
          if (index === 2) {
            const { proxy, revoke } = Proxy.revocable({}, {});
            context.switchToHttp().getRequest<WithUser>().user = proxy;
            revoke();
          } else context.switchToHttp().getRequest<WithUser>().user = user;
          return true;
        }
      }
      @Controller()
      class Routes {
        @Get()
        @Throttle(ONE)
        get(): string {
          return 'ok';
        }
      }
      const app = await startApp(adapter, {
        rateLimit: { ...OFF, authGuard: Broken },
        controllers: [Routes],
        providers: [{ provide: APP_GUARD, useClass: Broken }],
      });
      expect(await statuses(app, '/', 2), `user ${index}`).toEqual([200, 429]);
    }
  });

  it.each([
    ['an object without a prototype', () => Object.create(null)],
    ['an error whose message is a symbol', () => Object.assign(new Error('x'), { message: Symbol('x') })],
    ['a text with a secret', () => new Error('Bearer SECRET\n[Nest] forged line')],
  ])('when functions of the app throw %s, which is never logged', async (_, thrown) => {
    const fail = (): never => {
      throw thrown();
    };
    @Controller()
    class Routes {
      @Get()
      @Throttle({ limit: fail, per: '1h', by: fail })
      get(): string {
        return 'ok';
      }
    }
    const app = await startApp(adapter, {
      rateLimit: { perIp: { limit: fail, per: '1h' }, skipIf: fail, identify: fail },
      controllers: [Routes],
    });
    expect(await statuses(app, '/', 2)).toEqual([200, 429]);
    const { log } = app;
    expect(JSON.stringify([log.own('warn'), log.own('error')])).not.toMatch(/SECRET|forged/);
  });

  it('A13 a client that is gone before it is seen is nobody’s proxy: its headers are not believed', async () => {
    const seen: (string | null)[] = [];
    @Controller()
    class Routes {
      @Get()
      get(@ClientIp() ip: string | null): string {
        seen.push(ip);
        return 'ok';
      }
    }
    const app = await startApp(adapter, {
      rateLimit: { perIp: { limit: 1_000, per: '1h' }, trustedProxies: ['unix'] },
      controllers: [Routes],
    });
    for (let i = 0; i < 30; i++) await reset(app, `198.51.100.${i}`);
    await wait(200);
    expect(seen.filter((ip) => ip?.startsWith('198.51.100.'))).toEqual([]);
  });

  it('an OPTIONS that names no method to ask for is no preflight', async () => {
    const app = await startApp(adapter, { rateLimit: { perIp: { limit: 2, per: '1h' } } });
    const headers = { origin: 'https://a.example', 'access-control-request-method': '' };
    expect((await statuses(app, '/x', 3, { method: 'OPTIONS', headers }))[2]).toBe(429);
  });

  it('once per request and middleware, however often it is bound', async () => {
    const limited = throttle({ name: 'exports', limit: 2, per: '1h' });
    const app = await startApp(adapter, {
      rateLimit: OFF,
      main: (made) => {
        made.use('/exports', limited);
        made.use('/exports', limited);
      },
    });
    expect(await statuses(app, '/exports', 3)).toEqual([404, 404, 429]);
  });

  it('a receipt is good in the app that issued it only', async () => {
    const policies = { mails: { limit: 10, per: '1h' } };
    const one = await startApp(adapter, { rateLimit: { policies, store: new MemoryStore() } });
    const two = await startApp(adapter, { rateLimit: { policies, store: new MemoryStore() } });
    const { receipt } = await one.app.get(RateLimitService).consume('mails', 'ada@x.example', 5);
    const service = two.app.get(RateLimitService);
    await service.consume('mails', 'ada@x.example', 5);
    if (receipt === null) throw new Error('charged');
    await expect(service.refund(receipt)).rejects.toThrow(RangeError);
    await expect(service.refund(null as never)).rejects.toThrow(RangeError);
    expect(await one.app.get(RateLimitService).refund(receipt, 0)).toBe(false);
    expect(await one.app.get(RateLimitService).refund(receipt)).toBe(true);
    expect(JSON.stringify({ receipt })).not.toContain('ada');
  });

  it('an import of the module without forRoot() fails the boot: nothing would be limited', async () => {
    const boot = startApp(adapter, { rateLimit: null, imports: [RateLimitModule as never] });
    await expect(boot).rejects.toThrow(/without forRoot\(\), so nothing is limited/);
  });

  it('a guard called with a context of the app’s own making works as before', async () => {
    const app = await startApp(adapter, {
      rateLimit: { ...OFF, authGuard: KeyGuard },
      providers: [{ provide: APP_GUARD, useExisting: KeyGuard }, KeyGuard],
    });
    const request: WithUser = { headers: { 'x-key': 'ada' } };
    const context = { switchToHttp: () => ({ getRequest: () => request }) };
    expect(app.app.get(KeyGuard).canActivate(context as never)).toBe(true);
  });
});

describe('limits hold on express', () => {
  it('in an app that is mounted in another', async () => {
    @Controller()
    class Routes {
      @Get('limited')
      @Throttle(ONE)
      get(): string {
        return 'ok';
      }
    }
    const inner = await startApp('express', {
      rateLimit: { perIp: { limit: 3, per: '1h' } },
      controllers: [Routes],
    });
    const outer = await startApp('express', {
      rateLimit: { perIp: { limit: 100, per: '1h' } },
      main: (app) => void app.use('/sub', inner.app.getHttpAdapter().getInstance()),
    });
    expect(await statuses(outer, '/sub/limited', 4)).toEqual([200, 429, 429, 429]);
  });

  it('in a second handler that the first one passes a request on to', async () => {
    @Controller()
    class Routes {
      @Get('a')
      first(@Next() next: () => void): void {
        next();
      }

      @Get('a')
      @Throttle(ONE)
      second(): string {
        return 'ok';
      }
    }
    const app = await startApp('express', {
      rateLimit: { ...OFF, throttle: { limit: 100, per: '1h' } },
      controllers: [Routes],
    });
    expect(await statuses(app, '/a', 3)).toEqual([200, 429, 429]);
  });

  it('on what main.ts adds to the adapter or to Express itself', async () => {
    const app = await startApp('express', {
      rateLimit: { perIp: { limit: 2, per: '1h' } },
      main: (made) => {
        const http = made.getHttpAdapter();
        http.get('/raw', (_request: unknown, response: { end(text: string): void }) => response.end('raw'));
      },
    });
    expect(await statuses(app, '/raw', 3)).toEqual([200, 200, 429]);
    const behind = await startApp('express', {
      rateLimit: { perIp: { limit: 2, per: '1h' } },
      main: (made) => {
        const express = made.getHttpAdapter().getInstance();
        express.get('/own', (_request: unknown, response: { end(text: string): void }) =>
          response.end('own'),
        );
      },
    });
    expect(await statuses(behind, '/own', 3)).toEqual([200, 200, 429]);
  });

  it('whatever middleware of the app puts under request.raw', async () => {
    for (const raw of ['text', Buffer.from('body'), { shared: true }]) {
      @Controller()
      class Routes {
        @Get()
        @Throttle({ limit: 2, per: '1h' })
        get(@ClientIp() ip: string | null): string {
          return String(ip);
        }
      }
      const app = await startApp('express', {
        rateLimit: OFF,
        controllers: [Routes],
        main: (made) =>
          void made.use((request: { raw?: unknown }, _: unknown, next: () => void) => {
            request.raw = raw;
            next();
          }),
      });
      expect((await send(app, '/')).body).toBe('127.0.0.1');
      expect(await statuses(app, '/', 2)).toEqual([200, 429]);
    }
  });

  it('a guard of request scope that isn’t named still runs, and handlers keep their limits', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped extends KeyGuard {}
    @Controller()
    class Routes {
      @Get()
      @UseGuards(Scoped)
      @Throttle(ONE)
      get(): string {
        return 'ok';
      }
    }
    const app = await startApp('express', { rateLimit: OFF, controllers: [Routes] });
    expect(await statuses(app, '/', 2, key('ada'))).toEqual([200, 429]);
  });
});

/** Sends a request and resets the connection at once. */
function reset(app: RunningApp, forged: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(app.port, '127.0.0.1', () => {
      socket.write(`GET / HTTP/1.1\r\nhost: a\r\nx-forwarded-for: ${forged}\r\n\r\n`, () => {
        socket.resetAndDestroy();
        resolve();
      });
    });
    socket.on('error', reject);
  });
}

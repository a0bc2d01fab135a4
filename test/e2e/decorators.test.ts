import { Controller, Get, Injectable } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { MemoryStore, SkipThrottle, Throttle, type RateLimitOptions } from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, failedBoot, startApp, type AppSetup } from './support/app.js';
import { send, statuses } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

function limits(options: RateLimitOptions = {}): { clock: FakeClock; rateLimit: RateLimitOptions } {
  const clock = new FakeClock();
  return { clock, rateLimit: { perIp: null, store: new MemoryStore({ clock }), ...options } };
}

const SHORT_AND_LONG = [
  { limit: 1, per: '1s', name: 'short' },
  { limit: 2, per: '1m', name: 'long' },
];

checkNestVersion();

describe.each(ADAPTERS)('decorators on %s', (adapter) => {
  const start = (setup: AppSetup) => startApp(adapter, setup);

  it('D02 @SkipThrottle() lifts every throttle, by name only those named, per IP never', async () => {
    @Controller()
    class Routes {
      @Get('health')
      @SkipThrottle()
      health(): void {}

      @Get('x')
      @SkipThrottle({ short: true })
      x(): void {}

      @Get('y')
      @SkipThrottle({ short: true, long: true })
      y(): void {}

      @Get('z')
      @SkipThrottle({ short: false })
      z(): void {}
    }
    const { rateLimit } = limits({ throttle: SHORT_AND_LONG });
    const app = await start({ rateLimit, controllers: [Routes] });
    expect(await statuses(app, '/health', 20)).toEqual(Array(20).fill(200));
    expect((await send(app, '/health')).headers).not.toHaveProperty('ratelimit-limit');
    expect(await statuses(app, '/x', 2)).toEqual([200, 200]);
    const long = await send(app, '/x');
    expect([long.status, long.headers['ratelimit-limit']]).toEqual([429, '2']);
    expect(await statuses(app, '/y', 5)).toEqual(Array(5).fill(200));
    expect(await statuses(app, '/z', 2)).toEqual([200, 429]);

    const limited = limits({ throttle: SHORT_AND_LONG, perIp: { limit: 3, per: '1m' } });
    const perIp = await start({ rateLimit: limited.rateLimit, controllers: [Routes] });
    expect(await statuses(perIp, '/health', 4)).toEqual([200, 200, 200, 429]);
  });

  it("D03 a method's word beats its class's, both ways and for every kind", async () => {
    @Controller('skipped')
    @SkipThrottle()
    @Throttle({ limit: 1, per: '1m' })
    class Skipped {
      @Get('a')
      @SkipThrottle(false)
      a(): void {}

      @Get('b')
      b(): void {}
    }

    @Controller('limited')
    @Throttle({ limit: 1, per: '1m' })
    class Limited {
      @Get('a')
      @SkipThrottle()
      a(): void {}

      @Get('b')
      b(): void {}

      @Get('c')
      @Throttle({ limit: 3, per: '1m' })
      c(): void {}
    }
    const app = await start({ ...limits(), controllers: [Skipped, Limited] });
    expect(await statuses(app, '/skipped/a', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/skipped/b', 5)).toEqual(Array(5).fill(200));
    expect(await statuses(app, '/limited/a', 5)).toEqual(Array(5).fill(200));
    expect(await statuses(app, '/limited/b', 2)).toEqual([200, 429]);
    expect((await send(app, '/limited/c')).headers['ratelimit-limit']).toBe('3');
    expect(await statuses(app, '/limited/c', 3)).toEqual([200, 200, 429]);
  });

  it("skips by names of the handler's own quotas and of policies", async () => {
    @Controller()
    @SkipThrottle({ burst: true, exports: true })
    class Routes {
      @Get('a')
      @Throttle([
        { limit: 1, per: '1m', name: 'burst' },
        { limit: 3, per: '1m' },
      ])
      a(): void {}

      @Get('b')
      @Throttle(['exports', { limit: 2, per: '1m' }])
      b(): void {}

      @Get('c')
      c(): void {}
    }
    const { rateLimit } = limits({ policies: { exports: { limit: 1, per: '1m' } } });
    const app = await start({ rateLimit, controllers: [Routes] });
    expect(await statuses(app, '/a', 4)).toEqual([200, 200, 200, 429]);
    expect(await statuses(app, '/b', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/c', 3)).toEqual([200, 200, 200]);
  });

  it('skips no limit whose name only looks like a word of the language', async () => {
    @Controller()
    class Routes {
      @Get()
      @SkipThrottle({ other: true })
      @Throttle([
        { limit: 1, per: '1m', name: 'constructor' },
        { limit: 9, per: '1m', name: 'other' },
      ])
      list(): void {}
    }
    const app = await start({ ...limits(), controllers: [Routes] });
    expect(await statuses(app, '/', 2)).toEqual([200, 429]);
  });

  it('D04 an override keeps what its base says, and each concrete controller counts by itself', async () => {
    class Base {
      @Get('list')
      @Throttle({ limit: 1, per: '1m' })
      list(): void {}
    }

    @Controller('q')
    class Q extends Base {
      @Get('list')
      override list(): void {}
    }

    @Controller('loud')
    class Loud extends Base {
      @Get('list')
      @Throttle({ limit: 2, per: '1m' })
      override list(): void {}
    }

    @Controller('skipping')
    class Skipping extends Base {
      @Get('list')
      @SkipThrottle()
      override list(): void {}
    }

    @Controller('r1')
    class R1 extends Base {}

    @Controller('r2')
    class R2 extends Base {}
    const app = await start({ ...limits(), controllers: [Q, Loud, Skipping, R1, R2] });
    expect(await statuses(app, '/q/list', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/loud/list', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/skipping/list', 3)).toEqual([200, 200, 200]);
    expect(await statuses(app, '/r1/list', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/r2/list', 2)).toEqual([200, 429]);
  });

  it('D04 a throttle on an abstract base class holds for the routes of all subclasses', async () => {
    @Throttle({ limit: 1, per: '1m' })
    abstract class Base {
      @Get('a')
      a(): void {}
    }

    @Controller('one')
    class One extends Base {
      @Get('b')
      b(): void {}
    }

    @Controller('two')
    class Two extends Base {}

    @Controller('three')
    @Throttle({ limit: 2, per: '1m' })
    class Three extends Base {}
    const app = await start({ ...limits(), controllers: [One, Two, Three] });
    for (const path of ['/one/a', '/one/b', '/two/a']) {
      expect(await statuses(app, path, 2)).toEqual([200, 429]);
    }
    expect(await statuses(app, '/three/a', 3)).toEqual([200, 200, 429]);
  });

  it('D14 reports at boot what is decorated and not enforced', async () => {
    @Injectable()
    class Jobs {
      @Throttle({ limit: 1, per: '1m' })
      run(): void {}
    }

    @Controller()
    class Routes {
      @Get()
      @Throttle({ limit: 1, per: '1m' })
      list(): void {
        this.helper();
      }

      @Throttle({ limit: 1, per: '1m' })
      helper(): void {}
    }
    const { log } = await start({ ...limits(), controllers: [Routes], providers: [Jobs] });
    const warnings = log.own('warn').filter((line) => line.includes('limits nothing'));
    expect(warnings).toHaveLength(2);
    for (const name of ['Jobs.run', 'Routes.helper']) expect(warnings.join()).toContain(`on ${name} limits`);
  });

  it('fails the boot on unknown names and contradictions, all in one error', async () => {
    @Controller()
    class Routes {
      @Get('a')
      @Throttle('missing')
      a(): void {}

      @Get('b')
      @Throttle(['exports', 'exports'])
      b(): void {}

      @Get('c')
      @Throttle({ limit: 1, per: '1m', shared: true })
      c(): void {}

      @Get('d')
      @Throttle({ limit: 1, per: '1m', shared: true, name: 'mail' })
      d(): void {}

      @Get('e')
      @Throttle({ limit: 2, per: '1m', shared: true, name: 'mail' })
      e(): void {}

      @Get('f')
      @SkipThrottle({ brust: true })
      f(): void {}
    }
    const { rateLimit } = limits({ policies: { exports: { limit: 1, per: '1m' } } });
    const error = await failedBoot(adapter, { rateLimit, controllers: [Routes] });
    expect(error).toMatchObject({ code: 'TOLLGATE_BAD_CONFIGURATION' });
    const findings = error.message.split('\n').slice(1);
    expect(findings).toHaveLength(5);
    expect(findings[0]).toContain("Routes.a names the policy 'missing'");
    expect(findings[1]).toContain("Routes.b has two limits called 'exports'");
    expect(findings[2]).toContain('Routes.c is shared but has no name');
    expect(findings[3]).toContain("Routes.e shares 'mail' with other numbers");
    expect(findings[4]).toContain("Routes.f names 'brust'");
  });

  it.each([
    [{ policies: { exports: { limit: 0, per: '1m' } } }, 'policies.exports.limit'],
    [{ policies: { exports: null } }, 'policies.exports'],
    [{ policies: { exports: undefined } }, 'policies.exports'],
    [{ policies: { '': { limit: 1, per: '1m' } } }, 'policies..name'],
    [{ throttle: { limit: 1, per: '0s' } }, 'throttle.per'],
    [{ throttle: { limit: 0, per: '1m' } }, 'throttle.limit'],
    [
      {
        throttle: [
          { limit: 1, per: '1m' },
          { limit: 1, per: 60 },
        ],
      },
      'throttle[1].per',
    ],
    [{ throttle: SHORT_AND_LONG.map((quota) => ({ ...quota, name: 'same' })) }, "two limits called 'same'"],
    [{ skipIf: true }, 'skipIf'],
    [{ identify: 'id' }, 'identify'],
  ])('P02 fails the boot on %j', async (options, finding) => {
    @Controller()
    class Routes {
      @Get()
      list(): void {}
    }
    const error = await failedBoot(adapter, {
      rateLimit: { perIp: null, ...(options as unknown as RateLimitOptions) },
      controllers: [Routes],
    });
    expect(error).toMatchObject({ code: 'TOLLGATE_BAD_CONFIGURATION' });
    expect(error.message).toContain(finding);
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryStore, Throttle, type Clock } from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp } from './support/app.js';
import { send, statuses } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

@Controller()
class Routes {
  @Get('gcra')
  @Throttle({ limit: 3, per: '1m' })
  gcra(): string {
    return 'ok';
  }

  @Get('fixed')
  @Throttle({ limit: 3, per: '1m', algorithm: 'fixed' })
  fixed(): string {
    return 'ok';
  }

  @Get('hourly')
  @Throttle({ limit: 2, per: '1h', algorithm: 'fixed' })
  hourly(): string {
    return 'ok';
  }

  @Get('monthly')
  @Throttle({ limit: 2, per: '720h' })
  monthly(): string {
    return 'ok';
  }

  @Get('monthly-fixed')
  @Throttle({ limit: 2, per: '600h', algorithm: 'fixed' })
  monthlyFixed(): string {
    return 'ok';
  }

  @Get('yearly')
  @Throttle({ limit: 2, per: '8760h' })
  yearly(): string {
    return 'ok';
  }
}

/** Both clocks are one that goes where it is put, backwards too: worse than any real one. */
class SteppingClock implements Clock {
  seconds = 100;

  monotonic(): number {
    return this.seconds * 1e6;
  }

  wall(): number {
    return this.seconds * 1e6;
  }
}

checkNestVersion();

describe.each(ADAPTERS)('clocks on %s', (adapter) => {
  it('H01 a clock that steps back makes nobody wait longer than a window', async () => {
    const clock = new SteppingClock();
    const running = await startApp(adapter, {
      rateLimit: { perIp: { limit: 3, per: '1m' }, store: new MemoryStore({ clock }) },
    });
    expect(await statuses(running, '/', 3)).toEqual([404, 404, 404]);
    clock.seconds = 89;
    const { status, headers } = await send(running, '/');
    expect(status).toBe(429);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(20);
  });

  it('H01 nor does one that steps back and forth refuse a slow client', async () => {
    const clock = new SteppingClock();
    const running = await startApp(adapter, {
      rateLimit: { perIp: { limit: 3, per: '1m' }, store: new MemoryStore({ clock }) },
    });
    for (let second = 0; second <= 120; second++) {
      // −11 and +11 in turn, every two seconds.
      const step = second % 4 < 2 ? 0 : -11;
      clock.seconds = 1000 + second + step;
      if (second % 21 === 0) expect(await statuses(running, '/', 1)).toEqual([404]);
    }
  });

  it('H01 the wall clock alone, which may step, moves no GCRA bucket', async () => {
    const clock = new FakeClock();
    const running = await startApp(adapter, {
      rateLimit: { perIp: { limit: 3, per: '1m' }, store: new MemoryStore({ clock }) },
    });
    expect(await statuses(running, '/', 4)).toEqual([404, 404, 404, 429]);
    clock.setWall(new Date('2030-01-01T00:00:00Z'));
    expect(await statuses(running, '/', 1)).toEqual([429]);
    clock.advance('20s');
    expect(await statuses(running, '/', 1)).toEqual([404]);
  });

  describe('H04 time zones', () => {
    const zone = process.env.TZ;
    afterEach(() => {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    });

    it.each([
      // The hour from 02:00 to 03:00 happens twice in Berlin.
      ['Europe/Berlin', '2026-10-25T00:30:00Z', ['2026-10-25T01:00:00Z', '2026-10-25T02:00:00Z']],
      ['Europe/Berlin', '2026-03-29T00:30:00Z', ['2026-03-29T01:00:00Z', '2026-03-29T02:00:00Z']],
      ['Asia/Kolkata', '2026-06-01T12:10:00Z', ['2026-06-01T13:00:00Z', '2026-06-01T14:00:00Z']],
    ])('do not move windows: %s from %s', async (timeZone, start, hours) => {
      process.env.TZ = timeZone;
      const clock = new FakeClock(new Date(start));
      const running = await startApp(adapter, {
        controllers: [Routes],
        rateLimit: { store: new MemoryStore({ clock }) },
      });
      expect(await statuses(running, '/hourly', 3)).toEqual([200, 200, 429]);
      for (const hour of hours) {
        clock.setWall(new Date(Date.parse(hour) - 1));
        expect(await statuses(running, '/hourly', 1)).toEqual([429]);
        clock.setWall(new Date(hour));
        expect(await statuses(running, '/hourly', 3)).toEqual([200, 200, 429]);
      }
    });
  });

  it('H05 month-long windows hold, and show the seconds that are left', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    try {
      const running = await startApp(adapter, {
        controllers: [Routes],
        rateLimit: { perIp: { limit: 1000, per: '8760h' } },
      });
      for (const path of ['/monthly', '/monthly-fixed', '/yearly']) {
        expect(await statuses(running, path, 2)).toEqual([200, 200]);
      }
      await delay(50);
      const waits: number[] = [];
      for (const path of ['/monthly', '/monthly-fixed', '/yearly']) {
        const { status, headers } = await send(running, path);
        expect(status).toBe(429);
        waits.push(Number(headers['retry-after']));
      }
      const left = Math.ceil(600 * 3600 - ((Date.now() / 1000) % (600 * 3600)));
      expect(waits[0]).toBe(360 * 3600);
      expect(Math.abs(waits[1] - left)).toBeLessThanOrEqual(2);
      expect(waits[2]).toBe(4380 * 3600);
      expect(warnings.filter(({ name }) => name === 'TimeoutOverflowWarning')).toEqual([]);
    } finally {
      process.off('warning', note);
    }
  });

  it('H10 a frozen clock freezes everything: limit, store, headers', async () => {
    const clock = new FakeClock(new Date('2020-01-01T00:00:00Z'));
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: { perIp: null, store: new MemoryStore({ clock }) },
    });
    for (const path of ['/gcra', '/fixed']) {
      expect(await statuses(running, path, 6)).toEqual([200, 200, 200, 429, 429, 429]);
      expect((await send(running, path)).headers['ratelimit-reset']).toBe('60');
    }
    clock.advance('1m');
    for (const path of ['/gcra', '/fixed']) {
      expect(await statuses(running, path, 4)).toEqual([200, 200, 200, 429]);
    }
    // Per IP, on the same clock.
    const perIp = await startApp(adapter, {
      rateLimit: { perIp: { limit: 3, per: '1m' }, store: new MemoryStore({ clock }) },
    });
    expect(await statuses(perIp, '/', 6)).toEqual([404, 404, 404, 429, 429, 429]);
    clock.advance('1m');
    expect(await statuses(perIp, '/', 1)).toEqual([404]);
  });
});

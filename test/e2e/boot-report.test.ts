import {
  Controller,
  Get,
  Injectable,
  Post,
  UseGuards,
  VersioningType,
  type CanActivate,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, vi } from 'vitest';
import { RateLimitModule, SkipThrottle, Throttle, ThrottleGuard } from '../../lib/index.js';
import { ADAPTERS, startApp, type AppSetup } from './support/app.js';
import { LogLines } from './support/log-lines.js';
import { checkNestVersion } from './support/nest-version.js';

@Injectable()
class AuthGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

@Controller('reports')
@UseGuards(AuthGuard)
@Throttle({ limit: 30, per: '1m' })
class Reports {
  @Get()
  list(): void {}

  @Post()
  @Throttle([
    { limit: 10, per: '1m', by: 'ip' },
    { name: 'trial', limit: 100, per: '1h', dryRun: true },
  ])
  create(): void {}

  @Get('live')
  @Throttle({ limit: () => 5, per: '30s', by: () => 'all' })
  live(): void {}

  @Get('free')
  @SkipThrottle()
  free(): void {}
}

@Controller({ path: 'public', version: ['1', '2'] })
class Public {
  @Get()
  list(): void {}

  @Get('listed')
  @UseGuards(ThrottleGuard)
  @Throttle('exports')
  listed(): void {}
}

const APP: AppSetup = {
  controllers: [Reports, Public],
  prefix: 'api',
  main: (app) => void app.enableVersioning({ type: VersioningType.URI }),
  rateLimit: {
    perIp: { limit: 600, per: '1m' },
    authGuard: AuthGuard,
    throttle: { limit: 50, per: '1m' },
    policies: { exports: { limit: 2, per: '1h' } },
  },
};

/** The reports in a log, as lines. */
function reports(log: LogLines): string[][] {
  return log.own('log').map((text) => text.split('\n'));
}

/** The cells of a row. */
function cells(line: string): string[] {
  return line.trim().split(/ {2,}/);
}

checkNestVersion();

describe.each(ADAPTERS)('the report of the boot on %s', (adapter) => {
  it('is one table of every route: its limits, whom they count, where they run', async () => {
    const { log } = await startApp(adapter, APP);
    const found = reports(log);
    expect(found).toHaveLength(1);
    const [perIp, head, ...rows] = found[0];
    expect(perIp).toBe('per IP: 600/1m');
    expect(cells(head)).toEqual(['route', 'limits', 'counted']);
    expect(rows.map(cells)).toEqual([
      ['GET /reports', '30/1m by user', 'right behind AuthGuard'],
      ['POST /reports', '10/1m by ip + 100/1h by user (dry run)', 'right behind AuthGuard'],
      ['GET /reports/live', 'live/30s by a key', 'right behind AuthGuard'],
      ['GET /reports/free', '-'],
      ['GET /public 1', '50/1m by user', 'behind all global guards'],
      ['GET /public/listed 1', '2/1h by user', 'where ThrottleGuard is listed'],
    ]);
    // Aligned: every limit begins in one column.
    const column = head.indexOf('limits');
    for (const row of rows) expect(row.slice(column - 2, column + 1)).toMatch(/^ {2}\S$/);
    expect(log.own('warn')).toEqual([]);
  });

  it('says what is on trial, and what is off', async () => {
    const onTrial = await startApp(adapter, { rateLimit: { perIp: { limit: 5, per: '1s', dryRun: true } } });
    expect(reports(onTrial.log)[0][0]).toBe('per IP: 5/1s (dry run)');
    const off = await startApp(adapter, { rateLimit: { perIp: null } });
    expect(reports(off.log)[0]).toEqual(['per IP: off', '  route  limits  counted']);
    const all = await startApp(adapter, { rateLimit: { dryRun: true, perIp: null } });
    expect(reports(all.log)[0].slice(0, 2)).toEqual(['dry run: nothing is refused', 'per IP: off']);
  });

  it('is written once, in testing modules too', async () => {
    const { log } = await startApp(adapter, { ...APP, testing: true });
    expect(reports(log)).toHaveLength(1);
  });

  it('M09, D14 comes with warnings of what is rarely meant', async () => {
    @Injectable()
    class Jobs {
      @Throttle({ limit: 1, per: '1m' })
      run(): void {}
    }
    vi.stubEnv('NODE_APP_INSTANCE', '1');
    try {
      const { log } = await startApp(adapter, {
        providers: [Jobs],
        controllers: [Reports],
        rateLimit: { trustProxy: true, policies: { exports: { limit: 2, per: '1h' } } },
      });
      expect(reports(log)).toHaveLength(1);
      const warnings = log.own('warn');
      const found = [
        /several workers .* Use a shared store/,
        /@Throttle\(\) on Jobs\.run limits nothing/,
        /Reports\.list is throttled before its own guards/,
      ].map((pattern) => warnings.filter((line) => pattern.test(line)).length);
      expect(found).toEqual([1, 1, 1]);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe('the report of an app without HTTP', () => {
  it('has no routes, and is written', async () => {
    const log = new LogLines();
    const context = await NestFactory.createApplicationContext(
      { module: class Root {}, imports: [RateLimitModule.forRoot()] },
      { logger: log, abortOnError: false },
    );
    expect(reports(log)).toEqual([['per IP: 600/1m', '  route  limits  counted']]);
    await context.close();
  });
});

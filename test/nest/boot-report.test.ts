import 'reflect-metadata';
import { Controller, Get, Module, Post, type CanActivate, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import {
  RateLimitModule,
  SkipThrottle,
  Throttle,
  ThrottleGuard,
  type RateLimitOptions,
} from '../../lib/index.js';
import { reportTable } from '../../lib/nest/boot-report.js';
import { LogLines } from '../e2e/support/log-lines.js';

describe('the table of routes', () => {
  it('has a line for each route, in columns, and says what has no limit of its own', () => {
    const rows = [
      { route: 'GET /books', limits: '', place: 'behind all global guards' },
      { route: 'POST /books/:id', limits: '10/1m by user + 5/1s by ip', place: 'right behind AuthGuard' },
    ];
    expect(reportTable('600/1m', rows).split('\n')).toEqual([
      'per IP: 600/1m',
      '  route            limits                      counted',
      '  GET /books       -',
      '  POST /books/:id  10/1m by user + 5/1s by ip  right behind AuthGuard',
    ]);
  });

  it('has its head alone where there are no routes', () => {
    expect(reportTable('off', [])).toBe('per IP: off\n  route  limits  counted');
  });
});

class AuthGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

@Controller('books')
class BooksController {
  @Get()
  list(): string {
    return 'ok';
  }

  @Post()
  @UseGuards(AuthGuard)
  @Throttle([
    { limit: 10, per: '1m' },
    { limit: 2, per: '1s', by: 'ip', dryRun: true, name: 'burst' },
  ])
  create(): string {
    return 'ok';
  }

  @Get('free')
  @SkipThrottle()
  free(): string {
    return 'ok';
  }

  @Get('listed')
  @UseGuards(ThrottleGuard)
  listed(): string {
    return 'ok';
  }
}

async function reportOf(options: RateLimitOptions): Promise<string[]> {
  @Module({
    imports: [RateLimitModule.forRoot(options)],
    controllers: [BooksController],
    providers: [AuthGuard],
  })
  class AppModule {}
  const logger = new LogLines();
  const app = await NestFactory.create(AppModule, { logger, abortOnError: false });
  await app.init();
  await app.close();
  return logger.own('log');
}

describe('what an app says at boot', () => {
  it('names each route with its limits and where they are counted, in one entry', async () => {
    const entries = await reportOf({ authGuard: AuthGuard, throttle: { limit: () => 9, per: '1h' } });
    expect(entries).toHaveLength(1);
    expect(entries[0].split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['per IP: 600/1m'],
      ['route', 'limits', 'counted'],
      ['GET /books', 'live/1h by user', 'behind all global guards'],
      ['POST /books', '10/1m by user + 2/1s by ip (dry run)', 'right behind AuthGuard'],
      ['GET /books/free', '-'],
      ['GET /books/listed', 'live/1h by user', 'where ThrottleGuard is listed'],
    ]);
  });

  it.each<[RateLimitOptions, string]>([
    [{ perIp: null }, 'per IP: off'],
    [{ perIp: { limit: 5, per: '500ms' } }, 'per IP: 5/500ms'],
    [{ perIp: { limit: 5, per: '1s', dryRun: true } }, 'per IP: 5/1s (dry run)'],
  ])('says of %o: %s', async (options, line) => {
    expect((await reportOf(options))[0].split('\n')[0]).toBe(line);
  });
});

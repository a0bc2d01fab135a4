import 'reflect-metadata';
import { Controller, Get, Injectable, Module, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, describe, expect, it } from 'vitest';
import { RateLimitModule, Throttle, type RateLimitOptions } from '../../lib/index.js';

const before = process.env.NODE_APP_INSTANCE;
afterEach(() => {
  if (before === undefined) delete process.env.NODE_APP_INSTANCE;
  else process.env.NODE_APP_INSTANCE = before;
});

@Controller()
class PlainController {
  @Get()
  get(): string {
    return 'ok';
  }

  @Throttle({ limit: 1, per: '1m' })
  helper(): void {}
}

@Injectable()
class Consumer {
  @Throttle({ limit: 1, per: '1m' })
  onMessage(): void {}
}

async function warningsOf(options: RateLimitOptions): Promise<string[]> {
  @Module({
    imports: [RateLimitModule.forRoot(options)],
    controllers: [PlainController],
    providers: [Consumer],
  })
  class AppModule {}
  const warnings: string[] = [];
  const quiet = (): void => {};
  const logger: LoggerService = { log: quiet, error: quiet, warn: (text: string) => warnings.push(text) };
  const app = await NestFactory.create(AppModule, { logger, abortOnError: false });
  await app.init();
  await app.close();
  return warnings;
}

describe('warnings at boot', () => {
  it('M09 counting in memory in one of several workers is said once', async () => {
    process.env.NODE_APP_INSTANCE = '1';
    const warnings = (await warningsOf({})).filter((text) => text.includes('workers'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('shared store');
  });

  it('a single process is not warned', async () => {
    delete process.env.NODE_APP_INSTANCE;
    expect((await warningsOf({})).filter((text) => text.includes('workers'))).toEqual([]);
  });

  it('trusting every address is said', async () => {
    const warnings = await warningsOf({ trustedProxies: ['0.0.0.0/0'] });
    expect(warnings.filter((text) => text.includes('trustedProxies'))).toHaveLength(1);
  });

  it('D14 a throttle that nothing enforces is named, on providers and on methods that are no routes', async () => {
    const warnings = (await warningsOf({})).filter((text) => text.includes('limits nothing'));
    expect(warnings.join('\n')).toContain('Consumer.onMessage');
    expect(warnings.join('\n')).toContain('PlainController.helper');
    expect(warnings).toHaveLength(2);
  });
});

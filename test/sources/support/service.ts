// A service in a real application context, 18 seconds into a minute and into an hour, where time stands still.

import { Module, type INestApplicationContext, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { onTestFinished } from 'vitest';
import {
  MemoryStore,
  RateLimitModule,
  RateLimitService,
  type ApiLimitNumbers,
  type RateLimitOptions,
  type ServiceDecision,
} from '../../../lib/index.js';
import { FakeClock } from '../../../lib/testing/index.js';

export interface StartedService {
  readonly app: INestApplicationContext;
  readonly clock: FakeClock;
  readonly store: MemoryStore;
  readonly service: RateLimitService;
}

/** Two clients that are two networks. */
export const ONE = '203.0.113.7';
export const OTHER = '198.51.100.9';

/** Call it inside a test: the context is closed when that ends. */
export async function startService(
  limits: ApiLimitNumbers = {},
  options: RateLimitOptions = {},
  imports: ModuleMetadata['imports'] = [],
): Promise<StartedService> {
  const clock = new FakeClock(new Date('2026-03-01T12:00:18Z'));
  const store = new MemoryStore({ clock });
  @Module({ imports: [RateLimitModule.forRoot({ store, limits, audit: null, ...options }), ...imports] })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  onTestFinished(() => app.close());
  return { app, clock, store, service: app.get(RateLimitService) };
}

/** What `count` calls, one after the other, are told. */
export async function outcomes(count: number, check: () => Promise<ServiceDecision>): Promise<boolean[]> {
  const allowed: boolean[] = [];
  for (let calling = 0; calling < count; calling++) allowed.push((await check()).allowed);
  return allowed;
}

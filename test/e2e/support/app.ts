// Boots a real Nest app with the module in it, on either adapter, and closes it when the test ends.

import {
  Module,
  type DynamicModule,
  type ExceptionFilter,
  type INestApplication,
  type Provider,
  type Type,
} from '@nestjs/common';
import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface.js';
import { NestFactory, type AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { onTestFinished } from 'vitest';
import { RateLimitModule, type RateLimitOptions } from '../../../lib/index.js';
import { LogLines } from './log-lines.js';

export type AdapterName = 'express' | 'fastify';

/** For `describe.each(ADAPTERS)('… on %s', (adapter) => …)`. */
export const ADAPTERS: readonly AdapterName[] = ['express', 'fastify'];

export interface AppSetup {
  /** Options of `RateLimitModule.forRoot()`; null when `imports` has the module. Default none. */
  readonly rateLimit?: RateLimitOptions | null;
  readonly imports?: DynamicModule['imports'];
  readonly controllers?: Type[];
  readonly providers?: Provider[];
  /** `app.setGlobalPrefix()`. */
  readonly prefix?: string;
  /** `app.enableCors()` with these. */
  readonly enableCors?: CorsOptions;
  /** The `cors` option of `create()`. */
  readonly cors?: CorsOptions | boolean;
  /** The `bodyParser` option of `create()`. */
  readonly bodyParser?: boolean;
  /** `Test.createTestingModule()` instead of `NestFactory`. */
  readonly testing?: boolean;
  /** What else main.ts does, before the app listens. */
  readonly main?: (app: INestApplication) => void | Promise<void>;
  readonly filters?: ExceptionFilter[];
  /** In place of a plain adapter of that name. */
  readonly makeAdapter?: () => AbstractHttpAdapter;
  /** A host, or the path of a Unix socket. Default 127.0.0.1. */
  readonly listen?: { readonly host: string } | { readonly path: string };
}

export interface RunningApp {
  readonly app: INestApplication;
  /** 0 on a Unix socket. */
  readonly port: number;
  /** Of a Unix socket. */
  readonly socketPath?: string;
  readonly log: LogLines;
}

@Module({})
class TestedApp {}

export function createAdapter(name: AdapterName): AbstractHttpAdapter {
  return name === 'express' ? new ExpressAdapter() : new FastifyAdapter();
}

/** An app that listens. Call it inside a test: it is closed when that ends. Rejects when the boot fails. */
export async function startApp(adapter: AdapterName, setup: AppSetup = {}): Promise<RunningApp> {
  const log = new LogLines();
  const app = await createApp(adapter, setup, log);
  onTestFinished(() => app.close());
  if (setup.prefix !== undefined) app.setGlobalPrefix(setup.prefix);
  if (setup.enableCors !== undefined) app.enableCors(setup.enableCors);
  if (setup.filters !== undefined) app.useGlobalFilters(...setup.filters);
  await setup.main?.(app);
  const listen = setup.listen ?? { host: '127.0.0.1' };
  if ('path' in listen) {
    // As options: Fastify's adapter for Nest 11 takes a text for a port.
    await app.listen({ path: listen.path } as never);
    return { app, port: 0, socketPath: listen.path, log };
  }
  await app.listen(0, listen.host);
  const { port } = app.getHttpServer().address();
  return { app, port, log };
}

/** The error that a boot fails with, and what was logged. Throws when the boot succeeds. */
export async function failedBoot(adapter: AdapterName, setup: AppSetup): Promise<Error> {
  const boot = await startApp(adapter, setup).catch((error: unknown) => error);
  if (boot instanceof Error) return boot;
  throw new Error('the app booted');
}

async function createApp(adapter: AdapterName, setup: AppSetup, log: LogLines): Promise<INestApplication> {
  const limits = setup.rateLimit === null ? [] : [RateLimitModule.forRoot(setup.rateLimit)];
  const root: DynamicModule = {
    module: TestedApp,
    imports: [...limits, ...(setup.imports ?? [])],
    controllers: setup.controllers ?? [],
    providers: setup.providers ?? [],
  };
  const made = (setup.makeAdapter ?? (() => createAdapter(adapter)))();
  const options = {
    logger: log,
    ...(setup.cors === undefined ? {} : { cors: setup.cors }),
    ...(setup.bodyParser === undefined ? {} : { bodyParser: setup.bodyParser }),
  };
  if (setup.testing === true) {
    const testing = await Test.createTestingModule({ imports: [root] })
      .setLogger(log)
      .compile();
    return testing.createNestApplication(made, options);
  }
  return NestFactory.create(root, made, { ...options, abortOnError: false });
}

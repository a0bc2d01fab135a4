// The module that does the work: its providers, and the moments of an app's life at which it acts.

import {
  Global,
  Inject,
  Module,
  type DynamicModule,
  type MiddlewareConsumer,
  type NestModule,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { DiscoveryModule, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { badConfiguration } from '../errors.js';
import { RateLimitEvents } from '../events/event-stream.js';
import { Limiter } from '../limiter/limiter.js';
import { RateLimitStore } from '../stores/store.js';
import { ApiEntry } from './auth/api-entry.js';
import { rateLimitConfig, type RateLimitConfig } from './config/rate-limit.config.js';
import { HttpInstall } from './http/http-install.js';
import { HttpLimits } from './http/http-limits.js';
import { PerIpGuard } from './http/per-ip.guard.js';
import { RateLimitHealth } from './integrations/rate-limit-health.js';
import { AttemptEntry } from './login/attempt-entry.js';
import { LoginThrottle, SecondFactorThrottle } from './login/attempt.throttle.js';
import { Attempts } from './login/attempts.js';
import { MailThrottle } from './login/mail.throttle.js';
import type { RateLimitAsyncOptions, RateLimitOptions, RateLimitOptionsFactory } from './options.js';
import { RateLimitBoot } from './rate-limit.boot.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import { RateLimitService } from './service/rate-limit.service.js';
import { ThrottleEnforcer } from './throttle/throttle.enforcer.js';
import { ThrottlePlans } from './throttle/throttle-plans.js';
import { ThrottleGuard } from './throttle/throttle.guard.js';

/** Injection token of the options as the app gave them. */
export const RATE_LIMIT_OPTIONS = Symbol('tollgate:options');

/** Nest makes them of what stands below. */
const SERVICES = [RateLimitService, LoginThrottle, SecondFactorThrottle, MailThrottle, RateLimitHealth];

const EXPORTED = [...SERVICES, RateLimitStore, RateLimitEvents, PerIpGuard, ThrottleGuard];

/** What guards and interceptors need wherever an app lists them. */
const INTERNAL = [HttpLimits, ThrottleEnforcer, ApiEntry, AttemptEntry, Limiter];

@Global()
@Module({})
export class RateLimitCoreModule implements NestModule, OnModuleInit, OnApplicationShutdown {
  private readonly install: HttpInstall;

  constructor(
    private readonly runtime: RateLimitRuntime,
    private readonly boot: RateLimitBoot,
    private readonly host: HttpAdapterHost,
    @Inject(ModulesContainer) modules: ModulesContainer,
  ) {
    const same = [...modules.values()].filter(({ metatype }) => metatype === RateLimitCoreModule);
    if (same.length > 1) {
      throw badConfiguration('RateLimitModule', [
        'forRoot() is called twice: call it once, in the root module (it is global)',
      ]);
    }
    this.install = new HttpInstall(runtime.http);
    this.install.follow(host);
  }

  /** Before routes are built, after main.ts bound its global guards. */
  configure(_consumer: MiddlewareConsumer): void {
    this.boot.run();
    // Whether it ever can be used is waited for below.
    this.runtime.open().catch(() => {});
    this.install.ensure(this.host.httpAdapter);
  }

  /** Where no routes are: an application context fails on wrong options too. */
  async onModuleInit(): Promise<void> {
    this.boot.run();
    await this.runtime.open();
  }

  async onApplicationShutdown(): Promise<void> {
    this.boot.undo();
    await this.runtime.close();
  }

  static forRoot(options: RateLimitOptions): DynamicModule {
    return this.with([{ provide: RATE_LIMIT_OPTIONS, useValue: options }], []);
  }

  static forRootAsync(options: RateLimitAsyncOptions): DynamicModule {
    return this.with(asyncProviders(options), options.imports ?? []);
  }

  private static with(options: Provider[], imports: NonNullable<DynamicModule['imports']>): DynamicModule {
    return {
      module: RateLimitCoreModule,
      imports: [...imports, DiscoveryModule, ConfigModule.forFeature(rateLimitConfig)],
      providers: [
        ...options,
        {
          provide: RateLimitRuntime,
          useFactory: (given: RateLimitOptions, config: RateLimitConfig) =>
            new RateLimitRuntime(given, config),
          inject: [RATE_LIMIT_OPTIONS, rateLimitConfig.KEY],
        },
        part(RateLimitEvents, ({ events }) => events),
        part(RateLimitStore, ({ store }) => store),
        part(Limiter, ({ limiter }) => limiter),
        part(HttpLimits, ({ http }) => http),
        part(ThrottleEnforcer, ({ enforcer }) => enforcer),
        part(ThrottlePlans, ({ plans }) => plans),
        part(Attempts, ({ attempts }) => attempts),
        ApiEntry,
        AttemptEntry,
        RateLimitBoot,
        ...SERVICES,
        PerIpGuard,
        ThrottleGuard,
      ],
      exports: [...EXPORTED, ...INTERNAL],
    };
  }
}

function part(provide: Function, useFactory: (runtime: RateLimitRuntime) => object): Provider {
  return { provide, useFactory, inject: [RateLimitRuntime] };
}

function asyncProviders(options: RateLimitAsyncOptions): Provider[] {
  const { useFactory, useClass, useExisting, inject = [] } = options;
  const given = [useFactory, useClass, useExisting].filter((way) => way !== undefined);
  if (given.length !== 1) {
    throw badConfiguration('RateLimitModule.forRootAsync', [
      `${given.length} of useFactory, useClass and useExisting are given: give exactly one`,
    ]);
  }
  if (useFactory !== undefined) return [{ provide: RATE_LIMIT_OPTIONS, useFactory, inject: [...inject] }];
  const factory = useClass ?? useExisting;
  if (factory === undefined) return [];
  return [
    ...(useClass === undefined ? [] : [useClass]),
    {
      provide: RATE_LIMIT_OPTIONS,
      useFactory: (made: RateLimitOptionsFactory) => made.createRateLimitOptions(),
      inject: [factory],
    },
  ];
}

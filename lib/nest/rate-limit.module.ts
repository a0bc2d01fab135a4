// The module that an app imports.

import { Inject, Module, type DynamicModule } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { badConfiguration } from '../errors.js';
import type { RateLimitAsyncOptions, RateLimitOptions } from './options.js';
import { RateLimitCoreModule } from './rate-limit-core.module.js';

/**
 * Import it once, in the root module; it is global. Without options: 600 requests a minute per client network,
 * counted in memory, nobody's forwarding headers believed.
 */
@Module({})
export class RateLimitModule {
  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    if ([...modules.values()].some(({ metatype }) => metatype === RateLimitCoreModule)) return;
    throw badConfiguration('RateLimitModule', [
      'it is imported without forRoot(), so nothing is limited: import RateLimitModule.forRoot() in the root module',
    ]);
  }

  static forRoot(options: RateLimitOptions = {}): DynamicModule {
    return { module: RateLimitModule, imports: [RateLimitCoreModule.forRoot(options)] };
  }

  /** Options from a factory, a class or an existing provider; exactly one of them. */
  static forRootAsync(options: RateLimitAsyncOptions): DynamicModule {
    return { module: RateLimitModule, imports: [RateLimitCoreModule.forRootAsync(options)] };
  }
}

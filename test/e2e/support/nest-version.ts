// Which Nest a test file really runs on, so that a run for Nest 11 can't pass on Nest 12 unnoticed.

import { ModulesContainer } from '@nestjs/core';
import manifest from '@nestjs/core/package.json' with { type: 'json' };
import { expect, it } from 'vitest';
import { RateLimitBoot } from '../../../lib/nest/rate-limit.boot.js';

/** The first check of each e2e file. */
export function checkNestVersion(): void {
  it(`lib/ loads the @nestjs/core of Nest ${process.env.NEST_MAJOR}`, () => {
    // The manifest of what this file imports, and that lib's class is this file's class.
    expect(manifest.version.split('.')[0]).toBe(process.env.NEST_MAJOR);
    expect(Reflect.getMetadata('design:paramtypes', RateLimitBoot)).toContain(ModulesContainer);
  });
}

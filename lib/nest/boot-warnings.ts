// What is legal but rarely meant, said once at boot.

import cluster from 'node:cluster';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { addressWarnings, type UncheckedAddressOptions } from '../network/address-options.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import type { RateLimitStore } from '../stores/store.js';
import { hasOwnMetadata } from './decorators/metadata.js';
import { THROTTLE_KEY } from './decorators/throttle.decorator.js';
import { isRoute } from './http/route-identity.js';

/** Transpiled for Jest without esModuleInterop, a default import of Node's own modules is undefined. */
function isWorker(): boolean {
  const known: { readonly isWorker: boolean } | undefined = cluster;
  return known?.isWorker ?? false;
}

/** Warnings about where limits are counted and whom the app believes. */
export function setupWarnings(store: RateLimitStore, address: UncheckedAddressOptions): string[] {
  const warnings = addressWarnings(address);
  // PM2 sets the variable for each of its processes.
  if (store instanceof MemoryStore && (isWorker() || process.env.NODE_APP_INSTANCE !== undefined)) {
    warnings.push(
      'this is one of several workers and limits are counted in its own memory: a client may make up to limit × ' +
        'workers requests. Use a shared store to have one limit',
    );
  }
  return warnings;
}

/** Warnings about decorators that nothing enforces: throttled methods that no HTTP request reaches. */
export function unenforcedThrottles(discovery: DiscoveryService, scanner: MetadataScanner): string[] {
  const controllers = new Set<unknown>(discovery.getControllers().map(({ metatype }) => metatype));
  return [...discovery.getControllers(), ...discovery.getProviders()].flatMap(({ metatype }) => {
    const type: unknown = metatype;
    if (typeof type !== 'function' || typeof type.prototype !== 'object' || type.prototype === null)
      return [];
    const methods = scanner.getAllMethodNames(type.prototype).filter((method) => {
      const handler: unknown = type.prototype[method];
      return typeof handler === 'function' && hasOwnMetadata(THROTTLE_KEY, handler) && !isRoute(handler);
    });
    const names = methods.map((method) => `${type.name}.${method}`);
    if (!controllers.has(type) && hasOwnMetadata(THROTTLE_KEY, type)) names.push(type.name);
    return names.map((name) => `@Throttle() on ${name} limits nothing: it is no route of a controller`);
  });
}

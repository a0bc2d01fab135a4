// What is legal but rarely meant, said once at boot.

import cluster from 'node:cluster';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { addressWarnings, type UncheckedAddressOptions } from '../network/address-options.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import type { RateLimitStore } from '../stores/store.js';
import { COST_KEY } from './decorators/cost.decorator.js';
import { hasOwnMetadata } from './decorators/metadata.js';
import { PUBLIC_TOOL_KEY } from './decorators/public-tool.decorator.js';
import { ATTEMPT_KEY } from './decorators/throttle-login.decorator.js';
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

/** What is left on methods and classes, by the name of the decorator. */
const DECORATORS = {
  '@Throttle()': THROTTLE_KEY,
  '@Cost()': COST_KEY,
  '@PublicTool()': PUBLIC_TOOL_KEY,
  '@ThrottleLogin() or @ThrottleSecondFactor()': ATTEMPT_KEY,
};

/** Warnings about decorators that nothing enforces: on methods that no HTTP request reaches. */
export function unenforcedDecorators(discovery: DiscoveryService, scanner: MetadataScanner): string[] {
  return Object.entries(DECORATORS).flatMap(([name, key]) =>
    unreached(key, discovery, scanner).map(
      (where) => `${name} on ${where} limits nothing: it is no route of a controller`,
    ),
  );
}

function unreached(key: string, discovery: DiscoveryService, scanner: MetadataScanner): string[] {
  const controllers = new Set<unknown>(discovery.getControllers().map(({ metatype }) => metatype));
  return [...discovery.getControllers(), ...discovery.getProviders()].flatMap(({ metatype }) => {
    const type: unknown = metatype;
    if (typeof type !== 'function' || typeof type.prototype !== 'object' || type.prototype === null)
      return [];
    const methods = scanner.getAllMethodNames(type.prototype).filter((method) => {
      const handler: unknown = type.prototype[method];
      return typeof handler === 'function' && hasOwnMetadata(key, handler) && !isRoute(handler);
    });
    const names = methods.map((method) => `${type.name}.${method}`);
    if (!controllers.has(type) && hasOwnMetadata(key, type)) names.push(type.name);
    return names;
  });
}

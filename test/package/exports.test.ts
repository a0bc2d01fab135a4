// The public names, pinned: adding, renaming or dropping one is a decision to write down here and in CHANGELOG.
import { readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { exportedNames } from './imports.js';

/** What users can import, by subpath: values (classes, decorators, functions, tokens) and mere types. */
const publicNames: Record<string, { values: string[]; types: string[] }> = {
  '.': {
    values: [
      'ApiGuard',
      'AuditSink',
      'AuthInterceptor',
      'Authenticator',
      'ChargeFailures',
      'ClientIp',
      'Cost',
      'CurrentActor',
      'LoginThrottle',
      'MailThrottle',
      'MemoryStore',
      'PerIpGuard',
      'PublicTool',
      'RateLimitEvents',
      'RateLimitException',
      'RateLimitHealth',
      'RateLimitModule',
      'RateLimitService',
      'RateLimitSettings',
      'RateLimitStore',
      'SecondFactorThrottle',
      'SkipThrottle',
      'Throttle',
      'ThrottleGuard',
      'ThrottleLogin',
      'StoreUnavailableException',
      'ThrottleSecondFactor',
      'TollgateError',
      'actorOf',
      'clientIpOf',
      'rateLimitConfig',
      'throttle',
    ],
    types: [
      'Algorithm',
      'Bucket',
      'BucketName',
      'BucketRequest',
      'Call',
      'Clock',
      'ApiLimitName',
      'ApiLimitNumbers',
      'AuditEntry',
      'Decision',
      'DecisionEvent',
      'HeaderFormat',
      'HeaderLines',
      'LimitKind',
      'RefusalEvent',
      'GuardType',
      'Identify',
      'LiveSettings',
      'LeaseCall',
      'LeaseReply',
      'LeaseRequest',
      'MaybePromise',
      'MemoryStoreOptions',
      'NamedQuota',
      'PerIpQuota',
      'Quota',
      'Rate',
      'RateLimitAsyncOptions',
      'RateLimitConfig',
      'RateLimitEvent',
      'RateLimitOptions',
      'RateLimitOptionsFactory',
      'Receipt',
      'Refund',
      'RefusalReason',
      'ServiceDecision',
      'TollgateErrorCode',
      'Transport',
      'Verdict',
      'Actor',
      'FrameworkRequest',
      'Authentication',
      'AttemptResult',
      'Verified',
      'FailureQuota',
      'LoginLimitName',
      'LoginQuotas',
      'LoginOptions',
      'OnStoreError',
      'StoreHealth',
    ],
  },
  './redis': { values: ['RedisStore'], types: ['RedisClient', 'RedisStoreOptions'] },
  './testing': {
    values: ['FakeClock', 'clearLimits', 'limitsOff', 'limitsOn', 'storeContract'],
    types: ['StoreContractOptions'],
  },
};

const root = resolve(import.meta.dirname, '../..');
const manifest: { exports: Record<string, string | { types: string; default: string }> } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const subpaths = Object.entries(manifest.exports).flatMap(([path, target]) =>
  typeof target === 'string' ? [] : [{ path, types: target.types }],
);

it('has exactly these subpaths, package.json besides', () => {
  expect(Object.keys(manifest.exports)).toEqual([...Object.keys(publicNames), './package.json']);
});

it.each(subpaths)('exports exactly the pinned names from $path', async ({ path, types }) => {
  const values = Object.keys(await import(posix.join('nestjs-tollgate', path)));
  const declared = exportedNames(join(root, types));
  expect(values.toSorted()).toEqual(publicNames[path]?.values.toSorted());
  expect(declared.filter((name) => !values.includes(name)).toSorted()).toEqual(
    publicNames[path]?.types.toSorted(),
  );
  expect(declared).toEqual(expect.arrayContaining(values));
});

// Whether options are of the right kind at all, so that the rest can be read without surprises.

import { show } from '../../algorithms/rate.js';
import { HEADER_FORMATS } from '../../responses/headers.js';
import type { RateLimitOptions } from '../options.js';
import { ON_STORE_ERROR } from '../quota.js';

/** What each option must be; null and undefined are fine everywhere. */
const SHAPES: Readonly<
  Record<keyof RateLimitOptions, readonly [test: (value: unknown) => boolean, rule: string]>
> = {
  perIp: [isObject, 'give { limit, per }, or null to turn it off'],
  trustedProxies: [Array.isArray, 'give a list of addresses and CIDR blocks'],
  trustProxy: [() => true, ''],
  clientIpHeader: [() => true, ''],
  ipv6Prefix: [() => true, ''],
  authGuard: [isGuards, 'give a guard class, as in @UseGuards(X), or a list of them'],
  preauth: [(value) => typeof value === 'boolean', 'give true or false'],
  hasCredential: [isFunction, 'give a function'],
  identify: [isFunction, 'give a function'],
  skipIf: [isFunction, 'give a function'],
  throttle: [isObject, 'give { limit, per }, a list of them, or null'],
  policies: [(value) => isObject(value) && !Array.isArray(value), 'give quotas by name'],
  limits: [(value) => isObject(value) && !Array.isArray(value), 'give numbers by name'],
  login: [isLogin, 'give { failures: { limit, per }, … }, with fold a function'],
  store: [has('consume'), 'give a RateLimitStore, such as new MemoryStore()'],
  storeTimeout: [isTimeout, 'give whole milliseconds, 1 to 60000'],
  onStoreError: [
    (value) => ON_STORE_ERROR.some((known) => known === value),
    `give ${ON_STORE_ERROR.join(', ')}`,
  ],
  headers: [isFormats, `give one or several of ${HEADER_FORMATS.join(', ')}`],
  audit: [has('write'), 'give an AuditSink'],
  dryRun: [(value) => typeof value === 'boolean', 'give true or false'],
  settings: [has('read'), 'give a RateLimitSettings'],
};

/** The options without those of the wrong kind, each of which is a finding. */
export function soundOptions(options: RateLimitOptions, findings: string[]): RateLimitOptions {
  const sound: Record<string, unknown> = {};
  const whole: unknown = options;
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) {
    findings.push(`the options are ${show(whole)}: give an object, {} for the defaults`);
    return sound;
  }
  for (const [name, value] of Object.entries(options)) {
    if (!isOption(name)) {
      findings.push(`${name} is no option: there are ${Object.keys(SHAPES).join(', ')}`);
      continue;
    }
    const [test, rule] = SHAPES[name];
    if (value === undefined || value === null || test(value)) sound[name] = value;
    else findings.push(`${name} is ${show(value)}: ${rule}`);
  }
  return sound;
}

function isOption(name: string): name is keyof RateLimitOptions {
  return Object.hasOwn(SHAPES, name);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object';
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

function isLogin(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !('fold' in value) || value.fold === undefined || typeof value.fold === 'function';
}

function isTimeout(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 60_000;
}

function isGuards(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isFunction) : isFunction(value);
}

function isFormats(value: unknown): boolean {
  const formats: readonly unknown[] = Array.isArray(value) ? value : [value];
  return formats.every((format) => HEADER_FORMATS.some((known) => known === format));
}

function has(method: string): (value: unknown) => boolean {
  return (value) => typeof value === 'object' && value !== null && isFunction(Reflect.get(value, method));
}

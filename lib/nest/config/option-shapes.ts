// Whether options are of the right kind at all, so that the rest can be read without surprises.

import { show } from '../../algorithms/rate.js';
import type { RateLimitOptions } from '../options.js';

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
  identify: [isFunction, 'give a function'],
  skipIf: [isFunction, 'give a function'],
  throttle: [isObject, 'give { limit, per }, a list of them, or null'],
  policies: [isObject, 'give quotas by name'],
  store: [has('consume'), 'give a RateLimitStore, such as new MemoryStore()'],
  settings: [has('read'), 'give a RateLimitSettings'],
};

/** The options without those of the wrong kind, each of which is a finding. */
export function soundOptions(options: RateLimitOptions, findings: string[]): RateLimitOptions {
  const sound: Record<string, unknown> = {};
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

function isGuards(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isFunction) : isFunction(value);
}

function has(method: string): (value: unknown) => boolean {
  return (value) => typeof value === 'object' && value !== null && isFunction(Reflect.get(value, method));
}

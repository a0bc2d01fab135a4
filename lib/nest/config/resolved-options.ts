// Options, settings and defaults made into one checked whole; everything wrong is collected, nothing throws here.

import { createRate, show, type Rate } from '../../algorithms/rate.js';
import type { Report } from '../../events/event.js';
import { LiveLimit, LiveQuota } from '../../limiter/live-rate.js';
import { parseQuota, parseRate } from '../../limiter/quota-text.js';
import { readAddressOptions, type UncheckedAddressOptions } from '../../network/address-options.js';
import { ApiRates, checkApiLimits, type ApiLimitNumbers } from '../../policies/api-rates.js';
import { checkLoginQuotas, LOGIN_LIMITS, LoginRates, type LoginQuotas } from '../../policies/login-rates.js';
import type { PerIpQuota, RateLimitOptions } from '../options.js';
import { checkChoice, checkQuota, ON_STORE_ERROR, rateOf, type Quota } from '../quota.js';
import type { Call } from '../call.js';
import {
  ENVIRONMENT,
  LIMITS_ENVIRONMENT,
  LOGIN_ENVIRONMENT,
  type RateLimitConfig,
} from './rate-limit.config.js';
import type { RateLimitSettings } from './settings.js';

const PER_IP_FIELDS = new Set(['limit', 'per', 'dryRun', 'onStoreError']);

const ALL_OFF: LoginQuotas = Object.fromEntries(Object.keys(LOGIN_LIMITS).map((name) => [name, null]));

/** Source B, SB-02. */
const DEFAULT_PER_IP = createRate('gcra', 600, 60e6);

/** A limit of every route, ready for counting. */
export interface AppThrottle {
  readonly quota: Omit<Quota, 'limit' | 'per'>;
  readonly rate: (call: Call) => Rate | null;
}

export interface ResolvedOptions {
  readonly address: UncheckedAddressOptions;
  /** Read on every request; null: off. */
  readonly perIp: () => Rate | null;
  /** The throttles of routes without their own. */
  readonly throttles: readonly AppThrottle[];
  readonly policies: ReadonlyMap<string, Quota>;
  /** The machine API's. */
  readonly api: ApiRates;
  /** The sign-in limits. */
  readonly login: LoginRates;
}

/** Resolves sound options; what is wrong goes to `findings`, and when anything is, the rest must not be used. */
export function resolveOptions(
  options: RateLimitOptions,
  config: RateLimitConfig,
  settings: RateLimitSettings,
  report: Report,
  findings: string[],
): ResolvedOptions {
  return {
    address: resolveAddress(options, config, findings),
    perIp: resolvePerIp(options.perIp, settings, report, findings),
    throttles: resolveThrottles(options.throttle, settings, report, findings),
    policies: resolvePolicies(options.policies, findings),
    api: resolveApi(options.limits ?? {}, settings, report, findings),
    login: resolveLogin(options.login, settings, report, findings),
  };
}

function resolveApi(
  limits: ApiLimitNumbers,
  settings: RateLimitSettings,
  report: Report,
  findings: string[],
): ApiRates {
  checkApiLimits(limits, (name) => `limits.${name}`, findings);
  checkApiLimits(settings.read().limits, settingNames('limits', LIMITS_ENVIRONMENT), findings);
  return new ApiRates(limits, () => settings.read().limits, report);
}

function resolveLogin(
  login: RateLimitOptions['login'],
  settings: RateLimitSettings,
  report: Report,
  findings: string[],
): LoginRates {
  const { fold: _fold, onStoreError, ...quotas } = login ?? {};
  checkChoice(onStoreError, ['local', 'closed'], 'login.onStoreError', findings);
  const given: LoginQuotas = login === null ? ALL_OFF : quotas;
  checkLoginQuotas(given, (name) => `login.${name}`, findings);
  checkLoginQuotas(settings.read().login, settingNames('login', LOGIN_ENVIRONMENT), findings);
  return new LoginRates(given, () => settings.read().login, report);
}

function resolveAddress(
  options: RateLimitOptions,
  config: RateLimitConfig,
  findings: string[],
): UncheckedAddressOptions {
  const address: Record<string, unknown> = {};
  for (const key of ['trustedProxies', 'trustProxy', 'clientIpHeader', 'ipv6Prefix'] as const) {
    const inCode = options[key] !== undefined;
    address[key] = inCode ? options[key] : config[key];
    const problems: string[] = [];
    readAddressOptions({ [key]: address[key] }, problems);
    for (const problem of problems) findings.push(inCode ? problem : `${ENVIRONMENT[key]}: ${problem}`);
  }
  return address;
}

function resolvePerIp(
  perIp: PerIpQuota | null | undefined,
  settings: RateLimitSettings,
  report: Report,
  findings: string[],
): () => Rate | null {
  if (perIp === null) return () => null;
  if (perIp === undefined) return liveQuota('perIp', DEFAULT_PER_IP, settings, report, findings);
  for (const key of Object.keys(perIp)) {
    if (!PER_IP_FIELDS.has(key))
      findings.push(`perIp.${key} is unknown: perIp has ${[...PER_IP_FIELDS].join(', ')}`);
  }
  const { dryRun, limit }: { readonly dryRun?: unknown; readonly limit?: unknown } = perIp;
  if (dryRun !== undefined && typeof dryRun !== 'boolean') {
    findings.push(`perIp.dryRun is ${show(dryRun)}: give true or false`);
  }
  checkChoice(perIp.onStoreError, ON_STORE_ERROR, 'perIp.onStoreError', findings);
  if (typeof limit !== 'function') {
    const parsed = parseQuota(perIp, 'gcra');
    if ('problem' in parsed) findings.push(`perIp: ${parsed.problem}`);
    const rate = 'rate' in parsed ? parsed.rate : null;
    return () => rate;
  }
  const parsed = parseRate('gcra', 1, perIp.per);
  if ('problem' in parsed) {
    findings.push(`perIp: ${parsed.problem}`);
    return () => null;
  }
  const live = new LiveLimit('perIp.limit', 'gcra', parsed.rate.window, report);
  return () => live.of(() => limit());
}

/** Names a setting of a group, with the variable that it may come from. */
function settingNames(group: string, variables: Readonly<Record<string, string>>): (name: string) => string {
  return (name) => {
    const setting = `setting rateLimit.${group}.${name}`;
    return Object.hasOwn(variables, name) ? `${variables[name]} (${setting})` : setting;
  };
}

/** A quota that settings hold: checked now, read again on every call. */
function liveQuota(
  setting: 'perIp' | 'throttle',
  byDefault: Rate | null,
  settings: RateLimitSettings,
  report: Report,
  findings: string[],
): () => Rate | null {
  const first = settings.read()[setting];
  if (first !== undefined && first !== null) {
    const parsed = parseQuota(first, 'gcra');
    if ('problem' in parsed) {
      findings.push(`${ENVIRONMENT[setting]} (setting rateLimit.${setting}): ${parsed.problem}`);
    }
  }
  const live = new LiveQuota(`rateLimit.${setting}`, 'gcra', byDefault, report);
  return () => live.current(settings.read()[setting]);
}

function resolveThrottles(
  throttle: RateLimitOptions['throttle'],
  settings: RateLimitSettings,
  report: Report,
  findings: string[],
): readonly AppThrottle[] {
  if (throttle === null) return [];
  if (throttle === undefined) {
    // Without one at boot routes stay free of any work; null at boot keeps the place for a later edit.
    if (settings.read().throttle === undefined) return [];
    return [{ quota: {}, rate: liveQuota('throttle', null, settings, report, findings) }];
  }
  const list: readonly Quota[] = isList(throttle) ? throttle : [throttle];
  return list.map((quota, index) => {
    const where = list.length === 1 ? 'throttle' : `throttle[${index}]`;
    const before = findings.length;
    checkQuota(quota, where, findings);
    return { quota, rate: findings.length > before ? () => null : rateOf(quota, `${where}.limit`, report) };
  });
}

function isList(throttle: Quota | readonly Quota[]): throttle is readonly Quota[] {
  return Array.isArray(throttle);
}

function resolvePolicies(
  policies: RateLimitOptions['policies'],
  findings: string[],
): ReadonlyMap<string, Quota> {
  const resolved = new Map<string, Quota>();
  for (const [name, quota] of Object.entries(policies ?? {})) {
    checkQuota({ name, ...quota }, `policies.${name}`, findings);
    resolved.set(name, quota);
  }
  return resolved;
}

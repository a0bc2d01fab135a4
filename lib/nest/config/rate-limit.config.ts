// Settings from the environment, as `@nestjs/config` namespace `rateLimit`. Options given in code win over them.

import { registerAs } from '@nestjs/config';
import type { ApiLimitName } from '../../policies/api-rates.js';
import type { LoginLimitName } from '../../policies/login-rates.js';

/** The namespace: `ConfigService.set('rateLimit.perIp', '60/1m')` takes effect with the next request. */
export interface RateLimitConfig {
  perIp?: unknown;
  throttle?: unknown;
  limits?: Readonly<Record<string, unknown>>;
  login?: Readonly<Record<string, unknown>>;
  trustedProxies?: unknown;
  trustProxy?: unknown;
  clientIpHeader?: unknown;
  ipv6Prefix?: unknown;
}

/** Variables by setting. One that is set but empty is invalid and fails the boot: it is not "off". */
export const ENVIRONMENT: Readonly<Record<Exclude<keyof RateLimitConfig, 'limits' | 'login'>, string>> = {
  perIp: 'RATE_LIMIT_PER_IP',
  throttle: 'RATE_LIMIT_THROTTLE',
  trustedProxies: 'RATE_LIMIT_TRUSTED_PROXIES',
  trustProxy: 'RATE_LIMIT_TRUST_PROXY',
  clientIpHeader: 'RATE_LIMIT_CLIENT_IP_HEADER',
  ipv6Prefix: 'RATE_LIMIT_IPV6_PREFIX',
};

/** Variables of the machine API's limits. */
export const LIMITS_ENVIRONMENT: Readonly<Record<ApiLimitName, string>> = {
  adminPreauthFailPerMin: 'RATE_LIMIT_ADMIN_PREAUTH_FAIL_PER_MIN',
  adminRatePerMin: 'RATE_LIMIT_ADMIN_RATE_PER_MIN',
  publicTokenRatePerMin: 'RATE_LIMIT_PUBLIC_TOKEN_RATE_PER_MIN',
  publicIpRatePerMin: 'RATE_LIMIT_PUBLIC_IP_RATE_PER_MIN',
  publicNewRowsPerIpHour: 'RATE_LIMIT_PUBLIC_NEW_ROWS_PER_IP_HOUR',
  publicNewRowsGlobalHour: 'RATE_LIMIT_PUBLIC_NEW_ROWS_GLOBAL_HOUR',
};

/** Variables of the sign-in limits, such as `5/1m`. */
export const LOGIN_ENVIRONMENT: Readonly<Record<LoginLimitName, string>> = {
  failures: 'RATE_LIMIT_LOGIN_FAILURES',
  perNetwork: 'RATE_LIMIT_LOGIN_PER_NETWORK',
  perIdentifier: 'RATE_LIMIT_LOGIN_PER_IDENTIFIER',
  codes: 'RATE_LIMIT_LOGIN_CODES',
  mails: 'RATE_LIMIT_LOGIN_MAILS',
};

export const rateLimitConfig = registerAs('rateLimit', (): RateLimitConfig => readEnvironment(process.env));

/** What the variables say, unchecked where they say something wrong; undefined where one isn't set. */
export function readEnvironment(env: NodeJS.ProcessEnv): RateLimitConfig {
  return {
    perIp: env[ENVIRONMENT.perIp],
    throttle: env[ENVIRONMENT.throttle],
    limits: readAll(env, LIMITS_ENVIRONMENT, toNumber),
    login: readAll(env, LOGIN_ENVIRONMENT, (text) => text),
    trustedProxies: env[ENVIRONMENT.trustedProxies]?.split(',').map((entry) => entry.trim()),
    trustProxy: toBoolean(env[ENVIRONMENT.trustProxy]),
    clientIpHeader: env[ENVIRONMENT.clientIpHeader],
    ipv6Prefix: toNumber(env[ENVIRONMENT.ipv6Prefix]),
  };
}

function readAll(
  env: NodeJS.ProcessEnv,
  variables: Readonly<Record<string, string>>,
  read: (text: string | undefined) => unknown,
): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries(variables)) found[name] = read(env[variable]);
  return found;
}

function toBoolean(text: string | undefined): unknown {
  if (text === 'true') return true;
  return text === 'false' ? false : text;
}

function toNumber(text: string | undefined): unknown {
  return text !== undefined && /^[0-9]{1,9}$/.test(text) ? Number(text) : text;
}

// Settings from the environment, as `@nestjs/config` namespace `rateLimit`. Options given in code win over them.

import { registerAs } from '@nestjs/config';

/** The namespace: `ConfigService.set('rateLimit.perIp', '60/1m')` takes effect with the next request. */
export interface RateLimitConfig {
  perIp?: unknown;
  throttle?: unknown;
  trustedProxies?: unknown;
  trustProxy?: unknown;
  clientIpHeader?: unknown;
  ipv6Prefix?: unknown;
}

/** Variables by setting. One that is set but empty is invalid and fails the boot: it is not "off". */
export const ENVIRONMENT: Readonly<Record<keyof RateLimitConfig, string>> = {
  perIp: 'RATE_LIMIT_PER_IP',
  throttle: 'RATE_LIMIT_THROTTLE',
  trustedProxies: 'RATE_LIMIT_TRUSTED_PROXIES',
  trustProxy: 'RATE_LIMIT_TRUST_PROXY',
  clientIpHeader: 'RATE_LIMIT_CLIENT_IP_HEADER',
  ipv6Prefix: 'RATE_LIMIT_IPV6_PREFIX',
};

export const rateLimitConfig = registerAs('rateLimit', (): RateLimitConfig => readEnvironment(process.env));

/** What the variables say, unchecked where they say something wrong; undefined where one isn't set. */
export function readEnvironment(env: NodeJS.ProcessEnv): RateLimitConfig {
  return {
    perIp: env[ENVIRONMENT.perIp],
    throttle: env[ENVIRONMENT.throttle],
    trustedProxies: env[ENVIRONMENT.trustedProxies]?.split(',').map((entry) => entry.trim()),
    trustProxy: toBoolean(env[ENVIRONMENT.trustProxy]),
    clientIpHeader: env[ENVIRONMENT.clientIpHeader],
    ipv6Prefix: toNumber(env[ENVIRONMENT.ipv6Prefix]),
  };
}

function toBoolean(text: string | undefined): unknown {
  if (text === 'true') return true;
  return text === 'false' ? false : text;
}

function toNumber(text: string | undefined): unknown {
  return text !== undefined && /^[0-9]{1,9}$/.test(text) ? Number(text) : text;
}

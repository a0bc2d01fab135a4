import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  ENVIRONMENT,
  LIMITS_ENVIRONMENT,
  LOGIN_ENVIRONMENT,
  rateLimitConfig,
  readEnvironment,
} from '../../../lib/nest/config/rate-limit.config.js';
import { API_LIMITS } from '../../../lib/policies/api-rates.js';
import { LOGIN_LIMITS } from '../../../lib/policies/login-rates.js';

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('settings from the environment', () => {
  it('are undefined where nothing is set', () => {
    const { limits, login, ...settings } = readEnvironment({});
    expect(Object.values(settings)).toEqual(Object.keys(ENVIRONMENT).map(() => undefined));
    expect(Object.values(limits ?? {})).toEqual(Object.keys(LIMITS_ENVIRONMENT).map(() => undefined));
    expect(Object.values(login ?? {})).toEqual(Object.keys(LOGIN_ENVIRONMENT).map(() => undefined));
  });

  it('have a variable each, all of one prefix', () => {
    const { limits, login, ...settings } = readEnvironment({});
    expect(Object.keys(limits ?? {})).toEqual(Object.keys(API_LIMITS));
    expect(Object.keys(login ?? {})).toEqual(Object.keys(LOGIN_LIMITS));
    expect(Object.keys(settings).toSorted()).toEqual(Object.keys(ENVIRONMENT).toSorted());
    const names = [
      ...Object.values(ENVIRONMENT),
      ...Object.values(LIMITS_ENVIRONMENT),
      ...Object.values(LOGIN_ENVIRONMENT),
    ];
    for (const name of names) expect(name).toMatch(/^RATE_LIMIT_[A-Z0-9_]+$/);
  });

  it('are read as they are meant', () => {
    expect(
      readEnvironment({
        RATE_LIMIT_PER_IP: '600/1m',
        RATE_LIMIT_THROTTLE: '100/1m',
        RATE_LIMIT_TRUSTED_PROXIES: '127.0.0.1, ::1 ,10.0.0.0/8',
        RATE_LIMIT_TRUST_PROXY: 'true',
        RATE_LIMIT_CLIENT_IP_HEADER: 'cf-connecting-ip',
        RATE_LIMIT_IPV6_PREFIX: '56',
        RATE_LIMIT_ADMIN_RATE_PER_MIN: '300',
        RATE_LIMIT_PUBLIC_IP_RATE_PER_MIN: '12O',
        RATE_LIMIT_LOGIN_FAILURES: '3/1m',
      }),
    ).toEqual({
      perIp: '600/1m',
      throttle: '100/1m',
      trustedProxies: ['127.0.0.1', '::1', '10.0.0.0/8'],
      trustProxy: true,
      clientIpHeader: 'cf-connecting-ip',
      ipv6Prefix: 56,
      limits: { adminRatePerMin: 300, publicIpRatePerMin: '12O' },
      login: { failures: '3/1m' },
    });
  });

  it.each(['false', 'FALSE', '0', '', 'no', 'True', '1'])('B13 trustProxy %o is not true', (text) => {
    const { trustProxy } = readEnvironment({ RATE_LIMIT_TRUST_PROXY: text });
    expect(trustProxy).not.toBe(true);
    // What is no word for it stays as it is, for the boot to refuse.
    expect(trustProxy).toBe(text === 'false' ? false : text);
  });

  it.each(['', '63.5', '-64', '0x40', '6e1', '64 ', '99999999999'])('ipv6Prefix %o stays text', (text) => {
    expect(readEnvironment({ RATE_LIMIT_IPV6_PREFIX: text }).ipv6Prefix).toBe(text);
  });

  it('an empty list has an empty entry, which the boot refuses', () => {
    expect(readEnvironment({ RATE_LIMIT_TRUSTED_PROXIES: '' }).trustedProxies).toEqual(['']);
  });

  it('are read when the app boots, not when the package loads', () => {
    vi.stubEnv('RATE_LIMIT_PER_IP', '9/1m');
    expect(rateLimitConfig()).toMatchObject({ perIp: '9/1m' });
    vi.stubEnv('RATE_LIMIT_PER_IP', '8/1m');
    expect(rateLimitConfig()).toMatchObject({ perIp: '8/1m' });
    expect(rateLimitConfig.KEY).toContain('rateLimit');
  });
});

import { describe, expect, it } from 'vitest';
import { badConfiguration, nameOf, TollgateError } from '../lib/errors.js';

describe('TollgateError', () => {
  it('is an Error with a name, a stable code, a message and a cause', () => {
    const cause = new Error('why');
    const error = new TollgateError('TOLLGATE_UNKNOWN_POLICY', 'no policy named login', { cause });
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe('TollgateError');
    expect(error.code).toBe('TOLLGATE_UNKNOWN_POLICY');
    expect(error.cause).toBe(cause);
    expect(String(error)).toBe('TollgateError: no policy named login');
  });

  it('has no cause unless given one', () => {
    expect('cause' in new TollgateError('TOLLGATE_NOT_INSTALLED', 'm')).toBe(false);
  });
});

describe('badConfiguration', () => {
  it('shows everything that is wrong in one error, one line each', () => {
    const error = badConfiguration('RateLimitModule.forRoot', [
      'perIp.limit is 0',
      'trustedProxies[0] is "x"',
    ]);
    expect(error.code).toBe('TOLLGATE_BAD_CONFIGURATION');
    expect(error.message).toBe(
      'RateLimitModule.forRoot:\n  - perIp.limit is 0\n  - trustedProxies[0] is "x"',
    );
  });
});

describe('nameOf', () => {
  it('names what was thrown and never says what it says', () => {
    expect(nameOf(new TypeError('a secret'))).toBe('TypeError');
    expect(nameOf('a secret')).toBe('a string');
    expect(nameOf(null)).toBe('null');
    expect(nameOf(Object.create(null))).toBe('a object');
  });

  it('survives what throws when it is looked at', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(nameOf(proxy)).toBe('a object');
  });
});

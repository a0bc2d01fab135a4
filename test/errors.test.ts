import { describe, expect, it } from 'vitest';
import { badConfiguration, codeOf, nameOf, problemOf, TollgateError } from '../lib/errors.js';

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

describe('codes of errors', () => {
  it('are those of the system, of a database, of a server, or the class: never what the error says', () => {
    expect(codeOf(Object.assign(new Error('connect to secret'), { code: 'ECONNREFUSED' }))).toBe(
      'ECONNREFUSED',
    );
    expect(codeOf(new Error('WRONGPASS invalid username secret'))).toBe('WRONGPASS');
    expect(codeOf(new RangeError('A secret'))).toBe('RangeError');
    expect(codeOf('secret')).toBe('a string');
  });

  it('are shown with that of the first cause', () => {
    const first = new Error('OOM command not allowed');
    const second = new Error('in between', { cause: first });
    const error = new TollgateError('TOLLGATE_STORE_NOT_DONE', 'm', { cause: second });
    expect(problemOf(error)).toBe('TOLLGATE_STORE_NOT_DONE: OOM');
    expect(problemOf(first)).toBe('OOM');
  });
});

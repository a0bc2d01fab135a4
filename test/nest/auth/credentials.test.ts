import { describe, expect, it } from 'vitest';
import { carriesCredential, credentialInUrl } from '../../../lib/nest/auth/credentials.js';
import type { FrameworkRequest } from '../../../lib/nest/http/request-state.js';

function request(parts: Partial<FrameworkRequest> = {}): FrameworkRequest {
  return { method: 'GET', url: '/', headers: {}, ...parts };
}

/** Names of what carries a credential, and of what is called nearly so. */
const CREDENTIALS = [
  'authorization',
  'proxy-authorization',
  'auth',
  'x-auth',
  'auth_key',
  'oauth_verifier',
  'api-key',
  'api_key',
  'apikey',
  'apiKey',
  'x-api-key',
  'X-API-Key',
  'ocp-apim-subscription-key',
  'key',
  'access-key',
  'token',
  'access_token',
  'refreshToken',
  'id_token',
  'x-amz-security-token',
  'client_secret',
  'session',
  'sessionid',
  'PHPSESSION',
  'connect.sid',
  'sid',
  'jwt',
  'jwt_cookie',
  'x-jwt',
  'signature',
  'x-hub-signature-256',
  'credential',
  'credentials',
  'password',
  'passwd',
  'passphrase',
  'passcode',
  'pass',
  'user_pass',
  'pwd',
  'pin',
  'card-pin',
  'otp',
  'code',
];

const OTHERS = [
  'accept',
  'accept-language',
  'user-agent',
  'content-type',
  'host',
  'referer',
  'x-forwarded-for',
  'x-request-id',
  'if-none-match',
  'sec-fetch-mode',
  'sec-ch-ua',
  'author',
  'authors',
  'author_id',
  'author-name',
  'theme',
  'lang',
  'email',
  'username',
  'page',
  'q',
  'keyboard',
  'keys',
  'monkey',
  'postcode',
  'barcode',
  'codes',
  'compass',
  'passenger',
  'passport_country',
  'pinned',
  'spin',
  'side',
  'consider',
];

const json = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, 'x']));

describe('carriesCredential', () => {
  it.each(CREDENTIALS)('%s is a credential: as a header, a cookie, a parameter and a field', (name) => {
    expect(carriesCredential(request({ headers: json([name]) }))).toBe(true);
    expect(carriesCredential(request({ headers: { cookie: `theme=dark; ${name}=x` } }))).toBe(true);
    expect(carriesCredential(request({ url: `/a?page=1&${name}=x` }))).toBe(true);
    expect(carriesCredential(request({ method: 'POST', body: json([name]) }))).toBe(true);
  });

  it('nothing else is', () => {
    expect(
      carriesCredential(
        request({
          url: `/token/session/password?${OTHERS.map((name) => `${name}=token`).join('&')}`,
          headers: { ...json(OTHERS), cookie: OTHERS.map((name) => `${name}=token`).join('; ') },
          body: json(OTHERS),
        }),
      ),
    ).toBe(false);
    expect(carriesCredential(request())).toBe(false);
    expect(carriesCredential(request({ url: undefined, headers: { cookie: '' } }))).toBe(false);
  });

  it.each(['idempotency-key', 'sec-websocket-key', ':authority'])(
    'the header %s says nothing about the caller',
    (name) => {
      expect(carriesCredential(request({ headers: json([name]) }))).toBe(false);
    },
  );

  it.each([
    '/?token',
    '/?token=',
    '/?%74oken=x',
    '/?a&token[]=x',
    '/?token[0]=x',
    '/?+token=x',
    '/?a=?&token=x',
  ])('a parameter counts however it is spelled: %s', (url) => {
    expect(carriesCredential(request({ url }))).toBe(true);
  });

  it.each(['theme=dark;session=x', ' session=x', 'session', 'a=b;;session=x;', 'session=x=y'])(
    'a cookie counts however the line is written: %s',
    (cookie) => {
      expect(carriesCredential(request({ headers: { cookie } }))).toBe(true);
    },
  );

  it.each([
    [undefined],
    [null],
    ['token=x'],
    [5],
    [true],
    [[]],
    [['token']],
    [{}],
    [{ user: { password: 'x' } }],
  ])('a body of %j has no such field', (body) => {
    expect(carriesCredential(request({ method: 'POST', body }))).toBe(false);
  });

  it('a field counts whatever it holds', () => {
    for (const password of ['', null, undefined, 5, {}]) {
      expect(carriesCredential(request({ method: 'POST', body: { password } }))).toBe(true);
    }
  });

  it('a raw body is not looked through, however long', () => {
    const body = Buffer.alloc(20_000_000);
    const started = performance.now();
    expect(carriesCredential(request({ method: 'POST', body }))).toBe(false);
    expect(performance.now() - started).toBeLessThan(500);
  });

  it('a hostile query, cookie or body takes no long time', () => {
    const started = performance.now();
    const long = 'author'.repeat(2_000);
    for (const hostile of [long, 'auth'.repeat(3_000), '-'.repeat(16_000), 'pass'.repeat(4_000)]) {
      carriesCredential(
        request({ url: `/?${hostile}`, headers: { cookie: hostile }, body: { [hostile]: 1 } }),
      );
    }
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe('credentialInUrl', () => {
  const NAMES = ['access_token', 'token'];

  it.each<[string | undefined, string | null]>([
    ['/a?token=x', 'token'],
    ['/a?TOKEN=x', 'token'],
    ['/a?%54oken=x', 'token'],
    ['/a?b=1&token', 'token'],
    ['/a?token=', 'token'],
    ['/a?token[]=x', 'token'],
    ['/a?token[a][b]=x', 'token'],
    ['/a?token%5B%5D=x', 'token'],
    ['/a?token&access_token', 'access_token'],
    ['/a?b=?token=x', null],
    ['/a?x=1#token=x', null],
    ['/token?b=token', null],
    ['/a?tokens=x', null],
    ['/a?a.token=x', null],
    ['/a?', null],
    ['/a', null],
    ['', null],
    [undefined, null],
  ])('of %j is %j', (url, found) => {
    expect(credentialInUrl(url, NAMES)).toBe(found);
  });

  it('without names finds nothing', () => {
    expect(credentialInUrl('/a?token=x', [])).toBeNull();
  });
});

import { describe, expect, it } from 'vitest';
import { Authenticator, type Authentication } from '../../../lib/index.js';

class Guests extends Authenticator {
  authenticate(): Authentication {
    return 'guest';
  }
}

describe('Authenticator', () => {
  it('is switched on, and knows what clients put into URLs, unless the app says otherwise', () => {
    const guests = new Guests();
    expect(guests.isEnabled({ headers: {} })).toBe(true);
    expect(guests.credentialParameters).toEqual([
      'access_token',
      'api_key',
      'api_token',
      'apikey',
      'auth_token',
      'token',
    ]);
  });
});

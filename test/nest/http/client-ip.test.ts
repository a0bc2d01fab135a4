import { describe, expect, it } from 'vitest';
import { clientIpOf } from '../../../lib/nest/http/client-ip.js';
import { makeLimits, rawRequestFrom } from './support.js';

describe('the client’s address of a request', () => {
  it('SB-52 is the one that limits are counted by', () => {
    const { limits } = makeLimits(undefined, null, ['10.0.0.0/8']);
    const raw = rawRequestFrom('10.0.0.9', { 'x-forwarded-for': '2001:DB8::1' });
    limits.capture(raw);
    expect(clientIpOf(raw)).toBe('2001:db8::1');
    expect(clientIpOf({ ...rawRequestFrom('192.0.2.1'), raw })).toBe('2001:db8::1');
  });

  it('is null where nothing saw the request, and where there is none', () => {
    expect(clientIpOf(rawRequestFrom('192.0.2.1'))).toBeNull();
    const { limits } = makeLimits();
    const raw = rawRequestFrom(undefined);
    limits.capture(raw);
    expect(clientIpOf(raw)).toBeNull();
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../lib/network/address.js';
import { DEFAULT_IPV6_PREFIX, networkOf, UNKNOWN_NETWORK } from '../../lib/network/network.js';

function network(text: string, ipv6Prefix?: number): string {
  const address = parseAddress(text);
  if (address === null) throw new Error(`not an address: ${text}`);
  return networkOf(address, ipv6Prefix);
}

describe('networkOf', () => {
  it('SA-14 keeps an IPv4 address whole and takes the /64 of an IPv6 address', () => {
    expect(network('203.0.113.7')).toBe('203.0.113.7');
    expect(network('2001:db8:5:6:7:8:9:a')).toBe('2001:db8:5:6::/64');
    expect(DEFAULT_IPV6_PREFIX).toBe(64);
  });

  it('keeps a mapped address whole, whatever the prefix', () => {
    expect(network('::ffff:203.0.113.7', 32)).toBe('203.0.113.7');
  });

  it('cuts between the bits of a group', () => {
    expect(network('2001:db8:5:ffff::1', 56)).toBe('2001:db8:5:ff00::/56');
    expect(network('2001:db8:5:ffff::1', 63)).toBe('2001:db8:5:fffe::/63');
    expect(network('2001:db8:ffff::1', 32)).toBe('2001:db8::/32');
    expect(network('2001:db8::ffff', 127)).toBe('2001:db8::fffe/127');
    expect(network('2001:db8::ffff', 128)).toBe('2001:db8::ffff/128');
    expect(network('::1')).toBe('::/64');
  });

  it('puts two IPv6 addresses in one network exactly when their first bits are the same', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    const bits = (parts: readonly number[]) => parts.reduce((all, part) => (all << 16n) | BigInt(part), 0n);
    const flip = fc.integer({ min: 0, max: 127 });
    fc.assert(
      fc.property(groups, flip, fc.integer({ min: 32, max: 128 }), (parts, bit, prefix) => {
        const flipped = bits(parts) ^ (1n << BigInt(127 - bit));
        const other = parts.map((_, index) => Number((flipped >> BigInt(112 - 16 * index)) & 0xffffn));
        const [a, b] = [parts, other].map((list) => networkOf({ family: 6, text: '', groups: list }, prefix));
        expect(a === b).toBe(bit >= prefix);
      }),
      { numRuns: 2000 },
    );
  });

  it('names the unknown network like no address', () => {
    expect(parseAddress(UNKNOWN_NETWORK)).toBeNull();
  });
});

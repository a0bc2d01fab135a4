// From an address to the network that limits are counted on: whoever owns one address of an IPv6 prefix owns them all.
import { type Address, ipv6Text } from './address.js';

/** The network shared by all clients whose address is unknown (a Unix socket, a peer already gone). Never an address. */
export const UNKNOWN_NETWORK = 'unknown';

/** Bits of an IPv6 address that name its network: one home line gets a /64 or more. */
export const DEFAULT_IPV6_PREFIX = 64;

/**
 * The network of an address: an IPv4 address whole (`203.0.113.7`), an IPv6 address its prefix (`2001:db8:5:6::/64`).
 *
 * @param ipv6Prefix bits, a whole number from 32 to 128
 */
export function networkOf(address: Address, ipv6Prefix: number = DEFAULT_IPV6_PREFIX): string {
  if (address.family === 4) return address.text;
  const groups = address.groups.map((group, index) => {
    const kept = Math.min(16, Math.max(0, ipv6Prefix - 16 * index));
    return group & (0xffff << (16 - kept)) & 0xffff;
  });
  return `${ipv6Text(groups)}/${ipv6Prefix}`;
}

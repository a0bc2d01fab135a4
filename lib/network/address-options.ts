// The options that say who is believed about a client's address, checked before the first request.
import { show } from '../algorithms/rate.js';
import { DEFAULT_IPV6_PREFIX } from './network.js';
import { readTrustedProxies, type TrustedProxies } from './trusted-proxies.js';

/** How clients are told apart. The default believes nobody: a client is the peer of the connection. */
export interface AddressOptions {
  /**
   * Your proxies: IP addresses, CIDR blocks, and `'unix'` for peers on a Unix socket. Only from these are forwarding
   * headers believed. No entry is a number of hops: proxies are known by who they are.
   *
   * @default nobody (also null and an empty list)
   */
  readonly trustedProxies?: readonly string[] | null;
  /**
   * Believes the right-most `X-Forwarded-For` entry of any peer. Only for servers that nobody can reach except through
   * a proxy that sets the header; prefer `trustedProxies`, which wins when it lists anyone.
   *
   * @default false (also null)
   */
  readonly trustProxy?: boolean | null;
  /**
   * The one header your proxy sets, instead of `X-Forwarded-For` and `X-Real-IP`: `'cf-connecting-ip'`. Set it to
   * `'x-real-ip'` where the proxy sets that one but passes on the client's own `X-Forwarded-For`. A header whose name
   * ends in `forwarded-for` is read as a list from the right, any other must hold exactly one address.
   *
   * @default null: `X-Forwarded-For`, and `X-Real-IP` where there is none
   */
  readonly clientIpHeader?: string | null;
  /**
   * Bits of an IPv6 address that count as one client, a whole number from 32 to 128.
   *
   * @default 64
   */
  readonly ipv6Prefix?: number;
}

/** The options before they are checked: as the environment has them, or code that no compiler has seen. */
export type UncheckedAddressOptions = { readonly [Name in keyof AddressOptions]?: unknown };

/** The options, read. */
export interface AddressSettings {
  readonly proxies: TrustedProxies;
  /** Any peer is believed, for its right-most entry. */
  readonly anyPeer: boolean;
  /** In lower case; null: `x-forwarded-for`, then `x-real-ip`. */
  readonly clientIpHeader: string | null;
  readonly ipv6Prefix: number;
}

/** Reads the options; each thing wrong with them is a sentence in `findings`, and then they must not be used. */
export function readAddressOptions(options: UncheckedAddressOptions, findings: string[]): AddressSettings {
  const proxies = readTrustedProxies(options.trustedProxies, findings);
  const trustProxy = readTrustProxy(options.trustProxy, findings);
  const clientIpHeader = readHeaderName(options.clientIpHeader, findings);
  const ipv6Prefix = readPrefix(options.ipv6Prefix, findings);
  return { proxies, anyPeer: trustProxy && !proxies.listed, clientIpHeader, ipv6Prefix };
}

/** Everything wrong with the options, for one boot error; empty when all is well. */
export function addressFindings(options: UncheckedAddressOptions): string[] {
  const findings: string[] = [];
  readAddressOptions(options, findings);
  return findings;
}

/** What is allowed but rarely meant, to be logged at boot. */
export function addressWarnings(options: UncheckedAddressOptions): string[] {
  const { proxies, anyPeer, clientIpHeader } = readAddressOptions(options, []);
  const warnings: string[] = [];
  if (proxies.everyone) {
    warnings.push(
      'trustedProxies lists every address (/0): any client can pick its own; list only your proxies',
    );
  }
  if (options.trustProxy === true && proxies.listed) {
    warnings.push('trustProxy is ignored, because trustedProxies is set');
  }
  if (clientIpHeader !== null && !proxies.listed && !anyPeer) {
    warnings.push(
      `clientIpHeader ${show(clientIpHeader)} is never read, because trustedProxies lists nobody`,
    );
  }
  return warnings;
}

function readTrustProxy(value: unknown, findings: string[]): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'boolean') return value;
  findings.push(
    `trustProxy is ${show(value)}: give true or false, or better list your proxies in trustedProxies`,
  );
  return false;
}

function readHeaderName(value: unknown, findings: string[]): string | null {
  if (value === undefined || value === null) return null;
  // A token of RFC 9110 §5.6.2.
  if (typeof value !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(value)) {
    findings.push(
      `clientIpHeader is ${show(value)}: give the name of one header, such as 'cf-connecting-ip'`,
    );
    return null;
  }
  const name = value.toLowerCase();
  if (name !== 'forwarded') return name;
  findings.push(
    `clientIpHeader is ${show(value)}: the syntax of RFC 7239 isn't read; have the proxy set a header that holds bare addresses`,
  );
  return null;
}

function readPrefix(value: unknown, findings: string[]): number {
  if (value === undefined) return DEFAULT_IPV6_PREFIX;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 32 && value <= 128) return value;
  findings.push(`ipv6Prefix is ${show(value)}: give a whole number from 32 to 128`);
  return DEFAULT_IPV6_PREFIX;
}

// The proxies whose word about a client is taken, by identity: addresses and ranges, never a number of hops.
import ipaddr from 'ipaddr.js';
import { show } from '../algorithms/rate.js';
import { type Address, parseAddress } from './address.js';

/** A set of addresses, compared on bits and within one family. `0.0.0.0/0` holds IPv4 only, `::/0` IPv6 only. */
export interface TrustedProxies {
  /** False: nobody is listed. */
  readonly listed: boolean;
  /** `'unix'` is listed: a peer without an address, as on a Unix socket, is a proxy. */
  readonly unix: boolean;
  /** A whole family is listed (`0.0.0.0/0`, `::/0`): any such client can pick its address. */
  readonly everyone: boolean;
  has(address: Address): boolean;
}

type Ipv6Range = [ip: ipaddr.IPv6, prefix: number];

/** The addresses whose bits under the mask are these bits. */
interface Ipv4Range {
  readonly bits: number;
  readonly mask: number;
}

/**
 * Reads `trustedProxies`: addresses, CIDR blocks and the word `'unix'`. `undefined` and `null`: nobody.
 *
 * What can't be read is added to `findings`, one sentence each, and left out of the set. Ranges are strict: a decimal
 * prefix, no bits outside it. Mapped and NAT64 ranges mean their IPv4 range (`::ffff:10.0.0.0/104` is `10.0.0.0/8`).
 */
export function readTrustedProxies(value: unknown, findings: string[]): TrustedProxies {
  const ipv4: Ipv4Range[] = [];
  const ipv6: Ipv6Range[] = [];
  let unix = false;
  let everyone = false;
  for (const [index, entry] of entriesOf(value, findings).entries()) {
    if (entry === 'unix') {
      unix = true;
      continue;
    }
    const range = readRange(entry);
    if ('problem' in range) {
      findings.push(`trustedProxies[${index}] is ${show(entry)}: ${range.problem}`);
      continue;
    }
    everyone ||= range.prefix === 0;
    if (range.family === 6) ipv6.push([ipaddr.IPv6.parse(range.text), range.prefix]);
    // A shift by 32 would shift by 0.
    else ipv4.push({ bits: ipv4Bits(range.text), mask: range.prefix === 0 ? 0 : -1 << (32 - range.prefix) });
  }
  return {
    listed: unix || ipv4.length + ipv6.length > 0,
    unix,
    everyone,
    has(address) {
      if (address.family === 6) return ipv6.length > 0 && isWithin(address.groups, ipv6);
      if (ipv4.length === 0) return false;
      const bits = ipv4Bits(address.text);
      for (const range of ipv4) if ((bits & range.mask) === range.bits) return true;
      return false;
    },
  };
}

function isWithin(groups: readonly number[], ranges: readonly Ipv6Range[]): boolean {
  const ip = new ipaddr.IPv6([...groups]);
  return ranges.some((range) => ip.match(range));
}

// Of canonical text, as a signed 32-bit integer. By hand, because it runs for every hop of every request.
function ipv4Bits(text: string): number {
  let bits = 0;
  let octet = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x2e) {
      bits = (bits << 8) | octet;
      octet = 0;
    } else octet = octet * 10 + code - 0x30;
  }
  return (bits << 8) | octet;
}

function entriesOf(value: unknown, findings: string[]): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  findings.push(
    `trustedProxies is ${show(value)}: give a list of addresses and CIDR blocks, such as ['127.0.0.1', '10.0.0.0/8']`,
  );
  return [];
}

type Reading =
  { readonly family: 4 | 6; readonly text: string; readonly prefix: number } | { readonly problem: string };

function readRange(entry: unknown): Reading {
  if (typeof entry === 'number' || (typeof entry === 'string' && /^\d+$/.test(entry))) {
    return {
      problem: 'a number of hops says nothing about who they are: list the addresses of your proxies',
    };
  }
  const slash = typeof entry === 'string' ? entry.indexOf('/') : -1;
  const base = typeof entry !== 'string' ? '' : slash < 0 ? entry : entry.slice(0, slash);
  // A zone id would be dropped, and the entry would trust more than it says.
  const address = base.includes('%') ? null : parseAddress(base);
  if (typeof entry !== 'string' || address === null) {
    return { problem: "give an IP address, a CIDR block such as '10.0.0.0/8', or 'unix'" };
  }
  const width = base.includes(':') ? 128 : 32;
  const prefix = slash < 0 ? width : prefixOf(entry.slice(slash + 1));
  if (prefix > width) return { problem: `give a whole number from 0 to ${width} after the slash` };
  return rangeOf(address, width === 128 && address.family === 4 ? prefix - 96 : prefix);
}

function prefixOf(digits: string): number {
  return /^(?:0|[1-9]\d{0,2})$/.test(digits) ? Number(digits) : Infinity;
}

function rangeOf({ family, text }: Address, prefix: number): Reading {
  if (prefix < 0) return { problem: 'it reaches beyond the IPv4 addresses it names: give the IPv4 range' };
  const cidr = `${text}/${prefix}`;
  const start = (family === 4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(cidr).toString();
  if (start === text) return { family, text, prefix };
  return {
    problem: `it has bits outside its prefix: give ${start}/${prefix}, or ${text} for the one address`,
  };
}

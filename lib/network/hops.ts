// From the text of an address to all that a decision needs of it; IPv6 is remembered, for its parsing is dear.
import { ipv4Text, parseAddress } from './address.js';
import { bareAddress, MAX_ITEM_LENGTH } from './forwarded-address.js';
import { networkOf } from './network.js';
import type { TrustedProxies } from './trusted-proxies.js';

/** Who sent a request. */
export interface ClientAddress {
  /** Canonical text, for handlers and logs; null when unknown. Never text of a header that wasn't vouched for. */
  readonly address: string | null;
  /** What limits are counted on: the IPv4 address, the IPv6 prefix, or `UNKNOWN_NETWORK`. At most 43 characters. */
  readonly network: string;
}

/** One machine on the way from a client to this process. */
export interface Hop {
  readonly client: ClientAddress;
  /** It is a listed proxy: what it says about the hop before it is believed. */
  readonly trusted: boolean;
}

/** IPv6 addresses kept per generation; two live at a time. More would outgrow the young heap and cost more than parsing. */
export const GENERATION = 2048;

/** Makes the function from a text to the hop it names, null when it names none. It remembers a fixed number of hops. */
export function createHops(proxies: TrustedProxies, ipv6Prefix: number): (text: string) => Hop | null {
  let young = new Map<string, Hop>();
  let old = new Map<string, Hop>();

  // Dropping a whole generation is all the bookkeeping there is: no order to keep, no timer.
  function remember(text: string, hop: Hop): Hop {
    if (young.size >= GENERATION) {
      old = young;
      young = new Map();
    }
    young.set(text, hop);
    return hop;
  }

  function parse(text: string): Hop | null {
    const address = parseAddress(text);
    if (address === null) return null;
    const client = { address: address.text, network: networkOf(address, ipv6Prefix) };
    return { client: Object.freeze(client), trusted: proxies.has(address) };
  }

  function ipv6Hop(text: string): Hop | null {
    const known = young.get(text);
    if (known !== undefined) return known;
    const hop = old.get(text) ?? parse(text);
    return hop === null ? null : remember(text, hop);
  }

  // Made anew each time: that costs less than looking it up.
  function ipv4Hop(text: string): Hop {
    return { client: { address: text, network: text }, trusted: proxies.has({ family: 4, text }) };
  }

  return function hopOf(text) {
    if (text.length > MAX_ITEM_LENGTH) return null;
    const bare = bareAddress(text);
    if (bare === null) return null;
    const ipv4 = ipv4Text(bare);
    return ipv4 === null ? ipv6Hop(bare) : ipv4Hop(ipv4);
  };
}

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

  function recall(text: string): Hop | null {
    const hop = old.get(text) ?? parse(text);
    return hop === null ? null : remember(text, hop);
  }

  function known(text: string): Hop | undefined {
    const ipv4 = ipv4Text(text);
    if (ipv4 === null) return young.get(text);
    // Made anew each time: that costs less than looking it up.
    return { client: { address: ipv4, network: ipv4 }, trusted: proxies.has({ family: 4, text: ipv4 }) };
  }

  return function hopOf(text) {
    if (text.length > MAX_ITEM_LENGTH) return null;
    // Most texts are bare addresses: only what isn't known as one is searched for a port and brackets.
    const hop = known(text);
    if (hop !== undefined) return hop;
    const bare = bareAddress(text);
    if (bare === null) return null;
    return (bare === text ? undefined : known(bare)) ?? recall(bare);
  };
}

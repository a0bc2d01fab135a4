// Who sent this request: the one function from a peer and its headers to an address, which everything else uses.
import { badConfiguration } from '../errors.js';
import { addressFindings, readAddressOptions, type UncheckedAddressOptions } from './address-options.js';
import { ForwardedItems } from './forwarded-items.js';
import { type ClientAddress, createHops, type Hop } from './hops.js';
import { UNKNOWN_NETWORK } from './network.js';

/** Headers as Node has them: names in lower case, repeated lines joined or as an array. Absent: none. */
export type ForwardingHeaders = Readonly<Record<string, string | readonly string[] | undefined>> | undefined;

/** `socket.remoteAddress`. Absent or empty: a peer without an address, as on a Unix socket. */
export type Peer = string | null | undefined;

/** Finds the client of a request. No input makes it throw, and its functions need no `this`. */
export interface AddressResolver {
  /** The client. Take the peer when the request arrives: Node forgets it with the connection. */
  resolve(peer: Peer, headers: ForwardingHeaders): ClientAddress;
  /** The client's address alone, for loggers; null when unknown. */
  clientAddress(peer: Peer, headers: ForwardingHeaders): string | null;
  /** The client that an address names, in whatever spelling; the unknown client when it names none. */
  fromText(address: string | null | undefined): ClientAddress;
  /** There are forwarding headers, from a peer that isn't believed: worth one warning per process. */
  ignoresHeaders(peer: Peer, headers: ForwardingHeaders): boolean;
}

/** The client whose address isn't known: all such share one network, so that they are never unlimited. */
export const UNKNOWN_CLIENT: ClientAddress = Object.freeze({ address: null, network: UNKNOWN_NETWORK });

/**
 * Makes the resolver of one application.
 *
 * Headers of a peer that isn't trusted mean nothing. From a listed proxy, `X-Forwarded-For` is walked from the right
 * past other listed proxies, and the first address that is none is the client; when all are listed, the left-most.
 * An item that is no address, or the one after `MAX_FORWARDED_ITEMS`, ends the walk at the last hop vouched for.
 * Without any item, `X-Real-IP` counts, if it is exactly one address. With `trustProxy`, the right-most item counts.
 *
 * @throws TollgateError `TOLLGATE_BAD_CONFIGURATION`, with all of `addressFindings(options)`
 */
export function createAddressResolver(options: UncheckedAddressOptions = {}): AddressResolver {
  const findings = addressFindings(options);
  if (findings.length > 0) throw badConfiguration('client address', findings);
  const { proxies, anyPeer, clientIpHeader, ipv6Prefix } = readAddressOptions(options, findings);
  const hopOf = createHops(proxies, ipv6Prefix);
  const noAddress: Hop = { client: UNKNOWN_CLIENT, trusted: proxies.unix };
  const notAnAddress: Hop = { client: UNKNOWN_CLIENT, trusted: false };
  const believed = clientIpHeader === null ? ['x-forwarded-for', 'x-real-ip'] : [clientIpHeader];
  const forwarding = [...new Set(['x-forwarded-for', 'x-real-ip', ...believed])];

  function peerHop(peer: Peer): Hop {
    if (peer === undefined || peer === null || peer === '') return noAddress;
    return (typeof peer === 'string' ? hopOf(peer) : null) ?? notAnAddress;
  }

  function walk(from: Hop, first: string | null, items: ForwardedItems): ClientAddress {
    let vouched = from;
    for (let item: string | null | undefined = first; typeof item === 'string'; item = items.next()) {
      const hop = hopOf(item);
      if (hop === null) break;
      vouched = hop;
      if (!hop.trusted) break;
    }
    return vouched.client;
  }

  function only(from: Hop, first: string | null, items: ForwardedItems): ClientAddress {
    const hop = first === null || items.next() !== undefined ? null : hopOf(first);
    return (hop ?? from).client;
  }

  function forwarded(from: Hop, headers: NonNullable<ForwardingHeaders>): ClientAddress {
    for (const name of believed) {
      const items = new ForwardedItems(headers[name]);
      const first = items.next();
      if (first === undefined) continue;
      return name.endsWith('forwarded-for') ? walk(from, first, items) : only(from, first, items);
    }
    return from.client;
  }

  function resolve(peer: Peer, headers: ForwardingHeaders): ClientAddress {
    const hop = peerHop(peer);
    // With trustProxy no other hop is trusted, so that the walk ends at the right-most item.
    return (hop.trusted || anyPeer) && headers ? forwarded(hop, headers) : hop.client;
  }

  return {
    resolve,
    clientAddress: (peer, headers) => resolve(peer, headers).address,
    fromText: (address) => peerHop(address).client,
    ignoresHeaders(peer, headers) {
      if (!headers || !forwarding.some((name) => headers[name] !== undefined)) return false;
      return !anyPeer && !peerHop(peer).trusted;
    },
  };
}

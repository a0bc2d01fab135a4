// One item of a forwarding header: an address as proxies write it, with a port, brackets or a zone id around it.
import { type Address, parseAddress } from './address.js';

/** Longest item that is looked at, in characters and with its surrounding blanks: `[v6%zone]:65535`. */
export const MAX_ITEM_LENGTH = 80;

/**
 * Reads `203.0.113.7`, `203.0.113.7:1111`, `2001:db8::7`, `[2001:db8::7]` or `[2001:db8::7]:443`; null for all else.
 *
 * Ports are 0 to 65535 and are dropped: a client has a new one for every connection.
 */
export function parseForwardedAddress(item: string): Address | null {
  const address = bareAddress(item);
  return address === null ? null : parseAddress(address);
}

/** The item without its port and brackets, not yet an address; null when port or brackets are wrong. */
export function bareAddress(item: string): string | null {
  if (item.startsWith('[')) {
    const close = item.indexOf(']');
    const inside = item.slice(1, close);
    return close > 0 && inside.includes(':') && isPort(item, close + 1) ? inside : null;
  }
  const colon = item.indexOf(':');
  if (colon < 0 || colon !== item.lastIndexOf(':')) return item;
  return isPort(item, colon) ? item.slice(0, colon) : null;
}

function isPort(item: string, from: number): boolean {
  if (from === item.length) return true;
  const digits = item.slice(from + 1);
  return item[from] === ':' && /^\d{1,5}$/.test(digits) && Number(digits) <= 0xffff;
}

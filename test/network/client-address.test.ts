import { describe, expect, it } from 'vitest';
import type { UncheckedAddressOptions } from '../../lib/network/address-options.js';
import {
  createAddressResolver,
  type ForwardingHeaders,
  UNKNOWN_CLIENT,
} from '../../lib/network/client-address.js';
import { MAX_FORWARDED_ITEMS } from '../../lib/network/forwarded-items.js';

const LOCAL = ['127.0.0.1'];

/** The client of a request from `peer`, or from 127.0.0.1, under these options. */
const client = (
  options: UncheckedAddressOptions,
  headers: ForwardingHeaders,
  peer: string | null = '127.0.0.1',
) => createAddressResolver(options).resolve(peer, headers);

const address = (...request: Parameters<typeof client>) => client(...request).address;

const xff = (value: string | readonly string[]): ForwardingHeaders => ({ 'x-forwarded-for': value });

describe('the address of a client', () => {
  it('A01 mapped and plain spelling are one client, two IPv4 clients are two', () => {
    const { resolve } = createAddressResolver();
    const one = { address: '192.0.2.1', network: '192.0.2.1' };
    expect(resolve('::ffff:192.0.2.1', {})).toEqual(one);
    expect(resolve('::ffff:c000:201', {})).toEqual(one);
    expect(resolve('192.0.2.1', {})).toEqual(one);
    expect(resolve('::ffff:192.0.2.2', {})).toEqual({ address: '192.0.2.2', network: '192.0.2.2' });
  });

  it('A03 IPv6 clients of one /64 share a network', () => {
    const { resolve } = createAddressResolver({ trustedProxies: LOCAL });
    const network = (item: string) => resolve('127.0.0.1', xff(item)).network;
    const networks = ['::1', '::2', '::3', '::4'].map((host) => network(`2001:db8:5:6${host}`));
    expect(new Set(networks)).toEqual(new Set(['2001:db8:5:6::/64']));
    expect(network('2001:db8:5:7::1')).toBe('2001:db8:5:7::/64');
  });

  it('A04 the prefix is an option, checked at the boot', () => {
    const networks = (ipv6Prefix?: number) => {
      const { resolve } = createAddressResolver({ ipv6Prefix });
      return new Set([0, 1, 2, 3].map((subnet) => resolve(`2001:db8:5:${subnet}::1`, {}).network));
    };
    expect(networks(48)).toEqual(new Set(['2001:db8:5::/48']));
    expect(networks().size).toBe(4);
    for (const ipv6Prefix of [0, 129, 63.5, Number.NaN, '64']) {
      expect(() => createAddressResolver({ ipv6Prefix })).toThrow(/ipv6Prefix is .*32 to 128/);
    }
  });

  it('A05 all spellings of an address are one canonical text', () => {
    for (const spelling of ['2001:DB8::1', '2001:db8::1', '2001:0db8:0000:0000:0000:0000:0000:0001']) {
      expect(client({ trustedProxies: LOCAL }, xff(spelling))).toEqual({
        address: '2001:db8::1',
        network: '2001:db8::/64',
      });
    }
  });

  it('A07 an octet with a leading zero stops the walk', () => {
    for (const item of ['010.0.0.1', '::ffff:010.0.0.1', '0012.0.0.1']) {
      expect(address({ trustedProxies: ['10.0.0.0/8'] }, xff(`203.0.113.5, ${item}`), '10.0.0.9')).toBe(
        '10.0.0.9',
      );
    }
  });

  it('A08 the short forms of inet_aton are no addresses', () => {
    for (const item of ['127.1', '2130706433', '0x7f.1', '1.1.1']) {
      expect(address({ trustedProxies: LOCAL }, xff(`203.0.113.66, ${item}`))).toBe('127.0.0.1');
    }
    for (let digit = 1; digit <= 9; digit++) {
      expect(address({ trustedProxies: LOCAL }, xff(String(digit)))).toBe('127.0.0.1');
    }
  });

  it('A09 ports and brackets do not make another client', () => {
    const expected = {
      '203.0.113.7:1111': '203.0.113.7',
      '203.0.113.7:2222': '203.0.113.7',
      '203.0.113.8:1111': '203.0.113.8',
      '[2001:db8:1:2::7]:443': '2001:db8:1:2::/64',
      '[2001:db8:1:2::8]': '2001:db8:1:2::/64',
      '203.0.113.9:99999': '127.0.0.1',
      '203.0.113.9:': '127.0.0.1',
    };
    for (const [item, network] of Object.entries(expected)) {
      expect(client({ trustedProxies: LOCAL }, xff(item)).network, item).toBe(network);
    }
  });

  it('A10 text that is no address counts on the nearest hop vouched for', () => {
    for (const item of ['unknown', '_hidden', '-', '23189987', ' , ', '']) {
      expect(address({ trustedProxies: LOCAL }, xff(item)), item).toBe('127.0.0.1');
    }
    expect(address({ trustedProxies: LOCAL }, xff('203.0.113.7, , '))).toBe('203.0.113.7');
  });

  it('A11 NAT64 clients count as their IPv4 addresses', () => {
    expect(client({ trustedProxies: LOCAL }, xff('64:ff9b::c000:201')).network).toBe('192.0.2.1');
    expect(client({ trustedProxies: LOCAL }, xff('64:ff9b::c000:202')).network).toBe('192.0.2.2');
  });

  it('A12 a peer without an address is one shared client, unless unix is trusted', () => {
    for (const peer of [undefined, null, '']) {
      const untrusting = createAddressResolver();
      expect(untrusting.resolve(peer, xff('198.51.100.1'))).toBe(UNKNOWN_CLIENT);
      expect(untrusting.ignoresHeaders(peer, xff('198.51.100.1'))).toBe(true);
      const trusting = createAddressResolver({ trustedProxies: ['unix'] });
      expect(trusting.resolve(peer, xff('198.51.100.1')).address).toBe('198.51.100.1');
      expect(trusting.resolve(peer, xff('198.51.100.2')).address).toBe('198.51.100.2');
      expect(trusting.resolve(peer, xff('unknown'))).toBe(UNKNOWN_CLIENT);
      expect(trusting.resolve(peer, {})).toBe(UNKNOWN_CLIENT);
      expect(trusting.ignoresHeaders(peer, xff('198.51.100.1'))).toBe(false);
    }
  });

  it('trusts a Unix socket only for peers without an address', () => {
    expect(address({ trustedProxies: ['unix'] }, xff('203.0.113.1'), '198.51.100.9')).toBe('198.51.100.9');
    expect(client({ trustedProxies: ['unix'] }, xff('203.0.113.1'), 'nonsense')).toBe(UNKNOWN_CLIENT);
    expect(client({ trustedProxies: LOCAL }, xff('203.0.113.1'), null)).toBe(UNKNOWN_CLIENT);
  });
});

describe('what proxies say', () => {
  it('B01 the first address from the right that is no proxy is the client', () => {
    for (const forged of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      expect(address({ trustedProxies: LOCAL }, xff(`${forged}, 198.51.100.7`))).toBe('198.51.100.7');
    }
  });

  it('B02 naming a victim on the left does not count on the victim', () => {
    expect(client({ trustedProxies: LOCAL }, xff('203.0.113.50, 198.51.100.7')).network).toBe('198.51.100.7');
    expect(client({ trustedProxies: LOCAL }, xff('203.0.113.50')).network).toBe('203.0.113.50');
  });

  it('B03 SB-44 headers of a peer that is not listed mean nothing; by default nobody is', () => {
    for (const options of [{ trustedProxies: ['10.0.0.0/8'] }, {}]) {
      for (const forged of ['192.0.2.1', '10.0.0.1', '127.0.0.1', 'x']) {
        const headers = { 'x-forwarded-for': forged, 'x-real-ip': forged };
        expect(address(options, headers, '198.51.100.9')).toBe('198.51.100.9');
      }
    }
  });

  it('B04 a number of hops is refused, by name', () => {
    expect(() => createAddressResolver({ trustedProxies: 1 })).toThrow(/trustedProxies is 1/);
    expect(() => createAddressResolver({ trustedProxies: '1' })).toThrow(/trustedProxies is "1"/);
    expect(() => createAddressResolver({ trustedProxies: [1] })).toThrow(
      /trustedProxies\[0\] is 1: a number of hops/,
    );
    expect(() => createAddressResolver({ trustedProxies: ['2'] })).toThrow(
      expect.objectContaining({
        code: 'TOLLGATE_BAD_CONFIGURATION',
        message: expect.stringContaining('trustedProxies[0] is "2": a number of hops'),
      }),
    );
  });

  it('B06 an allow-list sees the resolved client, not header text', () => {
    for (const forged of ['127.0.0.1', '203.0.113.35']) {
      expect(address({ trustedProxies: LOCAL }, xff(`${forged}, 198.51.100.7`))).toBe('198.51.100.7');
    }
  });

  it('B07 when every hop is listed the left-most is the client', () => {
    const options = { trustedProxies: ['10.0.0.0/8'] };
    const headers = { ...xff('10.1.1.1, 10.0.0.3'), 'x-real-ip': '203.0.113.1' };
    expect(address(options, headers, '10.0.0.2')).toBe('10.1.1.1');
    expect(address(options, xff('10.1.1.2, 10.0.0.3'), '10.0.0.2')).toBe('10.1.1.2');
  });

  it('B08 repeated header lines are one list in their order', () => {
    expect(address({ trustedProxies: LOCAL }, xff(['192.0.2.66', '198.51.100.7']))).toBe('198.51.100.7');
    expect(address({ trustedProxies: LOCAL }, xff('192.0.2.66, 198.51.100.7'))).toBe('198.51.100.7');
    expect(address({ trustedProxies: LOCAL }, xff(['192.0.2.66, 198.51.100.7', '127.0.0.1', '']))).toBe(
      '198.51.100.7',
    );
  });

  it('B09 SB-43 X-Real-IP counts without X-Forwarded-For, when it is exactly one address', () => {
    const real = (value: string | readonly string[]) => ({ 'x-real-ip': value });
    const options = { trustedProxies: LOCAL };
    expect(address(options, real('192.0.2.1'), '198.51.100.9')).toBe('198.51.100.9');
    expect(address(options, real('203.0.113.9'))).toBe('203.0.113.9');
    expect(address(options, real(' [2001:db8::1]:443 '))).toBe('2001:db8::1');
    expect(address(options, real(['203.0.113.9']))).toBe('203.0.113.9');
    for (const wrong of [
      '192.0.2.66, 203.0.113.9',
      ['192.0.2.66', '203.0.113.9'],
      'unknown',
      '',
      ',',
      [],
      'x'.repeat(999),
    ]) {
      expect(address(options, real(wrong))).toBe('127.0.0.1');
    }
    for (const empty of ['', ' , ', []]) {
      expect(address(options, { ...xff(empty), ...real('203.0.113.9') })).toBe('203.0.113.9');
    }
    expect(address(options, { ...xff('unknown'), ...real('203.0.113.9') })).toBe('127.0.0.1');
  });

  it('B10 clientIpHeader names the one header that is believed', () => {
    const headers = { ...xff('192.0.2.66'), 'x-real-ip': '198.51.100.7' };
    expect(address({ trustedProxies: LOCAL, clientIpHeader: 'X-Real-IP' }, headers)).toBe('198.51.100.7');
    expect(address({ trustedProxies: LOCAL }, headers)).toBe('192.0.2.66');
    expect(address({ trustedProxies: LOCAL, clientIpHeader: 'x-real-ip' }, xff('192.0.2.66'))).toBe(
      '127.0.0.1',
    );
  });

  it('reads a clientIpHeader whose name ends in forwarded-for as a list, without a fallback', () => {
    const options = { trustedProxies: LOCAL, clientIpHeader: 'x-vercel-forwarded-for' };
    expect(address(options, { 'x-vercel-forwarded-for': '192.0.2.1, 198.51.100.7, 127.0.0.1' })).toBe(
      '198.51.100.7',
    );
    const only = { trustedProxies: LOCAL, clientIpHeader: 'X-Forwarded-For' };
    expect(address(only, xff('198.51.100.7'))).toBe('198.51.100.7');
    expect(address(only, { 'x-real-ip': '198.51.100.7' })).toBe('127.0.0.1');
  });

  it("B11 a vendor's header is believed only from the vendor's addresses", () => {
    const cdn = { trustedProxies: ['173.245.48.0/20'], clientIpHeader: 'CF-Connecting-IP' };
    const headers = { 'cf-connecting-ip': '203.0.113.4' };
    expect(address(cdn, headers, '198.51.100.9')).toBe('198.51.100.9');
    expect(address(cdn, headers, '173.245.48.5')).toBe('203.0.113.4');
    expect(address({ trustedProxies: ['173.245.48.0/20'] }, headers, '173.245.48.5')).toBe('173.245.48.5');
  });

  it('B12 SB-40 without trust all clients of a proxy are one, and the ignored headers are noticed', () => {
    const { resolve, ignoresHeaders } = createAddressResolver({ trustedProxies: [] });
    for (let index = 0; index < 100; index++) {
      expect(resolve('10.0.0.2', xff(`203.0.113.${index}`)).network).toBe('10.0.0.2');
      expect(ignoresHeaders('10.0.0.2', xff(`203.0.113.${index}`))).toBe(true);
    }
    expect(ignoresHeaders('10.0.0.2', { 'x-real-ip': '203.0.113.1' })).toBe(true);
    expect(ignoresHeaders('10.0.0.2', { host: 'example.com' })).toBe(false);
    expect(ignoresHeaders('10.0.0.2', undefined)).toBe(false);
    const cdn = createAddressResolver({ trustedProxies: LOCAL, clientIpHeader: 'cf-connecting-ip' });
    expect(cdn.ignoresHeaders('10.0.0.2', { 'cf-connecting-ip': '203.0.113.1' })).toBe(true);
    expect(cdn.ignoresHeaders('127.0.0.1', { 'cf-connecting-ip': '203.0.113.1' })).toBe(false);
    expect(createAddressResolver({ trustProxy: true }).ignoresHeaders('10.0.0.2', xff('203.0.113.1'))).toBe(
      false,
    );
  });

  it('B13 SB-49 SB-51 trustProxy takes the right-most entry of any peer; trustedProxies wins over it', () => {
    const any = { trustProxy: true };
    expect(address(any, xff('192.0.2.66, 198.51.100.7'), '203.0.113.1')).toBe('198.51.100.7');
    expect(address(any, xff('192.0.2.66, unknown'), '203.0.113.1')).toBe('203.0.113.1');
    expect(address(any, { 'x-real-ip': '198.51.100.7' }, '203.0.113.1')).toBe('198.51.100.7');
    expect(address(any, xff('198.51.100.7'), null)).toBe('198.51.100.7');
    expect(address({ ...any, clientIpHeader: 'x-real-ip' }, xff('192.0.2.66'), '203.0.113.1')).toBe(
      '203.0.113.1',
    );
    const both = { trustProxy: true, trustedProxies: ['10.0.0.0/8'] };
    expect(address(both, xff('192.0.2.66, 198.51.100.7'), '198.51.100.9')).toBe('198.51.100.9');
    for (const trustProxy of ['false', '0', '']) {
      expect(() => createAddressResolver({ trustProxy })).toThrow(/trustProxy is/);
    }
  });

  it('B15 mapped peers match IPv4 ranges, and families never mix', () => {
    const options = { trustedProxies: ['10.0.0.0/8'] };
    expect(address(options, xff('198.51.100.7'), '::ffff:10.0.0.1')).toBe('198.51.100.7');
    expect(address(options, xff('198.51.100.7'), '2001:db8::9')).toBe('2001:db8::9');
    expect(address({ trustedProxies: ['::ffff:10.0.0.0/104'] }, xff('198.51.100.7'), '10.0.0.1')).toBe(
      '198.51.100.7',
    );
    expect(address({ trustedProxies: ['2001:db8::/32'] }, xff('198.51.100.7'), '10.0.0.1')).toBe('10.0.0.1');
  });

  it('B16 the length of the chain does not matter, membership does', () => {
    const options = { trustedProxies: ['127.0.0.1', '10.0.0.0/8', '173.245.48.0/20'] };
    for (const more of [
      '',
      ', 173.245.48.9',
      ', 173.245.48.9, 10.0.0.4',
      ', 10.0.0.3, 173.245.48.9, 10.0.0.4',
    ]) {
      expect(address(options, xff(`198.51.100.7${more}`))).toBe('198.51.100.7');
    }
  });

  it('B17 no more than a fixed part of a long header is read', () => {
    const options = { trustedProxies: ['127.0.0.1', '10.0.0.0/8'] };
    const within = '10.0.0.2, '.repeat(MAX_FORWARDED_ITEMS - 1);
    expect(address(options, xff(`198.51.100.7, ${within}10.0.0.1`))).toBe('10.0.0.2');
    expect(address(options, xff(`198.51.100.7, ${within.slice(0, -2)}`))).toBe('198.51.100.7');
    expect(address(options, xff(`${'203.0.113.5, '.repeat(1150)}198.51.100.7`))).toBe('198.51.100.7');
    expect(address(options, xff('10.0.0.1, '.repeat(1500)))).toBe('10.0.0.1');
    for (const hostile of ['x', '1', ':', '[', ',', ' ', '%', '\0']) {
      expect(address(options, xff(hostile.repeat(15_000)))).toBe('127.0.0.1');
    }
  });

  it('stops at something unreadable with the last hop vouched for, however far that is', () => {
    const options = { trustedProxies: ['10.0.0.0/8'] };
    expect(address(options, xff('198.51.100.7, unknown, 10.0.0.3, 10.0.0.2'), '10.0.0.1')).toBe('10.0.0.3');
  });
});

describe('AddressResolver', () => {
  it('gives loggers the address, without this', () => {
    const { clientAddress } = createAddressResolver({ trustedProxies: LOCAL });
    expect(clientAddress('127.0.0.1', xff('198.51.100.7'))).toBe('198.51.100.7');
    expect(clientAddress(undefined, {})).toBeNull();
  });

  it('finds the client that a text names', () => {
    const { fromText } = createAddressResolver({ ipv6Prefix: 56, trustedProxies: ['unix'] });
    expect(fromText('::ffff:192.0.2.1')).toEqual({ address: '192.0.2.1', network: '192.0.2.1' });
    expect(fromText('2001:DB8:0:ff::1').network).toBe('2001:db8::/56');
    for (const none of [null, undefined, '', 'unknown', '1', '192.0.2.1, 192.0.2.2']) {
      expect(fromText(none)).toBe(UNKNOWN_CLIENT);
    }
  });

  it('shares one network between unknown clients', () => {
    expect(UNKNOWN_CLIENT).toEqual({ address: null, network: 'unknown' });
  });

  it('does not read headers that a prototype holds in place of a list', () => {
    for (const clientIpHeader of ['__proto__', 'constructor', 'toString']) {
      expect(address({ trustedProxies: LOCAL, clientIpHeader }, {})).toBe('127.0.0.1');
    }
  });
});

import { isIPv4, isIPv6 } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAddressResolver } from '../../lib/network/client-address.js';
import { UNKNOWN_NETWORK } from '../../lib/network/network.js';

// What header values are made of when someone means harm: pieces of addresses, separators, and text of any kind.
const piece = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(...Array.from('0123456789abcfFx.:,[]% \t-/"\0\u00a0\u0661\uff11💥')),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '::',
      '::ffff:',
      '64:ff9b::',
      '10.0.0.',
      '127.0.0.1',
      '0x7f',
      '010.',
      ':80',
      ', ',
    ),
  },
  { weight: 2, arbitrary: fc.ipV4() },
  { weight: 2, arbitrary: fc.ipV6() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
);
const value = fc.oneof(
  { weight: 12, arbitrary: fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')) },
  {
    weight: 2,
    arbitrary: fc.array(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 6 }).map((list) => list.join(', ')),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(piece, fc.integer({ min: 0, max: 15_000 }))
      .map(([text, n]) => text.repeat(n).slice(0, 15_000)),
  },
);
const header = fc.oneof(
  { weight: 8, arbitrary: value },
  { weight: 2, arbitrary: fc.array(value, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);
const peer = fc.oneof(
  fc.constantFrom('10.0.0.1', '::ffff:10.0.0.1', '127.0.0.1', 'fe80::1%eth0', undefined),
  value,
);

const resolvers = [
  {},
  { trustedProxies: ['127.0.0.1', '10.0.0.0/8', '2000::/4', 'unix'] },
  { trustedProxies: ['127.0.0.1', '10.0.0.0/8', 'unix'], clientIpHeader: 'x-real-ip', ipv6Prefix: 48 },
  { trustProxy: true, ipv6Prefix: 128 },
].map((options) => ({ prefix: options.ipv6Prefix ?? 64, ...createAddressResolver(options) }));

// Independent of the code under test: the URL standard's own parser writes addresses canonically.
const canonicalIpv6 = (text: string) => new URL(`http://[${text}]`).hostname.slice(1, -1);

function expectCanonical(address: string | null, network: string, prefix: number): void {
  if (address === null) return expect(network).toBe(UNKNOWN_NETWORK);
  if (isIPv4(address)) return expect(network).toBe(address);
  if (!isIPv6(address)) throw new Error(`no address: ${JSON.stringify(address)}`);
  const [start = '', bits] = network.split('/');
  if (address !== canonicalIpv6(address) || start !== canonicalIpv6(start) || bits !== String(prefix)) {
    throw new Error(`not canonical: ${address} in ${network}`);
  }
}

describe('hostile headers', () => {
  it('never make it throw, and the network is always a canonical one', { timeout: 120_000 }, () => {
    let unknown = 0;
    let ipv4 = 0;
    let ipv6 = 0;
    fc.assert(
      fc.property(peer, header, header, (from, forwardedFor, realIp) => {
        const headers = { 'x-forwarded-for': forwardedFor, 'x-real-ip': realIp };
        for (const { resolve, clientAddress, ignoresHeaders, fromText, prefix } of resolvers) {
          const { address, network } = resolve(from, headers);
          if (network.length > 64) throw new Error(`long: ${network}`);
          expectCanonical(address, network, prefix);
          if (clientAddress(from, headers) !== address) throw new Error('two answers to one question');
          if (address !== null && fromText(address).network !== network)
            throw new Error(`two networks of ${address}`);
          ignoresHeaders(from, headers);
          if (address === null) unknown++;
          else if (isIPv4(address)) ipv4++;
          else ipv6++;
        }
      }),
      { numRuns: 100_000 },
    );
    // Each kind of answer was really given.
    expect(Math.min(unknown, ipv4, ipv6)).toBeGreaterThan(10_000);
  });

  it('change nothing with what stands left of the client', { timeout: 60_000 }, () => {
    const client = fc.oneof(
      fc.ipV4().filter((text) => !text.startsWith('10.') && text !== '127.0.0.1'),
      fc.integer({ min: 0, max: 0xffff }).map((n) => `fd00::${n.toString(16)}`),
      fc.constantFrom('unknown', '127.1', '010.0.0.1', '203.0.113.9:', 'x'.repeat(200)),
    );
    const chain = fc.array(fc.constantFrom('10.0.0.2', '127.0.0.1', '[::ffff:10.9.9.9]:80', ''), {
      maxLength: 5,
    });
    const { resolve } = createAddressResolver({ trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
    fc.assert(
      fc.property(value, value, client, chain, (left, realIp, item, proxies) => {
        const right = [item, ...proxies].join(', ');
        const honest = resolve('10.0.0.1', { 'x-forwarded-for': right });
        expect(resolve('10.0.0.1', { 'x-forwarded-for': `${left}, ${right}`, 'x-real-ip': realIp })).toEqual(
          honest,
        );
        expect(resolve('10.0.0.1', { 'x-forwarded-for': [left, right], 'x-real-ip': realIp })).toEqual(
          honest,
        );
      }),
      { numRuns: 10_000 },
    );
  });

  it('of any type never make it throw', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (from, one, two) => {
        for (const { resolve, ignoresHeaders, fromText } of resolvers) {
          // @ts-expect-error what no typed caller passes, but JavaScript may
          const { network } = resolve(from, { 'x-forwarded-for': one, 'x-real-ip': two });
          expect(network.length).toBeLessThanOrEqual(64);
          // @ts-expect-error as above
          ignoresHeaders(from, one);
          // @ts-expect-error as above
          resolve(from, one);
          // @ts-expect-error as above
          fromText(from);
        }
      }),
      { numRuns: 5000 },
    );
  });
});

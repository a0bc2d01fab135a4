import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../lib/network/address.js';
import { readTrustedProxies, type TrustedProxies } from '../../lib/network/trusted-proxies.js';

function trusted(value: unknown): TrustedProxies {
  const findings: string[] = [];
  const proxies = readTrustedProxies(value, findings);
  expect(findings).toEqual([]);
  return proxies;
}

function findingsOf(value: unknown): string[] {
  const findings: string[] = [];
  readTrustedProxies(value, findings);
  return findings;
}

function has(proxies: TrustedProxies, text: string): boolean {
  const address = parseAddress(text);
  if (address === null) throw new Error(`not an address: ${text}`);
  return proxies.has(address);
}

describe('readTrustedProxies', () => {
  it('trusts nobody by default', () => {
    for (const none of [undefined, null, []]) {
      const proxies = trusted(none);
      expect(proxies).toMatchObject({ listed: false, unix: false, everyone: false });
      expect(has(proxies, '127.0.0.1')).toBe(false);
      expect(has(proxies, '::1')).toBe(false);
    }
  });

  it('SB-41 reads addresses and CIDR blocks of both families', () => {
    const proxies = trusted(['127.0.0.1', '::1', '10.0.0.0/8', '2001:DB8::/32']);
    expect(proxies).toMatchObject({ listed: true, unix: false, everyone: false });
    for (const yes of ['127.0.0.1', '::1', '10.0.0.0', '10.255.255.255', '2001:db8::', '2001:db8:ffff::1']) {
      expect(has(proxies, yes), yes).toBe(true);
    }
    for (const no of ['127.0.0.2', '::2', '9.255.255.255', '11.0.0.0', '2001:db9::', '2001:db7:ffff::']) {
      expect(has(proxies, no), no).toBe(false);
    }
  });

  it("takes 'unix' for peers without an address", () => {
    expect(trusted(['unix'])).toMatchObject({ listed: true, unix: true });
    expect(findingsOf(['Unix', ' unix'])).toHaveLength(2);
  });

  it('compares high IPv4 addresses, single addresses and everything', () => {
    expect(has(trusted(['192.0.0.0/2']), '255.255.255.255')).toBe(true);
    expect(has(trusted(['192.0.0.0/2']), '191.255.255.255')).toBe(false);
    expect(has(trusted(['255.255.255.255/32']), '255.255.255.255')).toBe(true);
    expect(has(trusted(['255.255.255.255']), '255.255.255.254')).toBe(false);
    const everyone = trusted(['0.0.0.0/0']);
    expect(everyone.everyone).toBe(true);
    expect(has(everyone, '0.0.0.0')).toBe(true);
    expect(has(everyone, '203.0.113.7')).toBe(true);
    expect(has(everyone, '2001:db8::1')).toBe(false);
    expect(trusted(['::/0']).everyone).toBe(true);
    expect(has(trusted(['::/0']), '203.0.113.7')).toBe(false);
  });

  it('reads mapped and NAT64 ranges as their IPv4 range', () => {
    expect(has(trusted(['::ffff:10.0.0.0/104']), '10.1.2.3')).toBe(true);
    expect(has(trusted(['::ffff:10.0.0.0/104']), '11.1.2.3')).toBe(false);
    expect(has(trusted(['::ffff:10.0.0.1']), '10.0.0.1')).toBe(true);
    expect(has(trusted(['64:ff9b::a00:0/104']), '10.1.2.3')).toBe(true);
    expect(trusted(['::ffff:0:0/96']).everyone).toBe(true);
    expect(findingsOf(['::ffff:0:0/95'])).toEqual([
      'trustedProxies[0] is "::ffff:0:0/95": it reaches beyond the IPv4 addresses it names: give the IPv4 range',
    ]);
  });

  it('agrees with ipaddr.js on any range and address', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const ipv4 = fc.tuple(octet, octet, octet, octet);
    fc.assert(
      fc.property(ipv4, ipv4, fc.integer({ min: 0, max: 32 }), fc.boolean(), (one, two, prefix, near) => {
        const other = near ? [...one.slice(0, 2), ...two.slice(2)].join('.') : two.join('.');
        const cidr = `${one.join('.')}/${prefix}`;
        const range = `${ipaddr.IPv4.networkAddressFromCIDR(cidr).toString()}/${prefix}`;
        const expected = ipaddr.parse(other).match(ipaddr.parseCIDR(cidr));
        expect(has(trusted([range]), other)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('SB-42 names each entry that is neither an address nor a CIDR block', () => {
    const wrong: unknown[] = [
      '',
      ' ',
      '10.0.0.0/33',
      '10.0.0.0/+24',
      '10.0.0.0/-1',
      '10.0.0.0/08',
      '10.0.0.0/ 8',
      '10.0.0.0/8 ',
      '10.0.0.0/',
      '/8',
      '10.0.0.0/8/8',
      '10.0.0.0/255.0.0.0',
      '10.0.0.0/8.0',
      '10.0.0.0/1e1',
      '10/8',
      '10.0/16',
      '::1/129',
      '::1/',
      'fe80::1%eth0',
      'fe80::%eth0/10',
      '127.0.0.1:80',
      '[::1]',
      '010.0.0.0/8',
      '0x7f.1',
      'loopback',
      'proxy.example.com',
      '127.0.0.1,::1',
      '10.0.0.0\0/8',
      true,
      false,
      null,
      undefined,
      {},
      [],
      ['127.0.0.1'],
      Symbol('x'),
      7n,
      () => '127.0.0.1',
      Number.NaN,
    ];
    const findings = findingsOf(wrong);
    expect(findings).toHaveLength(wrong.length);
    for (const [index, finding] of findings.entries()) {
      expect(finding).toMatch(new RegExp(`^trustedProxies\\[${index}\\] is .+: .+`, 's'));
    }
    expect(findings[2]).toBe(
      'trustedProxies[2] is "10.0.0.0/33": give a whole number from 0 to 32 after the slash',
    );
  });

  it('refuses bits outside the prefix, with both things that may have been meant', () => {
    expect(findingsOf(['10.1.2.3/8', '2001:db8::1/32', '::ffff:10.0.0.1/104'])).toEqual([
      'trustedProxies[0] is "10.1.2.3/8": it has bits outside its prefix: give 10.0.0.0/8, or 10.1.2.3 for the one address',
      'trustedProxies[1] is "2001:db8::1/32": it has bits outside its prefix: give 2001:db8::/32, or 2001:db8::1 for the one address',
      'trustedProxies[2] is "::ffff:10.0.0.1/104": it has bits outside its prefix: give 10.0.0.0/8, or 10.0.0.1 for the one address',
    ]);
  });

  it('refuses what is no list', () => {
    for (const value of ['127.0.0.1', 1, true, {}]) expect(findingsOf(value)).toHaveLength(1);
    expect(findingsOf('10.0.0.0/8')[0]).toMatch(/^trustedProxies is "10\.0\.0\.0\/8": give a list/);
  });

  it('keeps the good entries beside a bad one, so that nothing throws before all findings are known', () => {
    const findings: string[] = [];
    const proxies = readTrustedProxies(['nonsense', '10.0.0.0/8'], findings);
    expect(findings).toHaveLength(1);
    expect(has(proxies, '10.0.0.1')).toBe(true);
  });
});

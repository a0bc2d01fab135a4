import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_ADDRESS_LENGTH, parseAddress } from '../../lib/network/address.js';

const text = (address: string): string | undefined => parseAddress(address)?.text;

describe('parseAddress', () => {
  it('keeps the text of an IPv4 address', () => {
    expect(parseAddress('203.0.113.7')).toEqual({ family: 4, text: '203.0.113.7' });
  });

  it('gives an IPv6 address its canonical text and its groups', () => {
    expect(parseAddress('2001:0DB8:0:0:0:0:0:1')).toEqual({
      family: 6,
      text: '2001:db8::1',
      groups: [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1],
    });
  });

  it('turns every spelling of a mapped address into its IPv4 address', () => {
    for (const spelling of [
      '::ffff:192.0.2.1',
      '::FFFF:192.0.2.1',
      '::ffff:c000:201',
      '0:0:0:0:0:ffff:c000:0201',
      '0000:0000:0000:0000:0000:ffff:192.0.2.1',
      '::ffff:192.0.2.1%eth0',
    ]) {
      expect(parseAddress(spelling), spelling).toEqual({ family: 4, text: '192.0.2.1' });
    }
  });

  it('turns a NAT64 address into its IPv4 address, and no other translation prefix', () => {
    expect(text('64:ff9b::c000:201')).toBe('192.0.2.1');
    expect(text('64:ff9b::192.0.2.1')).toBe('192.0.2.1');
    expect(text('64:ff9b:1::c000:201')).toBe('64:ff9b:1::c000:201');
    expect(text('64:ff9b::1:c000:201')).toBe('64:ff9b::1:c000:201');
    expect(text('64:ff9b:0:0:1:0:c000:201')).toBe('64:ff9b::1:0:c000:201');
    expect(text('64:ff9b:0:1:0:0:c000:201')).toBe('64:ff9b:0:1::c000:201');
    expect(text('::1:ffff:c000:201')).toBe('::1:ffff:c000:201');
    expect(text('2002:c000:201::1')).toBe('2002:c000:201::1');
    expect(text('::ffff:0:192.0.2.1')).toBe('::ffff:0:c000:201');
  });

  it('reads one address from both spellings of an IPv4-compatible one, which ipaddr.js tells apart', () => {
    expect(text('::192.0.2.1')).toBe('::c000:201');
    expect(text('::c000:201')).toBe('::c000:201');
    expect(text('::192.0.2.1%eth0')).toBe('::c000:201');
  });

  it('drops the zone id', () => {
    expect(text('fe80::1%eth0')).toBe('fe80::1');
    expect(text('FE80::1%docker_gwbridge')).toBe('fe80::1');
    expect(text('::1%')).toBe(undefined);
  });

  it('refuses what is not exactly one address', () => {
    for (const no of [
      '',
      ' ',
      '1',
      '1.1',
      '127.1',
      '0x7f.1',
      '0x7f000001',
      '2130706433',
      '1.1.1',
      '1.2.3.4.5',
      '256.1.1.1',
      '010.0.0.1',
      '10.0.0.01',
      '0012.0.0.1',
      '::ffff:010.0.0.1',
      '64:ff9b::010.0.0.1',
      '1.2.3.4%eth0',
      ' 1.2.3.4',
      '1.2.3.4 ',
      '1.2.3.4\n',
      '1.2.3.4\0',
      '1.2.3.4:80',
      '1.2.3.4/32',
      '1.2.3.-4',
      '1.2.3.4e0',
      ':',
      ':::',
      '1::2::3',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '12345::',
      '::g',
      'fe80::1%',
      '[::1]',
      '::1/128',
      '::1\0',
      '::1 ',
      '\uff11.2.3.4',
      '১.২.৩.৪',
      'unknown',
      '_hidden',
      '-',
      'localhost',
      'undefined',
      'null',
    ]) {
      expect(parseAddress(no), JSON.stringify(no)).toBeNull();
    }
  });

  it('parses nothing longer than an address', () => {
    const zone = (length: number) => `fe80::1%${'e'.repeat(length - 8)}`;
    expect(text(zone(MAX_ADDRESS_LENGTH))).toBe('fe80::1');
    expect(text(zone(MAX_ADDRESS_LENGTH + 1))).toBe(undefined);
  });

  it('agrees with the URL standard on every IPv6 address, however its zeros lie', () => {
    const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
    const groups = fc.array(group, { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, fc.boolean(), (parts, upper) => {
        const hex = parts.map((part) => part.toString(16)).join(':');
        const address = parseAddress(upper ? hex.toUpperCase() : hex);
        if (address?.family === 6) expect(`[${address.text}]`).toBe(new URL(`http://[${hex}]`).hostname);
        else expect(hex).toMatch(/^(?:0:0:0:0:0:ffff|64:ff9b:0:0:0:0):/);
      }),
      { numRuns: 2000 },
    );
  });

  it('reads each place where zeros can be left out', () => {
    for (let from = 0; from <= 8; from++) {
      for (let to = from; to <= 8; to++) {
        const left = ['1', '2', '3', '4', '5', '6', '7', '8'].slice(0, from);
        const right = ['1', '2', '3', '4', '5', '6', '7', '8'].slice(to);
        const short = `${left.join(':')}::${right.join(':')}`;
        if (to === from) {
          expect(parseAddress(short), short).toBeNull();
          continue;
        }
        const zeros = Array.from({ length: to - from }, () => 0);
        const address = parseAddress(short);
        expect(address, short).toMatchObject({
          groups: [...left.map(Number), ...zeros, ...right.map(Number)],
        });
      }
    }
  });
});

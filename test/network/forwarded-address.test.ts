import { describe, expect, it } from 'vitest';
import { parseForwardedAddress } from '../../lib/network/forwarded-address.js';

const text = (item: string): string | undefined => parseForwardedAddress(item)?.text;

describe('parseForwardedAddress', () => {
  it('drops valid ports and brackets', () => {
    expect(text('203.0.113.7')).toBe('203.0.113.7');
    expect(text('203.0.113.7:1')).toBe('203.0.113.7');
    expect(text('203.0.113.7:65535')).toBe('203.0.113.7');
    expect(text('2001:db8::7')).toBe('2001:db8::7');
    expect(text('[2001:db8::7]')).toBe('2001:db8::7');
    expect(text('[2001:DB8::7]:443')).toBe('2001:db8::7');
    expect(text('[::ffff:203.0.113.7]:443')).toBe('203.0.113.7');
    expect(text('[fe80::1%eth0]:443')).toBe('fe80::1');
    expect(text('fe80::1%eth0')).toBe('fe80::1');
  });

  it('refuses everything else around an address', () => {
    for (const no of [
      '203.0.113.9:',
      '203.0.113.9:99999',
      '203.0.113.9:65536',
      '203.0.113.9:000080',
      '203.0.113.9:8a',
      '203.0.113.9:-1',
      '203.0.113.9: 80',
      '203.0.113.9:1.5',
      '203.0.113.9:٣',
      ':80',
      ':',
      '127.1:80',
      '1:80',
      '[',
      ']',
      '[]',
      '[]:80',
      '[2001:db8::7',
      '2001:db8::7]',
      '[2001:db8::7]443',
      '[2001:db8::7]:',
      '[[::1]]',
      '[2001:db8::7]:99999',
      '[203.0.113.7]',
      '[203.0.113.7]:80',
      '[::1]:80:80',
      '"[::1]"',
      '203.0.113.7%eth0',
      'for=203.0.113.7',
      '203.0.113.7;',
      "'203.0.113.7'",
      '203.0.113.7, 203.0.113.8',
      '',
    ]) {
      expect(parseForwardedAddress(no), JSON.stringify(no)).toBeNull();
    }
  });
});

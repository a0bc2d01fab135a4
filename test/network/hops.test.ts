import { describe, expect, it } from 'vitest';
import { createHops, GENERATION } from '../../lib/network/hops.js';
import { readTrustedProxies } from '../../lib/network/trusted-proxies.js';

const hops = (trusted: readonly string[] = [], ipv6Prefix = 64) =>
  createHops(readTrustedProxies(trusted, []), ipv6Prefix);

describe('createHops', () => {
  it('gives address, network and trust of an address in any spelling', () => {
    const hopOf = hops(['10.0.0.0/8', '2001:db8::/32']);
    const ipv4 = { client: { address: '10.0.0.1', network: '10.0.0.1' }, trusted: true };
    for (const text of [
      '10.0.0.1',
      '::ffff:10.0.0.1',
      '10.0.0.1:80',
      '[::ffff:a00:1]:80',
      '64:ff9b::a00:1',
    ]) {
      expect(hopOf(text), text).toEqual(ipv4);
    }
    const ipv6 = { client: { address: '2001:db8::1', network: '2001:db8::/64' }, trusted: true };
    for (const text of [
      '2001:db8::1',
      '2001:DB8::1',
      '[2001:db8::1]',
      '[2001:db8:0::1]:443',
      '2001:db8::1%eth0',
    ]) {
      expect(hopOf(text), text).toEqual(ipv6);
    }
    expect(hopOf('2001:db9::1')?.trusted).toBe(false);
  });

  it('answers null for what is no address, each time', () => {
    const hopOf = hops();
    for (let round = 0; round < 2; round++) {
      for (const text of ['', '1', '127.1', '203.0.113.9:99999', '[::1', 'x'.repeat(15_000)]) {
        expect(hopOf(text)).toBeNull();
      }
    }
  });

  it('parses an IPv6 address of many requests once, and shares a value that nobody can change', () => {
    const hopOf = hops();
    const hop = hopOf('2001:db8::1');
    expect(hopOf('2001:db8::1')).toBe(hop);
    expect(hopOf('[2001:db8::1]:443')).toBe(hop);
    expect(Object.isFrozen(hop?.client)).toBe(true);
  });

  it('forgets an address that two generations of others have passed, and keeps one in use', () => {
    const hopOf = hops();
    const idle = hopOf('2001:db8::1');
    const busy = hopOf('2001:db8::2');
    for (let index = 0; index < 3 * GENERATION; index++) {
      hopOf(`2001:db8:1::${index.toString(16)}`);
      if (index % 100 === 0) expect(hopOf('2001:db8::2')).toBe(busy);
    }
    expect(hopOf('2001:db8::1')).not.toBe(idle);
    expect(hopOf('2001:db8::1')).toEqual(idle);
  });
});

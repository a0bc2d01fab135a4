import { describe, expect, it } from 'vitest';
import { addressFindings, addressWarnings, readAddressOptions } from '../../lib/network/address-options.js';

describe('readAddressOptions', () => {
  it('believes nobody and counts IPv6 by /64 when nothing is set', () => {
    for (const options of [{}, { trustedProxies: null, trustProxy: null, clientIpHeader: null }]) {
      const findings: string[] = [];
      expect(readAddressOptions(options, findings)).toMatchObject({
        proxies: { listed: false },
        anyPeer: false,
        clientIpHeader: null,
        ipv6Prefix: 64,
      });
      expect(findings).toEqual([]);
    }
  });

  it('collects what is wrong with all options at once', () => {
    const findings = addressFindings({
      trustedProxies: ['127.0.0.1', '1'],
      trustProxy: 'yes',
      clientIpHeader: 'not a name',
      ipv6Prefix: 0,
    });
    expect(findings).toEqual([
      'trustedProxies[1] is "1": a number of hops says nothing about who they are: list the addresses of your proxies',
      'trustProxy is "yes": give true or false, or better list your proxies in trustedProxies',
      'clientIpHeader is "not a name": give the name of one header, such as \'cf-connecting-ip\'',
      'ipv6Prefix is 0: give a whole number from 32 to 128',
    ]);
  });

  it('takes whole numbers from 32 to 128 as ipv6Prefix', () => {
    for (const ipv6Prefix of [32, 48, 64, 128]) expect(addressFindings({ ipv6Prefix })).toEqual([]);
    for (const ipv6Prefix of [31, 129, 63.5, -64, Number.NaN, Infinity, '64', null, true, 64n, {}]) {
      expect(addressFindings({ ipv6Prefix })).toHaveLength(1);
    }
  });

  it('takes a token of RFC 9110 as clientIpHeader, in lower case', () => {
    expect(readAddressOptions({ clientIpHeader: 'CF-Connecting-IP' }, []).clientIpHeader).toBe(
      'cf-connecting-ip',
    );
    expect(addressFindings({ clientIpHeader: "a!#$%&'*+-.^_`|~9" })).toEqual([]);
    for (const clientIpHeader of [
      '',
      ' ',
      'x-real-ip ',
      'a,b',
      'a:b',
      'a/b',
      'x-é',
      'x\n',
      7,
      true,
      ['x-real-ip'],
    ]) {
      expect(addressFindings({ clientIpHeader }), String(clientIpHeader)).toHaveLength(1);
    }
  });

  it('refuses the Forwarded header, whose syntax it does not read, instead of counting all clients as one', () => {
    expect(addressFindings({ clientIpHeader: 'Forwarded' })[0]).toContain('RFC 7239');
  });

  it('takes only true for true as trustProxy', () => {
    expect(readAddressOptions({ trustProxy: true }, []).anyPeer).toBe(true);
    expect(readAddressOptions({ trustProxy: false }, []).anyPeer).toBe(false);
    for (const trustProxy of ['false', 'true', '0', '', 0, 1, [], {}]) {
      expect(addressFindings({ trustProxy })).toHaveLength(1);
      expect(readAddressOptions({ trustProxy }, []).anyPeer).toBe(false);
    }
  });

  it('SB-51 ignores trustProxy when trustedProxies lists anyone', () => {
    expect(readAddressOptions({ trustProxy: true, trustedProxies: ['10.0.0.0/8'] }, []).anyPeer).toBe(false);
    expect(readAddressOptions({ trustProxy: true, trustedProxies: ['unix'] }, []).anyPeer).toBe(false);
    expect(readAddressOptions({ trustProxy: true, trustedProxies: [] }, []).anyPeer).toBe(true);
  });
});

describe('addressWarnings', () => {
  it('says nothing about ordinary options', () => {
    expect(addressWarnings({})).toEqual([]);
    expect(addressWarnings({ trustProxy: true })).toEqual([]);
    expect(addressWarnings({ trustedProxies: ['127.0.0.1'], clientIpHeader: 'x-real-ip' })).toEqual([]);
  });

  it('names what is allowed but rarely meant', () => {
    expect(addressWarnings({ trustedProxies: ['0.0.0.0/0'] })[0]).toContain('any client can pick its own');
    expect(addressWarnings({ trustedProxies: ['::/0'] })).toHaveLength(1);
    expect(addressWarnings({ trustedProxies: ['127.0.0.1'], trustProxy: true })[0]).toContain(
      'trustProxy is ignored',
    );
    expect(addressWarnings({ clientIpHeader: 'x-real-ip' })[0]).toContain('never read');
  });
});

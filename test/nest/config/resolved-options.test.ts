import { describe, expect, it } from 'vitest';
import { createRate } from '../../../lib/algorithms/rate.js';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import type { Call } from '../../../lib/nest/call.js';
import { soundOptions } from '../../../lib/nest/config/option-shapes.js';
import { resolveOptions, type ResolvedOptions } from '../../../lib/nest/config/resolved-options.js';
import { RateLimitSettings, type LiveSettings } from '../../../lib/nest/config/settings.js';

const CALL: Call = {
  transport: 'http',
  address: '203.0.113.5',
  network: '203.0.113.5',
  user: null,
  key: null,
  context: null,
  request: null,
};

class Live extends RateLimitSettings {
  constructor(public now: LiveSettings = {}) {
    super();
  }

  override read(): LiveSettings {
    return this.now;
  }
}

function resolve(
  options: object,
  config: object = {},
  live = new Live(config),
): ResolvedOptions & { events: RateLimitEvent[]; findings: string[] } {
  const events: RateLimitEvent[] = [];
  const findings: string[] = [];
  const sound = soundOptions(options, findings);
  const resolved = resolveOptions(sound, config, live, (event) => events.push(event), findings);
  return { ...resolved, events, findings };
}

describe('resolved options', () => {
  it('SB-02 are 600 a minute, and nothing else, without any', () => {
    const { findings, perIp, throttles, policies, address } = resolve({});
    expect(findings).toEqual([]);
    expect(perIp()).toEqual(createRate('gcra', 600, 60e6));
    expect(throttles).toEqual([]);
    expect(policies.size).toBe(0);
    expect(Object.values(address)).toEqual([undefined, undefined, undefined, undefined]);
  });

  describe('perIp', () => {
    it('SB-15 is off by null only', () => {
      expect(resolve({ perIp: null }, { perIp: '5/1m' }).perIp()).toBeNull();
      expect(resolve({ perIp: undefined }, { perIp: '5/1m' }).perIp()?.limit).toBe(5);
      expect(resolve({}, { perIp: null }).perIp()).toBeNull();
    });

    it('that code gives is fixed, whatever settings say', () => {
      const live = new Live();
      const { perIp } = resolve({ perIp: { limit: 3, per: '1m' } }, {}, live);
      live.now = { perIp: '9/1m' };
      expect(perIp()).toEqual(createRate('gcra', 3, 60e6));
      expect(perIp()).toBe(perIp());
    });

    it('of settings is live', () => {
      const live = new Live({ perIp: '9/1m' });
      const { perIp } = resolve({}, { perIp: '9/1m' }, live);
      expect(perIp()?.limit).toBe(9);
      live.now = { perIp: '8/1m' };
      expect(perIp()?.limit).toBe(8);
    });

    it('by a function is asked on every call', () => {
      let limit = 3;
      const { perIp, findings } = resolve({ perIp: { limit: () => limit, per: '1m' } });
      expect(findings).toEqual([]);
      expect(perIp()?.limit).toBe(3);
      limit = 4;
      expect(perIp()?.limit).toBe(4);
    });

    it.each<[unknown, RegExp]>([
      [{ limit: 0, per: '1m' }, /^perIp: limit is 0: give a whole number above 0/],
      [{ limit: 5, per: '60' }, /^perIp: per is "60": write/],
      [{ limit: () => 5, per: '60' }, /^perIp: per is "60": write/],
      [{ limit: 5, per: '1m', windowMs: 3 }, /^perIp\.windowMs is unknown/],
      [{}, /^perIp: an object is no quota/],
      [5, /^perIp\b.* 5\b/],
      [{ limit: 5, per: '1m', dryRun: 'false' }, /^perIp\.dryRun is "false": give true or false/],
      [{ limit: 5, per: '1m', dryRun: 1 }, /^perIp\.dryRun is 1: give true or false/],
      [{ limit: () => 5, per: '1m', dryRun: null }, /^perIp\.dryRun is null: give true or false/],
    ])('P01, P02, P03 %o is a finding', (perIp, finding) => {
      expect(resolve({ perIp }).findings).toEqual([expect.stringMatching(finding)]);
    });
  });

  it('an empty variable is a finding that names it, and not "off"', () => {
    const { findings } = resolve({}, { perIp: '', throttle: '', clientIpHeader: '', ipv6Prefix: '' });
    expect(findings.map((finding) => /^RATE_LIMIT_[A-Z0-9_]+/.exec(finding)?.[0])).toEqual([
      'RATE_LIMIT_CLIENT_IP_HEADER',
      'RATE_LIMIT_IPV6_PREFIX',
      'RATE_LIMIT_PER_IP',
      'RATE_LIMIT_THROTTLE',
    ]);
  });

  it('options win over the environment, one by one', () => {
    const config = { trustedProxies: ['127.0.0.1'], ipv6Prefix: 48, perIp: '', trustProxy: 'yes' };
    const options = { trustedProxies: ['10.0.0.0/8'], perIp: null, trustProxy: false };
    const { findings, address } = resolve(options, config);
    expect(findings).toEqual([]);
    expect(address).toMatchObject({ trustedProxies: ['10.0.0.0/8'], ipv6Prefix: 48, trustProxy: false });
  });

  it('names the option where code is wrong, and the variable where the environment is', () => {
    expect(resolve({ ipv6Prefix: 129 }).findings).toEqual([expect.stringMatching(/^ipv6Prefix is 129/)]);
    expect(resolve({}, { ipv6Prefix: 129 }).findings).toEqual([
      expect.stringMatching(/^RATE_LIMIT_IPV6_PREFIX: ipv6Prefix is 129/),
    ]);
  });

  it('an unknown option is a finding', () => {
    expect(resolve({ ttl: 60 }).findings).toEqual([
      expect.stringMatching(/^ttl is no option: there are perIp, /),
    ]);
  });

  it.each(['identify', 'skipIf'])('%s must be a function', (key) => {
    expect(resolve({ [key]: () => true }).findings).toEqual([]);
    expect(resolve({ [key]: true }).findings).toEqual([`${key} is true: give a function`]);
  });

  describe('throttle', () => {
    it('is off by null, whatever settings say', () => {
      expect(resolve({ throttle: null }, { throttle: '5/1m' }).throttles).toEqual([]);
    });

    it('of settings is live, where there is one at boot', () => {
      const live = new Live({ throttle: '5/1m' });
      const { throttles } = resolve({}, { throttle: '5/1m' }, live);
      expect(throttles.map(({ rate }) => rate(CALL)?.limit)).toEqual([5]);
      live.now = { throttle: null };
      expect(throttles.map(({ rate }) => rate(CALL))).toEqual([null]);
    });

    it('is one quota or several, each named in its findings', () => {
      const { findings, throttles } = resolve({
        throttle: [
          { limit: 5, per: '1s' },
          { limit: 9, per: '1m' },
        ],
      });
      expect(findings).toEqual([]);
      expect(throttles.map(({ rate }) => rate(CALL)?.limit)).toEqual([5, 9]);
      expect(resolve({ throttle: { limit: 0, per: '1m' } }).findings).toEqual([
        expect.stringMatching(/^throttle\.limit is 0/),
      ]);
      const bad = [
        { limit: 5, per: '1s' },
        { limit: 0, per: '1m' },
      ];
      expect(resolve({ throttle: bad }).findings).toEqual([
        expect.stringMatching(/^throttle\[1\]\.limit is 0/),
      ]);
    });

    it('sees the call where its limit is a function', () => {
      const { throttles } = resolve({
        throttle: { limit: (call: Call) => (call.user === null ? 1 : 10), per: '1m' },
      });
      expect(throttles.map(({ rate }) => rate(CALL)?.limit)).toEqual([1]);
      expect(throttles.map(({ rate }) => rate({ ...CALL, user: 'a' })?.limit)).toEqual([10]);
    });
  });

  it('policies are checked by name', () => {
    const { policies, findings } = resolve({ policies: { mail: { limit: 1, per: '1m' } } });
    expect(findings).toEqual([]);
    expect(policies.get('mail')).toEqual({ limit: 1, per: '1m' });
    const wrong = resolve({ policies: { mail: { limit: 1, per: '1 m' }, sms: 5 } }).findings;
    expect(wrong[0]).toMatch(/^policies\.mail\.per is "1 m"/);
    expect(wrong.slice(1).join()).toContain('policies.sms');
  });

  it('all that is wrong is found at once, and nothing throws', () => {
    const { findings } = resolve(
      { perIp: 0, throttle: 'x', policies: { a: null }, trustedProxies: [1], skipIf: 1, nope: 1 },
      { ipv6Prefix: '' },
    );
    for (const name of [
      'perIp',
      'throttle',
      'policies.a',
      'trustedProxies[0]',
      'skipIf',
      'nope',
      'RATE_LIMIT_',
    ]) {
      expect(findings.some((finding) => finding.startsWith(name))).toBe(true);
    }
  });
});

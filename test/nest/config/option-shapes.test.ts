import type { CanActivate } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { AuditSink } from '../../../lib/events/audit.js';
import { soundOptions } from '../../../lib/nest/config/option-shapes.js';
import { ConfigSettings } from '../../../lib/nest/config/settings.js';
import type { RateLimitOptions } from '../../../lib/nest/options.js';
import { HEADER_FORMATS } from '../../../lib/responses/headers.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';

function check(options: object): { sound: RateLimitOptions; findings: string[] } {
  const findings: string[] = [];
  const sound = soundOptions(options, findings);
  return { sound, findings };
}

class Guard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

class Sink extends AuditSink {
  override write(): void {}
}

const QUOTA = { limit: 5, per: '1m' };
const settings = new ConfigSettings({});
const store = new MemoryStore();
const sink = new Sink();

/** Of every option: values that are of the right kind, and values that are not, each with what is said. */
const KINDS: Record<keyof RateLimitOptions, { right: unknown[]; wrong: [value: unknown, said: string][] }> = {
  perIp: {
    right: [QUOTA, { ...QUOTA, dryRun: true }],
    wrong: [
      [5, 'perIp is 5'],
      ['600/1m', 'perIp is "600/1m"'],
    ],
  },
  trustedProxies: { right: [[], ['10.0.0.0/8']], wrong: [['10.0.0.0/8', 'trustedProxies is "10.0.0.0/8"']] },
  // What these must be is checked where addresses are read, settings from the environment included.
  trustProxy: { right: [true, false, 'yes'], wrong: [] },
  clientIpHeader: { right: ['cf-connecting-ip', 5], wrong: [] },
  ipv6Prefix: { right: [64, 'x'], wrong: [] },
  authGuard: {
    right: [Guard, [], [Guard, Guard]],
    wrong: [
      ['AuthGuard', 'authGuard is "AuthGuard"'],
      [new Guard(), 'authGuard is an object'],
      [[Guard, 'jwt'], 'authGuard is a list'],
    ],
  },
  preauth: { right: [true, false], wrong: [['yes', 'preauth is "yes": give true or false']] },
  hasCredential: { right: [() => true], wrong: [[true, 'hasCredential is true: give a function']] },
  identify: { right: [() => 'ada'], wrong: [['id', 'identify is "id": give a function']] },
  skipIf: { right: [() => false], wrong: [[true, 'skipIf is true: give a function']] },
  throttle: {
    right: [QUOTA, [], [QUOTA, QUOTA]],
    wrong: [
      ['5/1m', 'throttle is "5/1m"'],
      [() => QUOTA, 'throttle is a function'],
    ],
  },
  policies: {
    right: [{}, { exports: QUOTA }],
    wrong: [
      ['exports', 'policies is "exports": give quotas by name'],
      [[QUOTA], 'policies is a list: give quotas by name'],
    ],
  },
  limits: {
    right: [{}, { adminRatePerMin: 5 }],
    wrong: [
      [[], 'limits is a list: give numbers by name'],
      ['5', 'limits is "5": give numbers by name'],
    ],
  },
  login: {
    right: [{}, { failures: QUOTA, mails: null }, { fold: (text: string) => text }],
    wrong: [
      [5, 'login is 5'],
      [[QUOTA], 'login is a list'],
      [{ fold: 'lower' }, 'login is an object'],
    ],
  },
  store: {
    right: [store],
    wrong: [
      ['memory', 'store is "memory": give a RateLimitStore'],
      [MemoryStore, 'store is a function: give a RateLimitStore'],
      [{}, 'store is an object: give a RateLimitStore'],
    ],
  },
  storeTimeout: {
    right: [1, 100, 60_000],
    wrong: [
      [0, 'storeTimeout is 0: give whole milliseconds'],
      [1.5, 'storeTimeout is 1.5'],
      ['100ms', 'storeTimeout is "100ms"'],
    ],
  },
  onStoreError: {
    right: ['local', 'open', 'closed'],
    wrong: [
      ['fail', 'onStoreError is "fail": give local, open, closed'],
      [503, 'onStoreError is 503'],
    ],
  },
  headers: {
    right: [...HEADER_FORMATS, [], ['draft-6'], [...HEADER_FORMATS]],
    wrong: [
      ['draft-7', 'headers is "draft-7": give one or several of draft-6, draft-11, x-ratelimit, retry-after'],
      ['', 'headers is ""'],
      [true, 'headers is true'],
      [false, 'headers is false'],
      [{ draft: 6 }, 'headers is an object'],
      [['draft-6', 'Draft-11'], 'headers is a list: give one or several of draft-6'],
      [[null], 'headers is a list'],
      [[['draft-6']], 'headers is a list'],
    ],
  },
  audit: {
    right: [sink, { write: () => {} }],
    wrong: [
      [true, 'audit is true: give an AuditSink'],
      [Sink, 'audit is a function: give an AuditSink'],
      [{}, 'audit is an object: give an AuditSink'],
      [{ write: 'x' }, 'audit is an object: give an AuditSink'],
      [() => {}, 'audit is a function: give an AuditSink'],
    ],
  },
  dryRun: {
    right: [true, false],
    wrong: [
      ['false', 'dryRun is "false": give true or false'],
      ['', 'dryRun is "": give true or false'],
      [0, 'dryRun is 0: give true or false'],
      [1, 'dryRun is 1: give true or false'],
      [{}, 'dryRun is an object: give true or false'],
    ],
  },
  settings: {
    right: [settings],
    wrong: [
      [{ perIp: QUOTA }, 'settings is an object: give a RateLimitSettings'],
      [() => ({}), 'settings is a function: give a RateLimitSettings'],
    ],
  },
};

describe.each(Object.entries(KINDS))('the option %s', (name, { right, wrong }) => {
  it('is kept as it is where its kind is right, and by undefined and null', () => {
    for (const value of [...right, undefined, null]) {
      const { sound, findings } = check({ [name]: value });
      expect(findings).toEqual([]);
      expect(sound).toHaveProperty(name, value);
    }
  });

  it('is a finding, and gone, where it is not', () => {
    for (const [value, said] of wrong) {
      const { sound, findings } = check({ [name]: value });
      expect(findings).toEqual([expect.stringContaining(said)]);
      expect(sound).not.toHaveProperty(name);
    }
  });
});

describe('options as a whole', () => {
  it('an unknown one is a finding that names those there are', () => {
    const { sound, findings } = check({ ttl: 60, toString: 1, __proto__x: 1 });
    expect(findings).toHaveLength(3);
    for (const finding of findings) {
      expect(finding).toContain(`is no option: there are ${Object.keys(KINDS).join(', ')}`);
    }
    expect(Object.keys(sound)).toEqual([]);
  });

  it('all that is wrong is found at once, and what is right is kept', () => {
    const { sound, findings } = check({ headers: 'draft-9', audit: 1, dryRun: 'no', perIp: QUOTA });
    expect(findings.map((finding) => finding.split(' ')[0])).toEqual(['headers', 'audit', 'dryRun']);
    expect(sound).toEqual({ perIp: QUOTA });
  });
});

// The numbers of the sign-in limits: from code, else from settings and read on every try, else the defaults.

import { createRate, type Algorithm, type Rate } from '../algorithms/rate.js';
import type { Report } from '../events/event.js';
import { LiveQuota } from '../limiter/live-rate.js';
import { parseQuota } from '../limiter/quota-text.js';

interface LoginLimit {
  readonly algorithm: Algorithm;
  /** Null: off until it is set. */
  readonly byDefault: Rate | null;
}

const FIVE_A_MINUTE = createRate('fixed', 5, 60e6);

/** Source B's settings (SB-31, SB-33), and two that it doesn't have. */
export const LOGIN_LIMITS = {
  /** Failed sign-ins of one identifier from one client network. */
  failures: { algorithm: 'fixed', byDefault: FIVE_A_MINUTE },
  /** Failed sign-ins of a client network, over all identifiers. */
  perNetwork: { algorithm: 'fixed', byDefault: null },
  /** Failed sign-ins to one identifier, from anywhere. */
  perIdentifier: { algorithm: 'fixed', byDefault: null },
  /** Wrong second-factor codes of one account. */
  codes: { algorithm: 'fixed', byDefault: FIVE_A_MINUTE },
  /** Mails to one address: a pause after each, so not a window of the clock. */
  mails: { algorithm: 'gcra', byDefault: createRate('gcra', 1, 60e6) },
} as const satisfies Readonly<Record<string, LoginLimit>>;

export type LoginLimitName = keyof typeof LOGIN_LIMITS;

/** A limit of failures per window. */
export interface FailureQuota {
  /** A whole number above 0. */
  readonly limit: number;
  /** Such as `'1m'`. */
  readonly per: string;
}

/** The sign-in limits by name: null turns one off; absent: from settings, else the default. */
export type LoginQuotas = { readonly [N in LoginLimitName]?: FailureQuota | null };

export class LoginRates {
  private readonly fixed: ReadonlyMap<string, Rate | null>;
  private readonly live: Readonly<Record<LoginLimitName, LiveQuota>>;

  constructor(
    given: LoginQuotas,
    private readonly settings: () => unknown,
    report: Report,
  ) {
    const fixed = new Map<string, Rate | null>();
    for (const [name, { algorithm }] of Object.entries(LOGIN_LIMITS)) {
      const quota = fieldOf(given, name);
      if (quota === undefined) continue;
      const parsed = quota === null ? null : parseQuota(quota, algorithm);
      fixed.set(name, parsed !== null && 'rate' in parsed ? parsed.rate : null);
    }
    this.fixed = fixed;
    const make = (name: LoginLimitName): LiveQuota => {
      const { algorithm, byDefault } = LOGIN_LIMITS[name];
      return new LiveQuota(`rateLimit.login.${name}`, algorithm, byDefault, report);
    };
    this.live = {
      failures: make('failures'),
      perNetwork: make('perNetwork'),
      perIdentifier: make('perIdentifier'),
      codes: make('codes'),
      mails: make('mails'),
    };
  }

  /** The rate that holds now; null: off. */
  read(name: LoginLimitName): Rate | null {
    const fixed = this.fixed.get(name);
    return fixed === undefined ? this.live[name].current(fieldOf(this.settings(), name)) : fixed;
  }
}

/** Adds to `findings` what is wrong with quotas given in code or settings; `where` names one in a message. */
export function checkLoginQuotas(quotas: unknown, where: (name: string) => string, findings: string[]): void {
  if (typeof quotas !== 'object' || quotas === null) return;
  for (const [name, quota] of Object.entries(quotas)) {
    const limits: Readonly<Record<string, LoginLimit | undefined>> = LOGIN_LIMITS;
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    if (limit === undefined) {
      findings.push(`${where(name)} is unknown: there are ${Object.keys(LOGIN_LIMITS).join(', ')}`);
    } else if (quota !== undefined && quota !== null) {
      const parsed = parseQuota(quota, limit.algorithm);
      if ('problem' in parsed) findings.push(`${where(name)}: ${parsed.problem}`);
    }
  }
}

function fieldOf(quotas: unknown, name: string): unknown {
  return typeof quotas === 'object' && quotas !== null ? Reflect.get(quotas, name) : undefined;
}
